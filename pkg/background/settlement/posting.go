package settlement

import (
	"context"
	"errors"
	"fmt"

	"svc/pkg/background/reconcile"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// postings checks the postings of at most 50 trips, and adds what is wrong to out. It
// skips a trip that does not settle, has no completion time, or has a finding in out
// already. receipts are those of the trips.
func (c *Check) postings(ctx context.Context, t table.Tenant, trips []trip.Trip, receipts []table.Item,
	out []*reconcile.Finding) error {
	var all []receipt.Posted
	var of []int // index of each posting's trip
	for i, tr := range trips {
		if out[i] != nil || !tr.Settles() || tr.CompletedAt == nil {
			continue
		}
		versions, err := versionsOf(ctx, t, receipts[i])
		if err != nil {
			return err
		}
		if !receipt.Chain(versions) { // a person must decide, because an amount that was posted is not known
			out[i] = reconcile.Wrong("receipt", receipts[i].PK, "every version", fmt.Sprintf("%d versions", len(versions)))
			continue
		}
		for _, r := range versions {
			some, err := r.Postings(tr)
			if err != nil {
				return err
			}
			for _, one := range some {
				all, of = append(all, one), append(of, i)
			}
		}
	}
	items, err := receipt.Stored(ctx, t, all)
	if err != nil {
		return err
	}
	faults := map[int][]misposted{}
	for i, p := range all {
		var have wallet.Posting
		if !items[i].Found() && p.Entry.By != nil && p.Entry.Amount == "0" {
			continue // builds up to 2026-11 posted nothing if a correction left the driver's amount as it was
		}
		if !items[i].Found() || items[i].Decode(&have) != nil || have.Amount != p.Entry.Amount {
			faults[of[i]] = append(faults[of[i]], misposted{p, items[i]})
			f := reconcile.Wrong("posting", p.Key(t).PK, string(p.Entry.Amount), string(have.Amount))
			f.Correct = func() error { return restore(ctx, t, faults[of[i]]) }
			out[of[i]] = f
		}
	}
	return nil
}

// versionsOf returns every version of a receipt, the newest last. The parameter it is the
// item of the newest version.
func versionsOf(ctx context.Context, t table.Tenant, it table.Item) (out []receipt.Receipt, err error) {
	newest, err := receipt.FromItem(it)
	if err == nil && newest.Version > 1 {
		out, err = receipt.Earlier(ctx, t, newest.TripID)
	}
	return append(out, newest), err
}

// misposted is a posting that is missing or has a wrong amount.
type misposted struct {
	receipt.Posted
	was table.Item
}

// restore writes the correct postings, and leaves the balances. It increments the
// versions of the wallets, so that a concurrent check does not write a sum of the old
// postings.
func restore(ctx context.Context, t table.Tenant, all []misposted) error {
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		for _, e := range all {
			w, err := t.Get(ctx, wallet.Key(t, e.Side, e.Actor))
			if err != nil {
				return err
			}
			if w.Found() {
				tx.Update(w.Key, table.Change{Add: map[string]any{"version": 1}}).If("'version' = ?", w.Version).
					Else(table.ErrConflict)
			}
			it := wallet.PostingItem(t, e.Side, e.Actor, e.Entry)
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
