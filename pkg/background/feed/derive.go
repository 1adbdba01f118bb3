package feed

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/pkg/base/codec"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/event"
	"svc/pkg/domain/export"
	"svc/pkg/domain/feedback"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
	"svc/pkg/domain/webhook"
)

// subject is an item whose changes the feed reports.
type subject struct {
	item    table.Item    // current state, or the last one if it was deleted
	gone    bool          // the item was deleted
	receipt table.Item    // of a trip; not Found if it was not read or there is none
	was     event.Emitted // what the feed has of the item
	now     time.Time
}

// result has the events that a step appends for a subject.
type result struct {
	next   event.Emitted // what the feed has of the item afterwards
	events []event.Event
}

// appendEvent appends an event of the type kind. what identifies the log entry or version
// of the resource; the event's id is derived from it. If d has no version, the version is
// the number of the item's events.
func (r *result) appendEvent(kind, resource, what, at string, d event.Data) {
	if d.Version == 0 {
		r.next.Events++
		d.Version = r.next.Events
	}
	r.events = append(r.events, event.New(kind, resource, what, at, d))
}

// derivers has, for each type of item, the function that returns the events of an item
// that the feed lacks.
var derivers = map[string]func(subject) (result, error){
	"trip": ofTrip, "driver": ofDriver, "customer": ofCustomer, "order": ofOrder, "posting": ofPosting,
	"settings": ofSettings, "service": ofSettings, "zone": ofSettings, "branding": ofSettings,
	"webhooks": ofWebhooks, "withdrawal": ofWithdrawal, "post": ofPost,
	"export": ofExport, "import": ofImport, "business": ofBusiness, "menuitem": ofMenuItem, "document": ofDocument,
	"membership": ofMember, "tenant": ofCompany, "privacy": ofPrivacy,
}

// settled is the type of the event that a trip was settled. A trip's log has no entry for
// it.
const settled = "trip.settled"

// tripTypes has the event type of each log entry whose event type is not "trip." and the
// entry's name.
var tripTypes = map[trip.Event]string{trip.EventBooked: "trip.requested", trip.EventAssigned: "trip.accepted",
	trip.EventHandedOver: "trip.accepted", trip.EventReleased: "trip.unassigned",
	trip.EventFareCorrected: "trip.corrected"}

// tripType returns the event type of a log entry.
func tripType(e trip.LogEntry) string {
	kind := cmp.Or(tripTypes[e.Type], "trip."+strings.ToLower(string(e.Type)))
	if kind == "trip.requested" && e.To == trip.Scheduled {
		return "trip.scheduled"
	}
	return kind
}

// ofTrip returns an event for each new entry of the trip's log, at most event.MaxAppended
// at once, and then one for the settlement.
func ofTrip(s subject) (result, error) {
	out := result{next: s.was}
	t, err := trip.FromItem(s.item)
	if err != nil || t.Imported {
		return out, err
	}
	log, driver := t.Log(), ""
	first := unseen(log, s.was.Log)
	for i, e := range log {
		d := event.Data{TripID: t.ID, CustomerID: t.CustomerID, DriverID: cmp.Or(codec.OrZero(e.Data.DriverID), driver),
			PreviousDriverID: codec.OrZero(e.Data.PreviousDriverID), Status: string(e.To),
			PreviousStatus: string(codec.OrZero(e.From))}
		switch e.Type {
		case trip.EventAccepted, trip.EventAssigned, trip.EventHandedOver:
			driver = d.DriverID
		case trip.EventUnassigned, trip.EventReleased:
			d.DriverID, driver = cmp.Or(d.DriverID, d.PreviousDriverID), ""
		default:
		}
		if i < first {
			continue
		}
		if len(out.events) == event.MaxAppended {
			return out, nil
		}
		out.appendEvent(tripType(e), t.ID, e.ID, e.At, d)
		out.next.Log = e.ID
	}
	if s.receipt.Found() && !s.was.Done && t.Status == trip.Completed {
		r, err := table.DecodeDoc[receipt.Receipt](s.receipt)
		if err != nil {
			return out, err
		}
		out.appendEvent(settled, t.ID, "settled", r.IssuedAt, event.Data{TripID: t.ID, CustomerID: t.CustomerID,
			DriverID: codec.OrZero(t.DriverID), ReceiptID: r.ID, Status: string(t.Status)})
		out.next.Done = true
	}
	return out, nil
}

// unseen returns the index of the first log entry after the entry with the id last. If
// the log no longer has that entry, it returns the index of the first entry with a later
// time.
func unseen(log []trip.LogEntry, last string) int {
	if i := slices.IndexFunc(log, func(e trip.LogEntry) bool { return e.ID == last }); i >= 0 || last == "" {
		return i + 1
	}
	const timed = len(ids.Log+"_") + 10 // the part of an identifier that is its time
	i := slices.IndexFunc(log, func(e trip.LogEntry) bool { return e.ID[:timed] > last[:timed] })
	if i < 0 {
		return len(log)
	}
	return i
}

// state returns the events that the feed lacks of a resource that has no log: it was
// created, its status changed, or something else changed. at is the time of the change,
// "" if the resource does not store it. sum is a hash of all other fields whose change is
// an event.
func (s subject) state(kind, id, status, sum, at string, d event.Data) result {
	out := result{next: s.was}
	out.next.Status, out.next.Sum, d.Status = status, sum, status
	tell := func(change string) {
		out.appendEvent(kind+change, id, strconv.FormatInt(out.next.Events+1, 10), cmp.Or(at, timestamp.Format(s.now)), d)
	}
	if s.was.Sum == "" {
		tell(".created")
		return out
	}
	if s.was.Sum != sum {
		tell(".updated")
	}
	if s.was.Status != status {
		d.PreviousStatus = s.was.Status
		tell(".status_changed")
	}
	return out
}

// erased returns the event that a person was erased, unless the feed has it.
func (s subject) erased(kind, id, at string, d event.Data) result {
	out := result{next: s.was}
	if out.next.Status, out.next.Sum = "", "erased"; s.was.Sum != out.next.Sum {
		out.appendEvent(kind+".erased", id, "erased", at, d)
	}
	return out
}

// ofDriver returns the events of a driver that the feed lacks.
func ofDriver(s subject) (result, error) {
	r, err := driver.FromItem(s.item)
	if err != nil {
		return result{}, err
	}
	status, at := r.Status, r.StatusUpdatedAt
	if s.was.Status == status {
		at = ""
	}
	// These fields change often, with each drive or ride, and no event reports them.
	r.Status, r.StatusUpdatedAt, r.TotalTrips, r.Rating = "", "", 0, nil
	r.CurrentLat, r.CurrentLng, r.LocationUpdatedAt = nil, nil, nil
	r.Number = nil // Number is derived from Phone
	if r.ErasedAt != nil {
		return s.erased("driver", r.ID, *r.ErasedAt, event.Data{DriverID: r.ID}), nil
	}
	return s.state("driver", r.ID, status, shortHash(r), at, event.Data{DriverID: r.ID}), nil
}

// ofCustomer returns the events of a rider that the feed lacks.
func ofCustomer(s subject) (result, error) {
	r, err := customer.FromItem(s.item)
	if err != nil {
		return result{}, err
	}
	r.TotalTrips, r.Rating, r.Number = 0, nil, nil // Number follows from Phone
	if r.ErasedAt != nil {
		return s.erased("customer", r.ID, *r.ErasedAt, event.Data{CustomerID: r.ID}), nil
	}
	return s.state("customer", r.ID, "", shortHash(r), "", event.Data{CustomerID: r.ID}), nil
}

// ofOrder returns the events of a delivery order that the feed lacks.
func ofOrder(s subject) (result, error) {
	o, err := delivery.OrderKind.FromItem(s.item)
	if err != nil {
		return result{}, err
	}
	d, status, at := event.Data{OrderID: o.ID, BusinessID: o.BusinessID, CustomerID: o.CustomerID}, o.Status, o.UpdatedAt
	d.DriverID = codec.OrZero(o.DriverID)
	addressGone := o.Over() && o.DeliveryAddress == ""
	o.Status, o.UpdatedAt = "", ""
	hash := shortHash(o)
	if addressGone && s.was.Sum != "" {
		hash = s.was.Sum // no event: nothing else of an order that is over can change
	}
	return s.state("order", o.ID, status, hash, at, d), nil
}

// ofPosting returns one event for a posting; postings never change. A ride may have a
// posting with the same identifier in the driver's wallet and in the rider's. So the
// resource of a rider's posting also has the wallet's owner. Otherwise both events would
// be version 1 of one resource.
func ofPosting(s subject) (result, error) {
	out := result{next: s.was}
	if s.was.Events > 0 {
		return out, nil
	}
	p, err := table.DecodeDoc[wallet.Posting](s.item)
	if err != nil {
		return out, err
	}
	actor := lastPart(s.item.PK)
	resource, d := event.OfWallet(actor, p.ID), event.Data{TransactionID: p.ID, CustomerID: actor}
	if strings.Contains(s.item.PK, "#WALLET#"+string(wallet.Driver)+"#") {
		resource, d.CustomerID, d.DriverID = p.ID, "", actor
	}
	out.appendEvent("wallet.posted", resource, "posted#"+actor, p.CreatedAt, d)
	return out, nil
}

// ofWithdrawal returns the events of a withdrawal: its request, and how it ended.
func ofWithdrawal(s subject) (result, error) {
	out := result{next: s.was}
	w, err := wallet.WithdrawalKind.FromItem(s.item)
	if err != nil {
		return out, err
	}
	tell := func(status, at string) {
		out.appendEvent("withdrawal."+strings.ToLower(status), w.ID, status, at, event.Data{WithdrawalID: w.ID,
			DriverID: w.DriverID, TransactionID: codec.OrZero(w.PostingID), Status: status, PreviousStatus: out.next.Status})
		out.next.Status = status
	}
	if s.was.Status == "" {
		tell(wallet.Asked, w.RequestedAt)
	}
	if out.next.Status == wallet.Asked && w.Status != wallet.Asked {
		tell(w.Status, cmp.Or(codec.OrZero(w.DecidedAt), timestamp.Format(s.now)))
	}
	return out, nil
}

// ofExport returns one event when an export has ended.
func ofExport(s subject) (result, error) {
	r, err := export.Kind.FromItem(s.item)
	return s.ended("export", r.ID, r.UpdatedAt, r.Done(), event.Data{ExportID: r.ID, Status: string(r.Status)}), err
}

// ofImport returns one event when an import has ended.
func ofImport(s subject) (result, error) {
	r, err := imports.Kind.FromItem(s.item)
	return s.ended("import", r.ID, r.UpdatedAt, r.Done(), event.Data{ImportID: r.ID, Status: string(r.Status)}), err
}

// ended returns the event that a job is done, if it is done and the feed lacks the event.
func (s subject) ended(kind, id, at string, done bool, d event.Data) result {
	out := result{next: s.was}
	if done && s.was.Events == 0 {
		out.appendEvent(kind+".completed", id, "completed", at, d)
	}
	return out
}

// ofPost returns the events of a feedback post that the feed lacks. Only the feed of its
// author's tenant has them.
func ofPost(s subject) (result, error) {
	p, err := feedback.FromItem(s.item)
	if err != nil {
		return result{}, err
	}
	return s.state("feedback", p.ID, string(p.Status), shortHash(p.Comments), "", event.Data{PostID: p.ID}), nil
}

// ofSettings returns an event if the tenant's settings, a service type, a zone or the
// branding changed.
func ofSettings(s subject) (result, error) {
	kind := "settings"
	if s.item.Type == "branding" {
		kind = "branding"
	}
	resource, d := settingOf(s.item)
	out := result{next: s.was}
	if out.next.Sum = shortHash(s.item.Raw() + strconv.FormatBool(s.item.Flag("active"))); out.next.Sum != s.was.Sum {
		out.appendEvent(kind+".updated", resource, strconv.FormatInt(s.was.Events+1, 10), timestamp.Format(s.now), d)
	}
	return out, nil
}

// settingOf returns the resource to which an event of a settings item belongs, and the
// event's data with the item's identifier.
func settingOf(it table.Item) (resource string, d event.Data) {
	_, id, _ := strings.Cut(it.SK, "#")
	switch it.Type {
	case "branding":
		return event.Branding, d
	case "service":
		return id, event.Data{ServiceTypeID: id}
	case "zone":
		return id, event.Data{ZoneID: id}
	}
	return event.Settings, d
}

// lastPart returns the identifier at the end of a partition key.
func lastPart(pk string) string { return pk[strings.LastIndexByte(pk, '#')+1:] }

// ofWebhooks returns an event for each of the tenant's endpoints that the service, not an
// operator, disabled.
func ofWebhooks(s subject) (result, error) {
	out := result{next: s.was}
	if strings.Contains(s.item.PK, "#WEBHOOK#") { // a person's subscriptions have no such events
		return out, nil
	}
	book, err := webhook.Kind.FromItem(s.item)
	live := make([]string, len(book.Endpoints))
	for i, r := range book.Endpoints {
		live[i] = r.ID
	}
	for _, r := range slices.SortedFunc(slices.Values(book.Endpoints), func(a, b webhook.Record) int {
		return cmp.Compare(a.DisabledAt, b.DisabledAt)
	}) {
		if r.DisabledAt > s.was.Status && codec.OrZero(r.Reason) != webhook.ByOperator {
			version := out.next.Tell(r.ID, r.CreatedAt, live)
			out.next.Status = r.DisabledAt
			out.appendEvent("webhook.disabled", r.ID, r.DisabledAt, r.DisabledAt, event.Data{WebhookID: r.ID,
				Status: webhook.Disabled, Version: version})
		}
	}
	return out, err
}

// shortHash returns a short hash of the JSON of a value.
func shortHash(v any) string {
	text, _ := json.Marshal(v) // the values that come here always have a JSON form
	all := sha256.Sum256(text)
	return hex.EncodeToString(all[:8])
}
