package export

import (
	"cmp"
	"context"
	"iter"
	"strings"

	"svc/pkg/base/codec"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/external"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/trip"
)

// receipts reads the newest receipt of each trip that was completed in the window.
// First it reads the completed trips that were requested in the window or a day
// before, then those whose completion came later. The indexes of trips are ordered
// by time of request.
func receipts(ctx context.Context, s Scope, after string) iter.Seq2[Row, error] {
	const soon, late = "1 ", "2 "
	from, to := bound(s.From), bound(s.To)
	return func(yield func(Row, error) bool) {
		if !strings.HasPrefix(after, late) {
			q := table.Query{Index: 2, From: from, To: to, After: strings.TrimPrefix(after, soon)}
			if from != "" {
				q.From = bound(s.From.Add(-trip.LateAge))
			}
			trips := merged(ctx, s.Tenant, s.partitions("STATUS#"+string(trip.Completed)), q)
			for row, err := range s.receiptsOf(ctx, soon, trips, func(t trip.Trip) bool {
				at := codec.OrZero(t.CompletedAt)
				return at >= from && at < to && !isLate(t)
			}) {
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
		q := table.Query{Index: 1, From: from, To: to, After: strings.TrimPrefix(strings.TrimPrefix(after, soon), late)}
		if strings.HasPrefix(after, soon) {
			q.After = ""
		}
		entries := merged(ctx, s.Tenant, []string{trip.LatePartition(s.Tenant)}, q)
		for row, err := range s.receiptsOf(ctx, late, entries, nil) {
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// ofTrip is a receipt with what programs store with its trip.
type ofTrip struct {
	receipt.Receipt
	external.Members
}

// isLate reports whether the trip's completion is in trip.LatePartition.
func isLate(t trip.Trip) bool {
	requested, err := timestamp.Parse(t.RequestedAt)
	completed, err2 := timestamp.Parse(codec.OrZero(t.CompletedAt))
	return cmp.Or(err, err2) == nil && completed.Sub(requested) > trip.LateAge
}

// receiptsOf reads the receipts of items of trips that keep accepts; without keep,
// of every item. A row's position is the phase and the item's position.
func (s Scope) receiptsOf(ctx context.Context, phase string, items iter.Seq2[table.Item, error],
	keep func(trip.Trip) bool) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for chunk, err := range chunked(items, 100) {
			keys := make([]table.Key, len(chunk))
			for i, it := range chunk {
				keys[i] = table.Key{PK: it.PK, SK: receipt.Key(s.Tenant, "").SK}
			}
			var found []table.Item
			if err == nil {
				found, err = s.Tenant.BatchEventual(ctx, keys...)
			}
			if err != nil {
				yield(Row{}, err)
				return
			}
			trips := chunk
			if err == nil && keep == nil {
				for i, it := range chunk {
					keys[i] = table.Key{PK: it.PK, SK: trip.Key(s.Tenant, "").SK}
				}
				trips, err = s.Tenant.BatchEventual(ctx, keys...)
			}
			for i, it := range found {
				row := Row{Position: phase + chunk[i].R}
				ok := it.Found() && err == nil
				var t trip.Trip
				if ok && trips[i].Found() {
					t, err = trip.FromItem(trips[i])
					ok = err == nil && (keep == nil || keep(t))
				}
				if ok {
					var r receipt.Receipt
					r, err = receipt.FromItem(it)
					row.Value = ofTrip{r, t.Members}
				}
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}
