package erasure

import (
	"context"
	"encoding/json"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/address"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/dispatch"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/estimate"
	"svc/pkg/domain/export"
	"svc/pkg/domain/fleet"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/location"
	"svc/pkg/domain/payment"
	"svc/pkg/domain/privacy"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
	"svc/pkg/domain/webhook"
	"svc/pkg/edge/api"
)

// source is a place in which a person's data is.
type source struct {
	platform []string // kinds of platform data; none for the tenant's data
	read     func(ctx context.Context, p person, after string, limit int) (table.Page, error)
	// erase adds to the transaction what removes the person from an item; nil deletes
	// the item.
	erase func(ctx context.Context, p person, tx *table.Tx, it table.Item) error
	show  func(table.Item) (any, error) // for a copy; nil shows the document
	alien bool                          // of others too, so a copy does not show it
	only  authz.Audience                // "" for both
}

func (s source) handle(p person) table.Handle {
	if len(s.platform) > 0 {
		return p.db.Platform(s.platform...).Handle
	}
	return p.t.Handle
}

// in returns a source's read of one partition. index 0 is the table.
func in(index int, platform []string, partition func(p person, h table.Platform) string) source {
	s := source{platform: platform}
	s.read = func(ctx context.Context, p person, after string, limit int) (table.Page, error) {
		var h table.Platform
		if len(platform) > 0 {
			h = p.db.Platform(platform...)
		}
		return s.handle(p).Query(ctx, partition(p, h), table.Query{Index: index, After: after, Limit: limit,
			Consistent: index == 0})
	}
	return s
}

// one returns a source's read of single items.
func one(keys ...func(p person) table.Key) source {
	return source{read: func(ctx context.Context, p person, _ string, _ int) (out table.Page, err error) {
		all := make([]table.Key, len(keys))
		for i, key := range keys {
			all[i] = key(p)
		}
		items, err := p.t.Batch(ctx, all...)
		for _, it := range items {
			if it.Found() {
				out.Items = append(out.Items, it)
			}
		}
		return out, err
	}}
}

func (s source) of(a authz.Audience) source { s.only = a; return s }

// erasedBy sets what erases an item of the source.
func (s source) erasedBy(by func(context.Context, person, *table.Tx, table.Item) error) source {
	s.erase = by
	return s
}

// shownBy sets the function that returns an item of the source as the person's copy shows it.
func (s source) shownBy(by func(table.Item) (any, error)) source { s.show = by; return s }

// since returns a read of the items of an index's partition whose range keys begin
// with a time of at most that age.
func since(index int, partition func(table.Tenant) string, age time.Duration) func(context.Context, person, string,
	int) (table.Page, error) {
	return func(ctx context.Context, p person, after string, limit int) (table.Page, error) {
		at, _ := timestamp.Parse(p.at) // written by this service
		return p.t.Query(ctx, partition(p.t), table.Query{Index: index, From: timestamp.Format(at.Add(-age)),
			After: after, Limit: limit})
	}
}

// sources lists the places with data of the person, in the order in which they are
// erased. The audit log comes after the record, because it tells under which names
// search rows may still be; the record's writes are in it too. A new source goes to the
// end: an erasure that is under way counts them, and another build may go on with it.
func sources(p person) []source {
	partition, index := p.trips()
	all := []source{
		{read: readAnswers, erase: eraseAnswer, alien: true},
		in(0, nil, func(p person, _ table.Platform) string { return api.AnswersOf(p.t, p.id) }).shownBy(showAnswer),
		{read: since(3, export.All, lately), erase: eraseExport, alien: true},
		{read: since(3, imports.All, imports.JobLife+lately), erase: eraseImport, alien: true},
		in(1, []string{"SESSION"}, func(p person, h table.Platform) string { return login.SessionsOf(h, p.id) }),
		in(1, []string{"LINK"}, func(p person, h table.Platform) string { return login.LinksOf(h, p.id) }),
		in(1, []string{"LINK"}, func(p person, h table.Platform) string {
			return login.LinksOf(h, login.Newcomer(p.t.ID(), p.email))
		}).of(authz.Rider),
		in(1, nil, func(p person, _ table.Platform) string { return authz.ConsentsOf(p.t, p.id) }),
		one(func(p person) table.Key { return webhook.BookKey(p.t, p.id) }).shownBy(showSubscriptions),
		in(index, nil, func(person, table.Platform) string { return partition }).erasedBy(eraseTrip).shownBy(showTrip),
		in(4, nil, func(p person, _ table.Platform) string {
			partition, _ := delivery.OrdersOf(p.t, p.id)
			return partition
		}).of(authz.Rider).erasedBy(eraseOrder),
		in(0, nil, func(p person, _ table.Platform) string { return address.Partition(p.t, p.id) }).of(authz.Rider),
		in(0, nil, func(p person, _ table.Platform) string { return estimate.Partition(p.t, p.id) }).of(authz.Rider),
		in(0, nil, func(p person, _ table.Platform) string { return fleet.Key(p.t, p.id, "").PK }).of(authz.Driver),
		one(func(p person) table.Key { return driver.LocationKey(p.t, p.id) },
			func(p person) table.Key { return location.ListingKey(p.t, p.id) },
			func(p person) table.Key { return dispatch.OfferKey(p.t, p.id) }).of(authz.Driver),
		in(3, nil, func(p person, _ table.Platform) string {
			partition, _ := wallet.WithdrawalsOf(p.t, p.id)
			return partition
		}).of(authz.Driver).erasedBy(without("reason")),
		in(0, nil, func(p person, _ table.Platform) string { return wallet.Key(p.t, p.side(), p.id).PK }).
			erasedBy(erasePosting),
		one(func(p person) table.Key { return authz.ActorKey(p.t, p.audience, p.id) }).erasedBy(eraseRecord),
		{read: readAudit, erase: eraseAudit},
		in(0, nil, func(p person, _ table.Platform) string { return payment.Key(p.t, p.id, "").PK }).of(authz.Rider),
		in(1, nil, func(p person, _ table.Platform) string { return privacy.ExportsOf(p.t, p.id) }).erasedBy(eraseCopy),
		{read: readFormerTrips, erase: eraseFormerTrip, alien: true, only: authz.Driver},
		{read: readOlderSessions, platform: []string{"SESSION"}, alien: true},
	}
	var out []source
	for _, s := range all {
		if s.only == "" || s.only == p.audience {
			out = append(out, s)
		}
	}
	return out
}

func (p person) side() wallet.Side {
	if p.rider() {
		return wallet.Customer
	}
	return wallet.Driver
}

type document = map[string]json.RawMessage

// put writes an item again with another document. It keeps everything else, and
// fails with table.ErrConflict if the item has changed since it was read.
func put(tx *table.Tx, it table.Item, doc any) {
	next := table.Item{Key: it.Key, Type: it.Type, Layout: it.Layout, Version: it.Version, G: it.G, R: it.R,
		Expires: it.Expires, Doc: doc, Preserve: it.Unknown()}
	if it.Version > 0 {
		tx.Replace(next).Else(table.ErrConflict)
		return
	}
	tx.Put(next).If("attribute_exists(pk)").Else(table.ErrConflict)
}

// without returns an erasure that removes members of the document, if it has them.
func without(names ...string) func(context.Context, person, *table.Tx, table.Item) error {
	return func(_ context.Context, _ person, tx *table.Tx, it table.Item) error {
		doc, err := table.DecodeDoc[document](it)
		if err == nil && cut(doc, names...) {
			put(tx, it, doc)
		}
		return err
	}
}

// cut removes members, and reports whether there were any.
func cut(doc document, names ...string) (changed bool) {
	for _, name := range names {
		if v, ok := doc[name]; ok && string(v) != "null" && string(v) != `""` {
			changed = true
			delete(doc, name)
		}
	}
	return changed
}

// cutIn removes members of a member that is an object.
func cutIn(doc document, name string, names ...string) (bool, error) {
	if len(doc[name]) == 0 || string(doc[name]) == "null" {
		return false, nil
	}
	var inner document
	if err := json.Unmarshal(doc[name], &inner); err != nil || !cut(inner, names...) {
		return false, err
	}
	var err error
	doc[name], err = json.Marshal(inner)
	return true, err
}

// showSubscriptions leaves out the secrets.
func showSubscriptions(it table.Item) (any, error) {
	book, err := webhook.Kind.FromItem(it)
	out := make([]webhook.Endpoint, len(book.Endpoints))
	for i, r := range book.Endpoints {
		out[i] = r.Endpoint
	}
	return out, err
}

func showAnswer(it table.Item) (any, error) { return json.RawMessage(it.Text("body")), nil }

func showTrip(it table.Item) (any, error) {
	t, err := trip.FromItem(it)
	return struct {
		trip.Trip
		Log []trip.LogEntry `json:"log"`
	}{t, t.Log()}, err
}

// erasePosting removes what an operator wrote about a posting of the person. Amounts
// and what settlement wrote stay.
func erasePosting(_ context.Context, p person, tx *table.Tx, it table.Item) error {
	if it.Type == "wallet" {
		if it.Text("name") != "" {
			tx.Update(it.Key, table.Change{Set: map[string]any{"name": ""}, Add: map[string]any{"version": 1}}).
				If("attribute_exists(pk)").Else(table.ErrConflict)
		}
		return nil
	}
	doc, err := table.DecodeDoc[document](it)
	if err == nil && len(doc["by"]) > 0 && string(doc["by"]) != "null" && string(doc["description"]) != `""` {
		doc["description"] = json.RawMessage(`""`)
		put(tx, it, doc)
	}
	return err
}
