package statement

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/panics"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/wallet"
)

const (
	// mostSince is the largest number of postings since the month began. A statement reads
	// them all, because it computes the opening balance backward from the current balance.
	mostSince = 20_000
	// mostEntries is the largest number of postings in a statement's month.
	mostEntries = 2_000
	// widest is the largest distance of a time zone from UTC.
	widest = 14 * time.Hour
)

// errTooMany is the 409 for a wallet with too many postings for a statement.
var errTooMany = fault.InvalidState("The wallet has more than %d postings since the month began, or more than %d in "+
	"it. Export its postings instead (POST /api/v1/exports).", mostSince, mostEntries)

// Read computes a driver's statement. item reads the driver and the tenant, strongly
// consistent. Errors: a 400 if the month begins after now, a 404 if there is no such
// driver.
//
// Access pattern: T#t#WALLET#driver#id backward from its end to the beginning of
// the month, strongly consistent, then the receipts of the month's rides together
// with the wallet. If the wallet has changed between the two reads, Read starts
// again: the balance and the postings must be of one moment.
func Read(ctx context.Context, t table.Tenant, driver, month string, now time.Time, item audit.Reader) (*Statement,
	error) {
	roughly, err := monthOf(month, time.UTC)
	if err != nil {
		return nil, err
	}
	key := wallet.Key(t, wallet.Driver, driver)
	var out *Statement
	err = table.Retry(ctx, func(ctx context.Context) error {
		was, since, err := postings(ctx, t, key, roughly.from.Add(-widest))
		if err != nil {
			return err
		}
		name, company, err := about(ctx, t, driver, item)
		if err != nil {
			return err
		}
		at, err := company.Zone()
		if err != nil {
			return err
		}
		p, err := monthOf(month, at)
		if err != nil {
			return err
		}
		if p.from.After(now) {
			return fault.Field("path.month", "has not begun in the company's time zone, %s", at)
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
		out = &Statement{DriverID: driver, DriverName: name, Month: month, TimeZone: at.String(),
			From: timestamp.Format(p.from), To: timestamp.Format(p.to), IssuedAt: timestamp.Format(now),
			Currency: company.Currency, Entries: []StatementEntry{}}
		l := explained(p, since, receipts)
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

// about returns the driver's name and the tenant. item reads one item. Errors: a 404 if
// there is no such driver.
func about(ctx context.Context, t table.Tenant, driver string, item audit.Reader) (name string, n tenant.Tenant,
	err error) {
	actor, err := item(ctx, authz.ActorKey(t, authz.Driver, driver))
	if err == nil && !actor.Found() {
		err = fault.NotFound()
	}
	if err != nil {
		return "", n, err
	}
	it, err := item(ctx, tenant.Key(t))
	if err == nil {
		n, err = tenant.Kind.FromItem(it)
	}
	return receipt.NameOf(actor), n, err
}

// postings returns the item of the wallet with the key, and the wallet's postings since the
// time, newest first.
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

// tripsIn returns the ids of the trips that have postings in the month p, each once. since
// has these postings and older or newer ones. Errors: errTooMany.
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

// explained returns the ledger of the month p, with the share of each posting of a trip.
// receipts has the versions of the trips' receipts, by trip id. If a correction lacks its
// posting of 0 (receipt.Unposted), explained adds it.
func explained(p period, since []wallet.Entry, receipts map[string][]receipt.Receipt) ledger {
	begin, end := timestamp.Format(p.from), timestamp.Format(p.to)
	of := map[string][]wallet.Entry{}
	for _, e := range since {
		if id := tripOf(e); id != "" && e.CreatedAt >= begin && e.CreatedAt < end {
			of[id] = append(of[id], e)
		}
	}
	l := ledger{since: since, shares: map[string]receipt.Share{}, codes: map[string]string{}}
	for trip, versions := range receipts {
		l.codes[trip] = versions[0].TripCode
		unposted := receipt.Unposted(versions, of[trip], begin, end)
		l.since = append(l.since, unposted...)
		maps.Copy(l.shares, receipt.Shares(versions, append(of[trip], unposted...)))
	}
	slices.SortStableFunc(l.since, func(a, b wallet.Entry) int { // newest first
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(l.shares[b.ID].Step, l.shares[a.ID].Step),
			cmp.Compare(b.ID, a.ID))
	})
	return l
}

// receiptsOf reads all versions of the trips' receipts, by trip id. It also reads the wallet
// again, with the key purse, so that the caller can compare its version.
func receiptsOf(ctx context.Context, t table.Tenant, purse table.Key, trips []string) (map[string][]receipt.Receipt,
	table.Item, error) {
	keys := []table.Key{purse}
	for _, id := range trips {
		keys = append(keys, receipt.Key(t, id))
	}
	found, err := t.BatchAll(ctx, keys...)
	if err != nil {
		return nil, table.Item{}, err
	}
	out := map[string][]receipt.Receipt{}
	var long []receipt.Receipt // receipts with more than two versions; Known returns at most two
	for _, it := range found[1:] {
		if !it.Found() {
			continue
		}
		newest, err := receipt.FromItem(it)
		if err != nil {
			return nil, table.Item{}, err
		}
		out[newest.TripID] = newest.Known()
		if newest.Version > 2 {
			long = append(long, newest)
		}
	}
	earlier := make([][]receipt.Receipt, len(long))
	group, gctx := panics.WithContext(ctx)
	group.SetLimit(8)
	for i, newest := range long {
		group.Go(func() (err error) {
			earlier[i], err = receipt.Earlier(gctx, t, newest.TripID)
			return err
		})
	}
	err = group.Wait()
	for i, newest := range long {
		out[newest.TripID] = append(earlier[i], newest)
	}
	return out, found[0], err
}
