package feed_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"svc/pkg/background/feed"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/event"
	"svc/pkg/domain/export"
	"svc/pkg/domain/feedback"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
	"svc/pkg/domain/webhook"
	"svc/pkg/local/schema"
	"svc/pkg/local/testkit"
)

// change is one change of an item, and the types of the events that it must append.
type change struct {
	item table.Item
	want []string
}

// TestEachChangeHasItsEvents makes each kind of change and expects exactly its events,
// also after the same change came again.
func TestEachChangeHasItsEvents(t *testing.T) {
	w := newWorld(t, testkit.Name(t, schema.Options{StreamOff: true}), 5, 1)
	seen, n := map[string]bool{}, 0
	for name, changes := range w.changes() {
		old := table.Item{}
		for i, c := range changes {
			if old.Key != c.item.Key {
				old = table.Item{}
			}
			handle := w.tenant.Handle
			if c.item.Type == "post" {
				handle = w.db.Platform("POST", "POSTS").Handle
			}
			testkit.Must(t, handle.Load(t.Context(), c.item))
			stored, err := handle.Get(t.Context(), c.item.Key)
			testkit.Must(t, err)
			for range 2 {
				testkit.Must(t, feed.Step(w.function(), t.Context(), []stream.Change{{Key: c.item.Key, Old: old, New: stored}}))
			}
			var got []string
			for _, e := range w.all()[n:] {
				got = append(got, e.Type)
				seen[e.Type] = true
			}
			if n += len(got); !slices.Equal(got, c.want) {
				t.Errorf("%s, change %d: got %q, want %q", name, i, got, c.want)
			}
			old = stored
		}
	}
	for _, kind := range event.Types() {
		if !seen[kind.Name] {
			t.Errorf("no change makes %s", kind.Name)
		}
	}
}

// of pairs items, each as it is stored next, with the types of the events it makes.
func of(items ...any) (out []change) {
	for i := 0; i < len(items); i += 2 {
		want, _ := items[i+1].([]string)
		out = append(out, change{items[i].(table.Item), want})
	}
	return out
}

func (w *world) changes() map[string][]change {
	t, at := w.tenant, timestamp.Format(start)
	later := timestamp.Format(start.Add(time.Hour))
	id := func(kind string) string { return ids.New(kind, start) }
	d := driver.Record{Driver: driver.Driver{ID: id(ids.Driver), FirstName: "D", Status: driver.Offline}}
	online, named, rated := d, d, d
	online.Status, online.StatusUpdatedAt = driver.Online, at
	named.Status, named.LastName = driver.Online, "L"
	rated.Status, rated.LastName, rated.TotalTrips = driver.Online, "L", 5
	c := customer.Record{Customer: customer.Customer{ID: id(ids.Customer), FirstName: "C"}}
	moved := c
	moved.LastName = "M"
	left := driver.Record{Driver: driver.Driver{ID: d.ID, Status: driver.Offline, ErasedAt: &later}}
	forgotten := customer.Record{Customer: customer.Customer{ID: c.ID, ErasedAt: &later}}
	o := delivery.Order{ID: id(ids.Order), Status: "PENDING", CustomerID: c.ID, CreatedAt: at, UpdatedAt: at}
	o.DeliveryAddress = "1 Quay"
	accepted, driven := o, o
	accepted.Status, driven.Status, driven.DriverID = "ACCEPTED", "ACCEPTED", &d.ID
	ended, retained := driven, driven
	ended.Status, retained.Status, retained.DeliveryAddress = "DELIVERED", "DELIVERED", ""
	post := feedback.Post{ID: id(ids.Post), Slug: "s", Type: feedback.Idea, Status: "UNDER_REVIEW", Title: "T",
		CreatedAt: at, Author: "usr_1", Tenant: t.ID(), Version: 1}
	voted, talked, planned, strange := post, post, post, post
	voted.Votes, talked.Comments, planned.Comments, planned.Status = 3, 1, 1, "PLANNED"
	strange.ID, strange.Tenant = id(ids.Post), id(ids.Tenant)
	off := webhook.Record{Endpoint: webhook.Endpoint{ID: id(ids.Webhook), Status: webhook.Enabled}}
	own, gone := off, off
	own.Disable(webhook.ByOperator, start)
	gone.Disable(webhook.Gone, start)
	book := func(r webhook.Record) table.Item { return webhook.Book{Endpoints: []webhook.Record{r}}.Item(t) }
	out := map[string][]change{
		"driver": of(driver.Item(t, d, 1), []string{"driver.created"}, driver.Item(t, online, 1),
			[]string{"driver.status_changed"}, driver.Item(t, named, 1), []string{"driver.updated"},
			driver.Item(t, rated, 1), nil, driver.Item(t, left, 1), []string{"driver.erased"}),
		"customer": of(customer.Item(t, c, 1), []string{"customer.created"}, customer.Item(t, moved, 1),
			[]string{"customer.updated"}, customer.Item(t, forgotten, 1), []string{"customer.erased"}),
		"order": of(delivery.OrderItem(t, o, 1), []string{"order.created"}, delivery.OrderItem(t, accepted, 1),
			[]string{"order.status_changed"}, delivery.OrderItem(t, driven, 1), []string{"order.updated"},
			delivery.OrderItem(t, ended, 1), []string{"order.status_changed"}, delivery.OrderItem(t, retained, 1), nil),
		"post": of(post.Item(), []string{"feedback.created"}, voted.Item(), nil, talked.Item(),
			[]string{"feedback.updated"}, planned.Item(), []string{"feedback.status_changed"}),
		"webhooks": of(book(off), nil, book(own), nil, book(off), nil, book(gone), []string{"webhook.disabled"}),
	}
	maps.Copy(out, w.withdrawals(d.ID, at, later))
	maps.Copy(out, w.singles(at))
	maps.Copy(out, w.jobs(at))
	maps.Copy(out, w.tripChanges(at))
	return out
}

// withdrawals are changes of withdrawals. Two of them ended before a step saw them open.
func (w *world) withdrawals(driver, at, later string) map[string][]change {
	t := w.tenant
	asked := wallet.Withdrawal{ID: ids.New(ids.Payout, start), DriverID: driver, Amount: "5", Status: wallet.Asked,
		RequestedAt: at}
	ended := func(status string, same bool) wallet.Withdrawal {
		one := asked
		if !same {
			one.ID = ids.New(ids.Payout, start)
		}
		one.Status, one.DecidedAt = status, &later
		return one
	}
	return map[string][]change{
		"withdrawal": of(wallet.WithdrawalItem(t, asked), []string{"withdrawal.requested"},
			wallet.WithdrawalItem(t, ended(wallet.Paid, true)), []string{"withdrawal.paid"}),
		"withdrawal refused before the step": of(wallet.WithdrawalItem(t, ended(wallet.Refused, false)),
			[]string{"withdrawal.requested", "withdrawal.refused"}),
		"withdrawal taken back": of(wallet.WithdrawalItem(t, ended(wallet.Cancelled, false)),
			[]string{"withdrawal.requested", "withdrawal.cancelled"}),
	}
}

// jobs are changes of jobs. Each is told of once, when it has ended.
func (w *world) jobs(at string) map[string][]change {
	t := w.tenant
	exp := export.Record{Job: export.Job{ID: ids.New(ids.Export, start), Kind: "trips", CreatedAt: at, UpdatedAt: at,
		Status: export.Running}}
	ready, gone := exp, exp
	ready.Status, gone.Status, gone.ExpiresAt = export.Ready, export.Ready, &at
	imp := imports.Record{Import: imports.Import{ID: ids.New(ids.Import, start), CreatedAt: at, UpdatedAt: at,
		Status: imports.Validating}}
	failed := imp
	failed.Status = imports.Failed
	return map[string][]change{
		"export": of(exp.Item(t), nil, ready.Item(t), []string{"export.completed"}, gone.Item(t), nil),
		"import": of(imp.Item(t), nil, failed.Item(t), []string{"import.completed"}),
	}
}

// singles are changes of items that change in one way only.
func (w *world) singles(at string) map[string][]change {
	t := w.tenant
	return map[string][]change{
		"posting": {{wallet.PostingItem(t, wallet.Driver, w.driver.ID, wallet.Entry{Posting: wallet.Posting{
			ID: ids.New(ids.Posting, start), Type: "TOP_UP", Amount: "5", CreatedAt: at}}), []string{"wallet.posted"}}},
		"settings": {{settings.Item(t, settings.Document{}), []string{"settings.updated"}}},
		"branding": {{table.Item{Key: branding.Key(t), Type: "branding", Version: 1, Doc: branding.Branding{}},
			[]string{"branding.updated"}}},
	}
}

// tripChanges walk a trip through its whole life.
func (w *world) tripChanges(at string) map[string][]change {
	t, d := w.tenant, &w.driver.ID
	tr := trip.Trip{ID: ids.New(ids.Trip, start), Status: trip.Pending, CustomerID: "cus_1", Currency: "USD",
		PaymentType: "CASH", OriginLat: "1", OriginLng: "1", RequestedAt: at, UpdatedAt: at, Version: 1}
	var ride []change
	step := func(status trip.Status, field **string, want string) {
		if tr.Status, tr.DriverID = status, d; field != nil {
			*field = &at
		}
		tr.Version++
		ride = append(ride, change{tr.Item(t, 1), []string{want}})
	}
	ride = append(ride, change{tr.Item(t, 1), []string{"trip.requested"}})
	step(trip.Assigned, &tr.AcceptedAt, "trip.accepted")
	step(trip.DriverArrived, &tr.ArrivedAt, "trip.arrived")
	step(trip.InProgress, &tr.StartedAt, "trip.started")
	step(trip.Completed, &tr.CompletedAt, "trip.completed")
	paid := receipt.Receipt{ID: ids.New(ids.Receipt, start), TripID: tr.ID, IssuedAt: at}
	ride = append(ride, change{receipt.Item(t, paid), []string{"trip.settled"}})
	out := map[string][]change{"trip": ride}
	for kind, want := range map[trip.Event]string{trip.EventBooked: "trip.requested", "DUE": "trip.due",
		"SEARCHING": "trip.searching", "COLLECTING_OFFERS": "trip.collecting_offers", "OFFERED": "trip.offered",
		"DECLINED": "trip.declined", "UNANSWERED": "trip.unanswered", trip.EventUnassigned: "trip.unassigned",
		trip.EventReleased: "trip.unassigned", trip.EventAssigned: "trip.accepted", trip.EventHandedOver: "trip.accepted",
		"CANCELLED": "trip.cancelled", trip.EventFareCorrected: "trip.corrected", "RATED": "trip.rated"} {
		one := tr
		one.ID, one.History = ids.New(ids.Trip, start), []trip.Past{{Event: kind, At: at, To: tr.Status}}
		out["trip "+string(kind)] = []change{{one.Item(t, 1), []string{want}}}
	}
	booked := tr
	booked.ID, booked.Status = ids.New(ids.Trip, start), trip.Scheduled
	booked.History = []trip.Past{{Event: trip.EventBooked, At: at, To: trip.Scheduled}}
	out["trip for later"] = []change{{booked.Item(t, 1), []string{"trip.scheduled"}}}
	return out
}
