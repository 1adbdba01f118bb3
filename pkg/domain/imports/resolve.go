package imports

import (
	"context"
	"slices"
	"sync"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/email"
	"svc/pkg/base/ids"
	"svc/pkg/base/panics"
	"svc/pkg/base/phone"
	"svc/pkg/data/table"
	"svc/pkg/domain/account"
	"svc/pkg/domain/address"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/external"
	"svc/pkg/domain/trip"
)

// reference is a row with what it refers to.
type reference struct {
	Row
	at     int           // index among the rows of the step
	fault  *Fault        // why the row cannot be applied
	keys   []table.Key   // of the items that may lead to its person
	index  table.Key     // of those, the one that imports write
	login  table.Key     // of those, the sign-in item
	claim  table.Key     // of the row that claims its identifier in another system
	number *phone.Number // if that is the key
	byKey  string        // the person to whom the key leads
	typed  []string      // the people who typed the number, if the key leads to nobody
	person string        // whom the row is about; "" for nobody
	driver *string       // of a ride; nil for none
	stored table.Key     // of the address or ride that the row becomes
	save   address.Save
}

// own returns the identifier of this service that a row names its person by, "" for none:
// of an export. It need not be the identifier of a person.
func (o Options) own(cells map[string]string) string {
	kind, column := ids.Customer, "id"
	if kinds[o.Kind].audience == authz.Driver {
		kind = ids.Driver
	}
	if o.Kind == "addresses" || o.Kind == "trips" {
		column = "externalId"
	}
	if !ids.Valid(kind, cells[column]) {
		return ""
	}
	return cells[column]
}

// resolve reads what the rows refer to: first the items of their keys, then the records
// to which those lead, then the people who typed a number, and the saved addresses.
func (a *applying) resolve(ctx context.Context, rows []Row, skip map[int]bool) error {
	var keys []table.Key
	for i, row := range rows {
		if skip[row.N] {
			continue
		}
		ref := &reference{Row: row, at: i, fault: a.panicked[row.N]}
		if a.refs = append(a.refs, ref); ref.fault == nil {
			ref.fault = a.read(a.g, row)
		}
		if ref.fault == nil {
			keys = append(keys, a.keysOf(ref)...)
		}
	}
	if err := a.load(ctx, keys); err != nil {
		return err
	}
	var records []table.Key
	for _, it := range a.found {
		if id := leadsTo(it); id != "" {
			records = append(records, authz.ActorKey(a.g.Tenant, audienceOf(id), id))
		}
	}
	if err := a.load(ctx, records); err != nil {
		return err
	}
	for _, ref := range a.refs {
		for _, key := range ref.keys {
			if ref.byKey == "" && key != ref.login {
				ref.byKey = a.to(key, ref)
			}
		}
	}
	if err := a.searchTyped(ctx); err != nil {
		return err
	}
	var places []table.Key
	for _, ref := range a.refs {
		if ref.fault != nil {
			continue
		}
		if a.find(ref); a.Kind == "addresses" && ref.person != "" {
			ref.save, _ = a.Options.save(ref.Cells) // checked with the row
			ref.stored = address.Key(a.g.Tenant, ref.person, string(ref.save.Lat), string(ref.save.Lng))
			places = append(places, ref.stored)
		}
	}
	return a.load(ctx, places)
}

// keysOf sets the keys of a row, and returns all that must be read of it.
func (a *applying) keysOf(ref *reference) []table.Key {
	t, audience := a.g.Tenant, kinds[a.Kind].audience
	if a.Key == "phone" {
		ref.number = a.g.number(ref.Cells["phone"])
	}
	if a.Key != "email" && ref.Cells[a.Key] != "" {
		ref.index = external.RowKey(t, string(audience), a.Key, a.keyOf(a.g, ref.Cells))
		ref.keys = append(ref.keys, ref.index)
	}
	if ref.number != nil && audience == authz.Rider {
		ref.keys = append(ref.keys, customer.CallerKey(t, ref.number.E164))
	}
	if typed := ref.Cells["email"]; email.Valid(email.Fold(typed)) {
		ref.login = login.Key(t, audience, typed)
		ref.keys = append(ref.keys, ref.login)
	}
	all := slices.Clone(ref.keys)
	if id := ref.Cells["externalId"]; id != "" && (a.Kind == "customers" || a.Kind == "drivers") {
		ref.claim = external.RowKey(t, string(audience), "externalId", id)
		all = append(all, ref.claim)
	}
	if id := a.own(ref.Cells); id != "" {
		all = append(all, authz.ActorKey(t, audience, id))
	}
	if a.Kind == "trips" {
		ref.stored = trip.Key(t, trip.FormerID(t, ref.Cells["tripId"]))
		ref.claim = trip.IDs.Claim(t, ref.Cells["tripId"])
		if all = append(all, ref.stored, ref.claim); ids.Valid(ids.Trip, ref.Cells["tripId"]) {
			all = append(all, trip.Key(t, ref.Cells["tripId"]))
		}
		all = append(all, a.driverKeys(ref.Cells)...)
	}
	return all
}

// find sets the person of a row. The person of an identifier of this service comes before
// that of the key, and that before the person of the mail address.
func (a *applying) find(ref *reference) {
	byMail := a.to(ref.login, ref)
	ref.person = a.known(kinds[a.Kind].audience, a.own(ref.Cells))
	for _, id := range []string{ref.byKey, only(ref.typed), byMail} {
		if ref.person == "" {
			ref.person = id
		}
	}
	switch {
	case len(ref.typed) > 1 && !slices.Contains(ref.typed, ref.person):
		ref.fault = &Fault{Column: "phone", Code: "taken", Message: "Several people have this number. Add the mail address " +
			"of the one whom the row is about."}
	case a.Kind == "trips" && !a.found[trip.Key(a.g.Tenant, ref.Cells["tripId"])].Found():
		if ref.fault = a.rider(ref); ref.fault == nil {
			ref.driver, ref.fault = a.driver(ref.Cells)
		}
	case a.Kind == "addresses":
		ref.fault = a.rider(ref)
	}
}

// only returns the one person of a list, "" if it has none or several.
func only(people []string) string {
	if len(people) != 1 {
		return ""
	}
	return people[0]
}

// rider returns the fault of a row that names no customer.
func (a *applying) rider(ref *reference) *Fault {
	if ref.person != "" {
		return nil
	}
	return &Fault{Column: a.Key, Code: "unknown", Message: "No customer has this " + a.Key +
		". Import the customers first."}
}

// driverKeys returns the keys of the items that lead to the driver of a ride.
func (a *applying) driverKeys(cells map[string]string) (out []table.Key) {
	if id := cells["driverExternalId"]; ids.Valid(ids.Driver, id) {
		out = append(out, authz.ActorKey(a.g.Tenant, authz.Driver, id))
	} else if id != "" {
		out = append(out, external.RowKey(a.g.Tenant, string(authz.Driver), "externalId", id))
	}
	if address := cells["driverEmail"]; address != "" {
		out = append(out, login.Key(a.g.Tenant, authz.Driver, address))
	}
	return out
}

// driver returns the identifier of the driver whom a row of a ride names. It returns nil
// if the row names no driver.
func (a *applying) driver(cells map[string]string) (*string, *Fault) {
	keys := a.driverKeys(cells)
	for _, key := range keys {
		id := leadsTo(a.found[key])
		if of := cells["driverExternalId"]; key == authz.ActorKey(a.g.Tenant, authz.Driver, of) {
			id = of
		}
		if id = a.known(authz.Driver, id); id != "" {
			return &id, nil
		}
	}
	if len(keys) > 0 {
		return nil, &Fault{Column: "driverEmail", Code: "unknown", Message: "There is no such driver. Import the drivers " +
			"first, or leave the cell empty."}
	}
	return nil, nil
}

// known returns the identifier of a person who is there and was not erased, else "".
func (a *applying) known(audience authz.Audience, id string) string {
	rec := a.found[authz.ActorKey(a.g.Tenant, audience, id)]
	if id == "" || !rec.Found() || account.Erased(rec) {
		return ""
	}
	return id
}

// to returns the person to whom an item leads, "" if there is none.
func (a *applying) to(key table.Key, ref *reference) string {
	id := a.known(kinds[a.Kind].audience, leadsTo(a.found[key]))
	if id == "" || a.found[key].Type != "caller" {
		return id
	}
	// The rider may have another number by now.
	r, err := customer.FromItem(a.found[customer.Key(a.g.Tenant, id)])
	if err != nil || !r.Number.Of(r.Phone) || r.Number.E164 != ref.number.E164 {
		return ""
	}
	return id
}

// audienceOf says whether an identifier is a driver's or a rider's.
func audienceOf(id string) authz.Audience {
	if ids.Valid(ids.Driver, id) {
		return authz.Driver
	}
	return authz.Rider
}

// leadsTo returns the person to whom an item leads, "" for none.
func leadsTo(it table.Item) string {
	if it.Type == "caller" {
		return customer.Only(it)
	}
	return it.Text("actor")
}

// searchTyped looks for the people of those numbers that lead to nobody, and reads their
// records: no import and no booking has seen the numbers, which the people or the
// operators typed.
func (a *applying) searchTyped(ctx context.Context) error {
	group, each := panics.WithContext(ctx)
	for _, ref := range a.refs {
		if ref.number == nil || ref.byKey != "" {
			continue
		}
		group.Go(func() (err error) {
			if kinds[a.Kind].audience == authz.Driver {
				ref.typed, err = a.searchDrivers(each, *ref.number)
			} else {
				ref.typed, err = a.searchRiders(each, *ref.number)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var records []table.Key
	for _, ref := range a.refs {
		for _, id := range ref.typed {
			records = append(records, authz.ActorKey(a.g.Tenant, kinds[a.Kind].audience, id))
		}
	}
	return a.load(ctx, records)
}

// searchRiders returns the riders who have a number. A rider is found as soon as the
// projection has written the search rows.
func (a *applying) searchRiders(ctx context.Context, n phone.Number) ([]string, error) {
	_, may, err := customer.Listed(ctx, a.g.Tenant, n)
	if err != nil || len(may) == 0 {
		return nil, err
	}
	found, err := customer.WithNumber(ctx, a.g.Tenant, may, n, a.g.number)
	return enabledOf(found, func(r customer.Record) (string, bool) { return r.ID, r.Disabled }), err
}

// enabledOf returns the identifiers of those people who are not disabled, or of all if
// all are.
func enabledOf[R any](all []R, of func(R) (id string, disabled bool)) (enabled []string) {
	var disabled []string
	for _, r := range all {
		if id, is := of(r); is {
			disabled = append(disabled, id)
		} else {
			enabled = append(enabled, id)
		}
	}
	if len(enabled) == 0 {
		return disabled
	}
	return enabled
}

// searchDrivers returns the drivers who have a number.
func (a *applying) searchDrivers(ctx context.Context, n phone.Number) ([]string, error) {
	may, err := a.g.drivers.with(ctx, a.g, n.E164)
	if err != nil || len(may) == 0 {
		return nil, err
	}
	keys := make([]table.Key, len(may))
	for i, id := range may {
		keys[i] = driver.Key(a.g.Tenant, id)
	}
	items, err := a.g.Tenant.BatchAll(ctx, keys...)
	if err != nil {
		return nil, err
	}
	var found []driver.Record
	for _, it := range items {
		r, err := driver.FromItem(it)
		if err == nil && r.ErasedAt == nil && phoneOf(a.g, r.Phone) == n.E164 { // not another number by now
			found = append(found, r)
		}
	}
	return enabledOf(found, func(r driver.Record) (string, bool) { return r.ID, r.Disabled }), nil
}

// numbered are the drivers of the tenant by the numbers of their phones. No rows find
// drivers by them, so the first row whose number leads to nobody reads the list of all
// drivers, once for each run.
type numbered struct {
	mu  sync.Mutex
	ids map[string][]string
}

// with returns the drivers who had a number when the list was read.
//
// Access pattern: by-g1 T#t#DRIVERS#shard.
func (d *numbered) with(ctx context.Context, g Target, number string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ids != nil {
		return d.ids[number], nil
	}
	byNumber := map[string][]string{}
	for after := ""; ; {
		records, next, err := driver.List(ctx, g.Tenant, "", after, 200)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if n := phoneOf(g, r.Phone); n != "" && !slices.Contains(byNumber[n], r.ID) {
				byNumber[n] = append(byNumber[n], r.ID)
			}
		}
		if after = next; next == "" {
			d.ids = byNumber
			return byNumber[number], nil
		}
	}
}
