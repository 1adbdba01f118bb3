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

// typed are riders with phones that no import and no booking has seen, by the keys of
// the numbers' rows (customer.CallerKey): the riders typed the numbers themselves.
type typed map[table.Key][]string

// searchTyped looks for the riders of those phones that lead to nobody, and reads their
// records. A rider is found as soon as the projection has written the search rows.
func (a *applying) searchTyped(ctx context.Context, rows []Row) error {
	if a.Key != "phone" || kinds[a.Kind].audience != authz.Rider {
		return nil
	}
	var mu sync.Mutex
	a.typed = typed{}
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
	if err != nil {
		return nil, err
	}
	disabled := func(r customer.Record) bool { return r.Disabled }
	if enabled := slices.DeleteFunc(slices.Clone(found), disabled); len(enabled) > 0 {
		found = enabled
	}
	out := make([]string, len(found))
	for i, r := range found {
		out[i] = r.ID
	}
	return out, nil
}

// typedBy returns the riders who typed the number of a row.
func (a *applying) typedBy(cells map[string]string) []string {
	if a.typed == nil {
		return nil
	}
	return a.typed[customer.CallerKey(a.g.Tenant, a.keyOf(a.g, cells))]
}

// shared returns the fault of a row whose number several riders have, nil if the mail
// address says which of them it is.
func (a *applying) shared(cells map[string]string) *Fault {
	found := a.typedBy(cells)
	if len(found) < 2 || slices.Contains(found, a.actor(cells)) {
		return nil
	}
	return &Fault{Column: "phone", Code: "taken", Message: "Several customers have this number. Add the mail address of " +
		"the one whom the row is about."}
}
