package statement

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/pkg/base/fault"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/wallet"
)

const (
	// mostSince is the largest number of postings since the month began, because the
	// opening balance is computed backward from today's.
	mostSince = 20_000
	// mostEntries is the largest number of postings in the month.
	mostEntries = 2_000
	// widest is the largest distance of a time zone from UTC.
	widest = 14 * time.Hour
)

var errTooMany = fault.InvalidState("The wallet has more than %d postings since the month began, or more than %d in "+
	"it. Export its postings instead (POST /api/v1/exports).", mostSince, mostEntries)

// Read computes a driver's statement. zone returns the tenant's time zone; Read
// calls it after the first read has begun. now bounds the months that have begun.
//
// Access pattern: T#t#WALLET#driver#id backward from its end to the beginning of
// the month, strongly consistent, then the receipts of the month's rides together
// with the wallet. If the wallet has changed between the two reads, Read starts
// again: the balance and the postings must be of one moment.
func Read(ctx context.Context, t table.Tenant, driver, month string, now time.Time,
	zone func(context.Context) (*time.Location, error)) (*Statement, error) {
	about, err := monthOf(month, time.UTC, now.Add(widest))
	if err != nil {
		return nil, err
	}
	key := wallet.Key(t, wallet.Driver, driver)
	var out *Statement
	err = table.Retry(ctx, func(ctx context.Context) error {
		was, since, err := postings(ctx, t, key, about.from.Add(-widest))
		if err != nil {
			return err
		}
		at, err := zone(ctx)
		if err != nil {
			return err
		}
		p, err := monthOf(month, at, now)
		if err != nil {
			return err
		}
		trips, err := tripsIn(since, p)
		if err != nil {
			return err
		}
		receipts, is, err := receiptsOf(ctx, t, key, trips)
		if err != nil {
			return err
		}
		if is.Version != was.Version {
			return table.ErrConflict
		}
		out = &Statement{DriverID: driver, Month: month, TimeZone: at.String(), From: timestamp.Format(p.from),
			To: timestamp.Format(p.to), IssuedAt: timestamp.Format(now), Entries: []StatementEntry{}}
		l := ledger{since: since, receipts: receipts}
		if was.Found() {
			w, err := wallet.FromItem(was)
			if err != nil {
				return err
			}
			l.balance, out.Currency = w.Balance, w.Currency
		}
		if err := out.compute(p, l); err != nil {
			return err
		}
		slices.Reverse(out.Entries)
		return nil
	})
	return out, err
}

// postings returns the wallet and its postings since a time, newest first.
func postings(ctx context.Context, t table.Tenant, key table.Key, since time.Time) (w table.Item, all []wallet.Entry,
	err error) {
	q := table.Query{Backward: true, Consistent: true, From: wallet.PostedAt(since), Limit: table.Examined}
	for items, err := range t.Pages(ctx, key.PK, q) {
		if err != nil {
			return w, nil, err
		}
		for _, it := range items {
			switch {
			case it.Key == key:
				w = it
			case it.Type == "posting":
				e, err := table.DecodeDoc[wallet.Entry](it)
				if err != nil {
					return w, nil, err
				}
				all = append(all, e)
			}
		}
		if len(all) > mostSince {
			return w, nil, errTooMany
		}
	}
	return w, all, nil
}

// tripsIn returns the trips of the month's entries, each once.
func tripsIn(since []wallet.Entry, p period) (trips []string, err error) {
	entries, seen := 0, map[string]bool{}
	begin, end := timestamp.Format(p.from), timestamp.Format(p.to)
	for _, e := range since {
		if e.CreatedAt < begin || e.CreatedAt >= end {
			continue
		}
		if entries++; entries > mostEntries {
			return nil, errTooMany
		}
		if id := tripOf(e); id != "" && !seen[id] {
			seen[id] = true
			trips = append(trips, id)
		}
	}
	return trips, nil
}

// receiptsOf reads the versions of the trips' receipts, and the wallet, after the
// wallet's postings were read.
func receiptsOf(ctx context.Context, t table.Tenant, purse table.Key, trips []string) (map[string][]receipt.Receipt,
	table.Item, error) {
	keys := []table.Key{purse}
	for _, id := range trips {
		keys = append(keys, receipt.Key(t, id))
	}
	found := make([]table.Item, len(keys))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for from := 0; from < len(keys); from += 100 {
		some := keys[from:min(from+100, len(keys))]
		group.Go(func() error {
			items, err := t.Batch(gctx, some...)
			copy(found[from:], items)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, table.Item{}, err
	}
	out := map[string][]receipt.Receipt{}
	var mu sync.Mutex
	group, gctx = errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, it := range found[1:] {
		if !it.Found() {
			continue
		}
		newest, err := receipt.FromItem(it)
		if err != nil {
			return nil, table.Item{}, err
		}
		mu.Lock()
		out[trips[i]] = newest.Known()
		mu.Unlock()
		if newest.Version > 2 { // the newest version tells of one version before it
			group.Go(func() error {
				earlier, err := receipt.Earlier(gctx, t, trips[i])
				mu.Lock()
				out[trips[i]] = append(earlier, newest)
				mu.Unlock()
				return err
			})
		}
	}
	return out, found[0], group.Wait()
}
