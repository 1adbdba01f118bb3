package settlement

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// PostingOf returns a trip's posting in the wallet of its driver or rider. The
// posting's id is derived from the trip's id, so a wallet cannot get two
// postings for one trip.
func PostingOf(tr trip.Trip, side wallet.Side, amount decimal.Decimal, at string) wallet.Posting {
	_, id, _ := strings.Cut(tr.ID, "_")
	return wallet.Posting{ID: ids.Posting + "_" + id, Type: wallet.TripPayment, Amount: money.Number(amount),
		Description: describe(tr, side == wallet.Customer), CreatedAt: at}
}

// entry is a posting of a trip and its wallet.
type entry struct {
	side    wallet.Side
	actor   string
	code    string // of the trip
	posting wallet.Posting
}

func (e entry) key(t table.Tenant) table.Key { return wallet.PostingKey(t, e.side, e.actor, e.posting) }

// entries returns the postings of a trip that was paid at the given time.
func (e Entries) entries(tr trip.Trip, at string) (out []entry) {
	if e.Driver != nil {
		out = append(out, entry{wallet.Driver, *tr.DriverID, tr.TripCode, PostingOf(tr, wallet.Driver, *e.Driver, at)})
	}
	if e.Rider != nil {
		out = append(out, entry{wallet.Customer, tr.CustomerID, tr.TripCode,
			PostingOf(tr, wallet.Customer, *e.Rider, at)})
	}
	return out
}

// stored returns the stored item of each posting; the zero Item if there is
// none. Builds up to 2026-11 gave postings ids that are not derived from the
// trip's. stored finds such a posting by the time of the payment and the trip's
// code.
func stored(ctx context.Context, t table.Tenant, all []entry) ([]table.Item, error) {
	keys := make([]table.Key, len(all))
	for i, e := range all {
		keys[i] = e.key(t)
	}
	items, err := t.Batch(ctx, keys...)
	if err != nil {
		return nil, err
	}
	for i, it := range items {
		if it.Found() {
			continue
		}
		page, err := t.Query(ctx, keys[i].PK, table.Query{Prefix: "POSTING#" + all[i].posting.CreatedAt + "#",
			Limit: table.Examined, Consistent: true})
		if err != nil {
			return nil, err
		}
		for _, it := range page.Items {
			var p wallet.Posting
			if it.Decode(&p) == nil && strings.HasPrefix(p.Description, "Trip "+all[i].code+":") {
				items[i] = it
			}
		}
	}
	return items, nil
}

// postings checks the postings of at most 50 trips. It skips trips that are not
// completed, have no completion time or have an error in out already. It adds
// the errors that it finds to out.
func (c *Check) postings(ctx context.Context, t table.Tenant, trips []trip.Trip, out []*wrong) error {
	var all []entry
	var of []int // index of each entry's trip
	for i, tr := range trips {
		if out[i] != nil || tr.Status != trip.Completed || tr.CompletedAt == nil {
			continue
		}
		e, err := EntriesOf(tr)
		if err != nil {
			return err
		}
		for _, one := range e.entries(tr, *tr.CompletedAt) {
			all, of = append(all, one), append(of, i)
		}
	}
	items, err := stored(ctx, t, all)
	if err != nil {
		return err
	}
	faults := map[int][]misposted{}
	for i, e := range all {
		var have wallet.Posting
		if !items[i].Found() || items[i].Decode(&have) != nil || have.Amount != e.posting.Amount {
			faults[of[i]] = append(faults[of[i]], misposted{e, items[i]})
			out[of[i]] = &wrong{"posting", e.key(t).PK, string(e.posting.Amount), string(have.Amount),
				func(ctx context.Context) error { return restore(ctx, t, faults[of[i]]) }}
		}
	}
	return nil
}

// misposted is a posting that is missing or has a wrong amount.
type misposted struct {
	entry
	was table.Item
}

// restore writes the correct postings. It does not change the balances. It
// increments the versions of the wallets, so that a concurrent check does not
// write a sum of the old postings.
func restore(ctx context.Context, t table.Tenant, all []misposted) error {
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		for _, e := range all {
			w, err := t.Get(ctx, wallet.Key(t, e.side, e.actor))
			if err != nil {
				return err
			}
			if w.Found() {
				tx.Update(w.Key, table.Change{Add: map[string]any{"version": 1}}).If("'version' = ?", w.Version).
					Else(table.ErrConflict)
			}
			it := wallet.PostingItem(t, e.side, e.actor, e.posting)
			if !e.was.Found() {
				tx.Create(it)
				continue
			}
			it.Key, it.Preserve = e.was.Key, e.was.Unknown()
			tx.Put(it).If("attribute_exists(pk)")
		}
		return tx.Commit(ctx)
	})
	if err != nil && !errors.Is(err, table.ErrCondition) { // after a failed condition, another run has restored it
		return fmt.Errorf("restoring a posting: %w", err)
	}
	return nil
}
