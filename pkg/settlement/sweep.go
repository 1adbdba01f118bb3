package settlement

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"svc/pkg/table"
	"svc/pkg/trip"
)

// Swept is what a sweep did.
type Swept struct {
	Examined int      `json:"examined"` // completed trips
	Settled  []string `json:"settled"`  // ids of those that had no receipt
}

const sweepPage = 90

// Sweep settles the tenant's completed trips that have no receipt: what the
// stream or a dead-letter queue lost. It reads by-g2 T#t#STATUS#COMPLETED#shard
// from the oldest, a page and its receipts at a time, and may run while trips
// are completed. A trip that fails does not stop the others.
func Sweep(ctx context.Context, t table.Tenant, readShards int, now func() time.Time) (Swept, error) {
	out := Swept{Settled: []string{}}
	var errs []error
	for shard := range max(1, readShards) {
		after := ""
		for {
			page, err := t.Query(ctx, t.Partition("STATUS", string(trip.Completed), strconv.Itoa(shard)),
				table.Query{Index: 2, After: after, Limit: sweepPage})
			if err != nil {
				return out, fmt.Errorf("sweep: %w", err)
			}
			if err := sweep(ctx, t, page.Items, now, &out); err != nil {
				errs = append(errs, err)
			}
			if after = page.Last; !page.More {
				break
			}
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
		}
	}
	return out, errors.Join(errs...)
}

func sweep(ctx context.Context, t table.Tenant, items []table.Item, now func() time.Time, out *Swept) error {
	trips, keys := make([]trip.Trip, 0, len(items)), make([]table.Key, 0, len(items))
	var errs []error
	for _, it := range items {
		tr, err := trip.FromItem(it)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		trips, keys = append(trips, tr), append(keys, ReceiptKey(t, tr.ID))
	}
	receipts, err := t.Batch(ctx, keys...)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for i, tr := range trips {
		out.Examined++
		if receipts[i].Found() {
			continue
		}
		done, err := Settle(ctx, t, tr, now())
		if errs = append(errs, err); done {
			out.Settled = append(out.Settled, tr.ID)
		}
	}
	return errors.Join(errs...)
}
