package imports

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/phone"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
)

// actor returns the id of a row's person, "" if there is none. The person of the
// key comes before that of the mail address.
func (a *applying) actor(cells map[string]string) string {
	if id := a.byKey(cells); id != "" {
		return id
	}
	if found := a.typedBy(cells); len(found) == 1 {
		return found[0]
	}
	for _, key := range chosen(a.keys(cells), true) {
		return a.at(key, cells)
	}
	return ""
}

// byKey returns the id of the person to whom the row's key leads, unless that is a
// mail address.
func (a *applying) byKey(cells map[string]string) string {
	for _, key := range chosen(a.keys(cells), false) {
		if id := a.at(key, cells); id != "" {
			return id
		}
	}
	return ""
}

// at returns the person to whom an item leads, "" if there is none.
func (a *applying) at(key table.Key, cells map[string]string) string {
	id := leadsTo(a.found[key])
	rec := a.found[authz.ActorKey(a.g.Tenant, kinds[a.Kind].audience, id)]
	if id == "" || !rec.Found() || rec.Has("erasedAt") {
		return ""
	}
	if a.found[key].Type != "caller" {
		return id
	}
	r, err := customer.FromItem(rec) // may have another number by now
	if err == nil && r.Number.Of(r.Phone) && r.Number.E164 == a.keyOf(a.g, cells) {
		return id
	}
	return ""
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

// typed are people with phones that no import and no booking has seen, by the keys of
// the numbers' rows (customer.CallerKey): the people or the operators typed the numbers.
type typed map[table.Key][]string

// searchTyped looks for the people of those phones that lead to nobody, and reads their
// records. A rider is found as soon as the projection has written the search rows.
func (a *applying) searchTyped(ctx context.Context, rows []Row) error {
	if a.Key != "phone" {
		return nil
	}
	a.typed = typed{}
	if kinds[a.Kind].audience == authz.Driver {
		return a.searchDrivers(ctx, rows)
	}
	var mu sync.Mutex
	group, each := errgroup.WithContext(ctx)
	for _, row := range rows {
		n := a.g.number(row.Cells["phone"])
		if n == nil || a.skip[row.N] || a.byKey(row.Cells) != "" {
			continue
		}
		group.Go(func() error {
			found, err := a.search(each, *n)
			mu.Lock()
			defer mu.Unlock()
			a.typed[customer.CallerKey(a.g.Tenant, n.E164)] = found
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var records []table.Key
	for _, found := range a.typed {
		for _, id := range found {
			records = append(records, customer.Key(a.g.Tenant, id))
		}
	}
	return a.load(ctx, records)
}

// search returns the riders who have a number. One who is disabled counts only if all
// are.
func (a *applying) search(ctx context.Context, n phone.Number) ([]string, error) {
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

// searchDrivers is searchTyped for drivers. No rows find them by their phones, so the
// first row whose number leads to nobody reads the list of all drivers, once for each
// run.
func (a *applying) searchDrivers(ctx context.Context, rows []Row) error {
	var records []table.Key
	wanted := map[table.Key]string{}
	for _, row := range rows {
		n := a.g.number(row.Cells["phone"])
		if n == nil || a.skip[row.N] || a.byKey(row.Cells) != "" {
			continue
		}
		may, err := a.g.drivers.with(ctx, a.g, n.E164)
		if err != nil {
			return err
		}
		wanted[customer.CallerKey(a.g.Tenant, n.E164)] = n.E164
		for _, id := range may {
			records = append(records, driver.Key(a.g.Tenant, id))
		}
	}
	if err := a.load(ctx, slices.Clone(records)); err != nil {
		return err
	}
	for at, number := range wanted {
		var found []driver.Record
		for _, key := range records {
			r, err := driver.FromItem(a.found[key])
			if err == nil && r.ErasedAt == nil && phoneOf(a.g, r.Phone) == number &&
				!slices.ContainsFunc(found, func(other driver.Record) bool { return other.ID == r.ID }) {
				found = append(found, r) // not another number by now
			}
		}
		a.typed[at] = enabledOf(found, func(r driver.Record) (string, bool) { return r.ID, r.Disabled })
	}
	return nil
}

// numbered are the drivers of the tenant by the numbers of their phones.
type numbered struct{ ids map[string][]string }

// with returns the drivers who had a number when the list was read.
//
// Access pattern: by-g1 T#t#DRIVERS#shard.
func (d *numbered) with(ctx context.Context, g Target, number string) ([]string, error) {
	if d.ids == nil {
		ids := map[string][]string{}
		for after := ""; ; {
			records, next, err := driver.List(ctx, g.Tenant, "", after, 200)
			if err != nil {
				return nil, err
			}
			for _, r := range records {
				if n := phoneOf(g, r.Phone); n != "" {
					ids[n] = append(ids[n], r.ID)
				}
			}
			if after = next; next == "" {
				break
			}
		}
		d.ids = ids
	}
	return d.ids[number], nil
}

// typedBy returns the people who typed the number of a row.
func (a *applying) typedBy(cells map[string]string) []string {
	if a.typed == nil {
		return nil
	}
	return a.typed[customer.CallerKey(a.g.Tenant, a.keyOf(a.g, cells))]
}

// shared returns the fault of a row whose number several people have, nil if the mail
// address says which of them it is.
func (a *applying) shared(cells map[string]string) *Fault {
	found := a.typedBy(cells)
	if len(found) < 2 || slices.Contains(found, a.actor(cells)) {
		return nil
	}
	return &Fault{Column: "phone", Code: "taken", Message: "Several people have this number. Add the mail address of " +
		"the one whom the row is about."}
}
