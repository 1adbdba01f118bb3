package feed_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/feed"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
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
	"svc/pkg/domain/fleet"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/person"
	"svc/pkg/domain/privacy"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
	"svc/pkg/domain/webhook"
	"svc/pkg/local/schema"
)

// change is one change of an item, and the types of the events that it must append.
type change struct {
	item table.Item
	want []string
	gone bool // the item is deleted, and want are the events of the deletion
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
			made := stream.Change{Key: c.item.Key, Old: old, Last: old}
			if c.gone {
				stored, err := handle.Get(t.Context(), c.item.Key)
				testkit.Must(t, err)
				made.Old, made.Last = stored, stored
				tx := handle.Write()
				tx.Delete(c.item.Key)
				testkit.Must(t, tx.Commit(t.Context()))
			} else {
				testkit.Must(t, handle.Load(t.Context(), c.item))
				stored, err := handle.Get(t.Context(), c.item.Key)
				testkit.Must(t, err)
				made.New, made.Last = stored, stored
			}
			for range 2 {
				testkit.Must(t, feed.Step(w.function(), t.Context(), []stream.Change{made}))
			}
			var got []string
			for _, e := range w.all()[n:] {
				got = append(got, e.Type)
				seen[e.Type] = true
			}
			if n += len(got); !slices.Equal(got, c.want) {
				t.Errorf("%s, change %d: got %q, want %q", name, i, got, c.want)
			}
			old = made.New
		}
	}
	for _, kind := range event.Types() {
		if !seen[kind.Name] {
			t.Errorf("no change makes %s", kind.Name)
		}
	}
	w.once()
}

// once checks that each version of a resource came once, and that one finds an event by
// the resource that the feed names, and a posting by its own identifier.
func (w *world) once() {
	w.t.Helper()
	type version struct {
		resource string
		number   int64
	}
	had, postings := map[version]event.Event{}, map[string]int{}
	for _, e := range w.all() {
		one := version{e.Resource, e.Data.Version}
		if before, twice := had[one]; twice {
			w.t.Errorf("%s and %s are version %d of %s", before.Type, e.Type, one.number, one.resource)
		}
		if had[one] = e; one.number > 1 && had[version{one.resource, one.number - 1}].ID == "" {
			w.t.Errorf("%s: version %d of %s came before version %d", e.Type, one.number, one.resource, one.number-1)
		}
		if id := e.Data.TransactionID; e.Type == "wallet.posted" {
			if postings[id]++; !e.Of(id) || !e.Of(e.Resource) || e.Of("pst_") {
				w.t.Errorf("%+v", e)
			}
		} else if !e.Of(e.Resource) || e.Of(e.Resource+"/") {
			w.t.Errorf("%+v", e)
		}
	}
	if !slices.Contains(slices.Collect(maps.Values(postings)), 2) {
		w.t.Error("no two wallets have a posting with one identifier")
	}
}

// of pairs items, each as it is stored next, with the types of the events it makes.
func of(items ...any) (out []change) {
	for i := 0; i < len(items); i += 2 {
		want, _ := items[i+1].([]string)
		out = append(out, change{item: items[i].(table.Item), want: want})
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
	order := func(o delivery.Order) table.Item { return delivery.OrderKind.Sharded(t, o, o.ID, 1) }
	post := feedback.Post{ID: id(ids.Post), Slug: "s", Type: feedback.Idea, Status: "UNDER_REVIEW", Title: "T",
		CreatedAt: at, Author: "usr_1", Tenant: t.ID(), Version: 1}
	voted, talked, planned, strange := post, post, post, post
	voted.Votes, talked.Comments, planned.Comments, planned.Status = 3, 1, 1, "PLANNED"
	strange.ID, strange.Tenant = id(ids.Post), id(ids.Tenant)
	off := webhook.Record{Endpoint: webhook.Endpoint{ID: id(ids.Webhook), Status: webhook.Enabled}}
	own, gone := off, off
	own.Disable(webhook.ByOperator, start)
	gone.Disable(webhook.Gone, start)
	failing := off
	failing.ID = id(ids.Webhook)
	failing.Disable(webhook.Failing, start.Add(time.Hour))
	again := off
	again.Disable(webhook.Failing, start.Add(2*time.Hour))
	book := func(r ...webhook.Record) table.Item { return webhook.Kind.Item(t, "", webhook.Book{Endpoints: r}) }
	out := map[string][]change{
		"driver": of(driver.Item(t, d, 1), []string{"driver.created"}, driver.Item(t, online, 1),
			[]string{"driver.status_changed"}, driver.Item(t, named, 1), []string{"driver.updated"},
			driver.Item(t, rated, 1), nil, driver.Item(t, left, 1), []string{"driver.erased"}),
		"customer": of(customer.Item(t, c, 1), []string{"customer.created"}, customer.Item(t, moved, 1),
			[]string{"customer.updated"}, customer.Item(t, forgotten, 1), []string{"customer.erased"}),
		"order": of(order(o), []string{"order.created"}, order(accepted),
			[]string{"order.status_changed"}, order(driven), []string{"order.updated"},
			order(ended), []string{"order.status_changed"}, order(retained), nil),
		"post": of(post.Item(), []string{"feedback.created"}, voted.Item(), nil, talked.Item(),
			[]string{"feedback.updated"}, planned.Item(), []string{"feedback.status_changed"}),
		"webhooks": of(book(off), nil, book(own), nil, book(off), nil, book(gone), []string{"webhook.disabled"},
			book(gone, failing), []string{"webhook.disabled"}, book(off, failing), nil,
			book(again, failing), []string{"webhook.disabled"}),
	}
	maps.Copy(out, w.withdrawals(d.ID, at, later))
	maps.Copy(out, w.singles(at))
	maps.Copy(out, w.company(d.ID, at))
	maps.Copy(out, w.paid(at))
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
		"withdrawal": of(wallet.WithdrawalKind.Item(t, "", asked), []string{"withdrawal.requested"},
			wallet.WithdrawalKind.Item(t, "", ended(wallet.Paid, true)), []string{"withdrawal.paid"}),
		"withdrawal refused before the step": of(wallet.WithdrawalKind.Item(t, "", ended(wallet.Refused, false)),
			[]string{"withdrawal.requested", "withdrawal.refused"}),
		"withdrawal taken back": of(wallet.WithdrawalKind.Item(t, "", ended(wallet.Cancelled, false)),
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
		"export": of(export.Kind.Item(t, "", exp), nil, export.Kind.Item(t, "", ready), []string{"export.completed"},
			export.Kind.Item(t, "", gone), nil),
		"import": of(imports.Kind.Item(t, "", imp), nil, imports.Kind.Item(t, "", failed), []string{"import.completed"}),
	}
}

// paid are the postings of a ride that was paid from the rider's wallet and whose fare was
// corrected, once up and once down, as the receipts make them.
func (w *world) paid(at string) map[string][]change {
	rate, out := money.Amount("0.2"), []change{}
	tr := trip.Trip{ID: ids.New(ids.Trip, start), Status: trip.Completed, CustomerID: ids.New(ids.Customer, start),
		DriverID: &w.driver.ID, Currency: "USD", PaymentType: "WALLET", CommissionRate: &rate, CompletedAt: &at}
	was := money.Amount("10")
	for version, total := range []money.Amount{was, "18", "5"} {
		r := receipt.Receipt{TripID: tr.ID, IssuedAt: at, Total: &total, Version: version + 1}
		if version > 0 {
			before := was
			r.Correction = &receipt.Correction{By: "usr_1", Was: &before}
		}
		postings, err := r.Postings(tr)
		testkit.Must(w.t, err)
		for _, p := range postings {
			out = append(out, of(wallet.PostingItem(w.tenant, p.Side, p.Actor, p.Entry), []string{"wallet.posted"})...)
		}
		was = total
	}
	if len(out) != 10 {
		w.t.Errorf("%d postings", len(out))
	}
	return map[string][]change{"wallet ride": out}
}

// singles are changes of items that change in one way only.
func (w *world) singles(at string) map[string][]change {
	t := w.tenant
	return map[string][]change{
		"posting": {{wallet.PostingItem(t, wallet.Driver, w.driver.ID, wallet.Entry{Posting: wallet.Posting{
			ID: ids.New(ids.Posting, start), Type: "TOP_UP", Amount: "5", CreatedAt: at}}), []string{"wallet.posted"}, false}},
		"settings": of(settings.Kind.Item(t, "", settings.Document{}), []string{"settings.updated"},
			settings.ServiceKind.Item(t, "", settings.Service{ServiceType: settings.ServiceType{ID: ids.New(ids.Service, start)},
				CommissionRate: "0"}), []string{"settings.updated"},
			table.Item{Key: settings.ZoneKey(t, ids.New(ids.Zone, start)), Type: "zone", Version: 1, Doc: settings.Document{}},
			[]string{"settings.updated"}),
		"branding": of(table.Item{Key: branding.Key(t), Type: "branding", Version: 1, Doc: branding.Branding{}},
			[]string{"branding.updated"}),
	}
}

// company are changes of what a company offers, of its people and of its record.
func (w *world) company(driver, at string) map[string][]change {
	t := w.tenant
	item := func(kind string, key table.Key, doc any) table.Item {
		return table.Item{Key: key, Type: kind, Version: 1, Doc: doc}
	}
	b := delivery.Business{ID: ids.New(ids.Business, start), Name: "B", Active: true}
	closed := b
	closed.Active = false
	m := delivery.MenuItem{ID: ids.New(ids.MenuItem, start)}
	menu := func(name string) table.Item {
		m.Name = name
		return item("menuitem", delivery.MenuItemKey(t, b.ID, m.ID), m)
	}
	doc := fleet.DriverDocument{ID: ids.New(ids.Document, start), CreatedAt: at}
	document := func(state, expires string) table.Item {
		doc.State, doc.ExpiresOn = &state, &expires
		return item("document", fleet.Key(t, driver, doc.ID), doc)
	}
	member := func(role string) table.Item {
		one := person.Membership{PersonID: "usr_1", Role: role, CreatedAt: at}
		return item("membership", authz.ActorKey(t, authz.Dashboard, one.PersonID), one)
	}
	company := func(name string, shards int) table.Item {
		return item("tenant", tenant.Key(t), tenant.Tenant{ID: t.ID(), Name: name, WriteShards: shards})
	}
	asked := privacy.Record{PrivacyRequest: privacy.PrivacyRequest{ID: ids.New(ids.Privacy, start), Kind: privacy.Erase,
		DriverID: &driver, Status: "WAITING", CreatedAt: at}}
	done := asked
	done.Status, done.Step = "DONE", 3
	zone := func(name string) table.Item {
		return item("zone", t.Key("SETTINGS", "ZONE#zon_1"), map[string]string{"name": name})
	}
	gone := func(it table.Item, want ...string) change { return change{it, want, true} }
	business := func(b delivery.Business) table.Item { return delivery.BusinessKind.Sharded(t, b, b.ID, 1) }
	return map[string][]change{
		"business": of(business(b), []string{"business.created"}, business(closed),
			[]string{"business.updated"}, business(closed), nil),
		"menu": of(menu("Tea"), []string{"menu_item.created"}, menu("Coffee"), []string{"menu_item.updated"}),
		"document": append(of(document("PENDING", "2031-01-01"), []string{"document.created"},
			document("APPROVED", "2031-01-01"), []string{"document.status_changed"}, document("APPROVED", "2032-01-01"),
			[]string{"document.updated"}), gone(document("APPROVED", "2032-01-01"))), // with its driver, who is erased
		"member": append(append(of(member("boss"), []string{"member.created"}, member("clerk"), []string{"member.updated"}),
			gone(member("clerk"), "member.deleted")), of(member("clerk"), []string{"member.created"})...),
		"company": of(company("A", 1), nil, company("B", 1), []string{"company.updated"}, company("B", 8), nil),
		"privacy request": of(privacy.Kind.Item(t, "", asked), []string{"privacy_request.created"},
			privacy.Kind.Item(t, "", done), []string{"privacy_request.status_changed"}),
		"zone": append(of(zone("A"), []string{"settings.updated"}), gone(zone("A"), "settings.updated")),
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
		ride = append(ride, of(tr.Item(t, 1), []string{want})...)
	}
	ride = append(ride, of(tr.Item(t, 1), []string{"trip.requested"})...)
	step(trip.Assigned, &tr.AcceptedAt, "trip.accepted")
	step(trip.DriverArrived, &tr.ArrivedAt, "trip.arrived")
	step(trip.InProgress, &tr.StartedAt, "trip.started")
	step(trip.Completed, &tr.CompletedAt, "trip.completed")
	paid := receipt.Receipt{ID: ids.New(ids.Receipt, start), TripID: tr.ID, IssuedAt: at}
	ride = append(ride, of(receipt.Item(t, paid), []string{"trip.settled"})...)
	imported := tr
	imported.ID, imported.Imported = ids.New(ids.Trip, start), true
	out := map[string][]change{"trip": append(ride, change{tr.Item(t, 1), []string{"trip.deleted"}, true}),
		"imported trip": append(of(imported.Item(t, 1), nil), change{imported.Item(t, 1), []string{"trip.deleted"}, true})}
	for kind, want := range map[trip.Event]string{trip.EventBooked: "trip.requested", "DUE": "trip.due",
		"SEARCHING": "trip.searching", "COLLECTING_OFFERS": "trip.collecting_offers", "OFFERED": "trip.offered",
		"DECLINED": "trip.declined", "UNANSWERED": "trip.unanswered", trip.EventUnassigned: "trip.unassigned",
		trip.EventReleased: "trip.unassigned", trip.EventAssigned: "trip.accepted", trip.EventHandedOver: "trip.accepted",
		"CANCELLED": "trip.cancelled", trip.EventFareCorrected: "trip.corrected", "RATED": "trip.rated"} {
		one := tr
		one.ID, one.History = ids.New(ids.Trip, start), []trip.Past{{Event: kind, At: at, To: tr.Status}}
		out["trip "+string(kind)] = of(one.Item(t, 1), []string{want})
	}
	booked := tr
	booked.ID, booked.Status = ids.New(ids.Trip, start), trip.Scheduled
	booked.History = []trip.Past{{Event: trip.EventBooked, At: at, To: trip.Scheduled}}
	out["trip for later"] = of(booked.Item(t, 1), []string{"trip.scheduled"})
	return out
}
