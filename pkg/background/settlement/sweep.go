package settlement

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/panics"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

// Swept is the result of a sweep.
type Swept struct {
	Examined int      `json:"examined"` // trips that must have a receipt
	Settled  []string `json:"settled"`  // ids of those that the sweep settled
}

// sweepPage is how many trips a sweep reads at once.
const sweepPage = 90

// sweepAge is how far the scheduled sweep looks back. It examines the trips that
// were requested in this time, and those that were completed in this time more
// than trip.LateAge after the request. sweepAge is the sum of trip.LateAge, the
// day for which the stream keeps a record, and a spare day.
const sweepAge = trip.LateAge + 48*time.Hour

// sweepMargin is how long before the deadline a sweep stops, to leave time for
// the last page and the response.
const sweepMargin = 5 * time.Second

// sweepTenants is how many tenants are swept at a time.
const sweepTenants = 8

// Sweep settles every tenant's completed trips that the stream lost within
// sweepAge. It stops sweepMargin before the deadline of ctx. In that case it logs
// a warning for each tenant whose trips it has not all examined, and leaves these
// trips to the next sweep. The error has only the failures that more time would
// not have prevented. A tenant that fails does not stop the others.
func (f Function) Sweep(ctx context.Context) error {
	tenants, err := tenant.Store{DB: f.DB}.List(ctx)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	// A random order, so that a sweep that runs out of time does not always
	// omit the same tenants.
	//nolint:gosec // the order is no secret
	rand.Shuffle(len(tenants), func(i, j int) { tenants[i], tenants[j] = tenants[j], tenants[i] })
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-sweepMargin))
		defer cancel()
	}
	errs := make([]error, len(tenants))
	group := panics.NewGroup()
	group.SetLimit(sweepTenants)
	for i, n := range tenants {
		group.Go(func() error {
			var swept Swept
			err := panics.Try(func() (err error) {
				swept, err = Sweep(ctx, f.DB.Tenant(n.ID), f.Now().Add(-sweepAge), f.Now)
				return err
			})
			if panics.Panicked(err) {
				err = fmt.Errorf("%s: %w", n.ID, err)
			}
			if len(swept.Settled) > 0 {
				slog.WarnContext(ctx, "the sweep settled trips that the stream lost", "tenant", n.ID, "examined", swept.Examined,
					"settled", len(swept.Settled))
			}
			if ctx.Err() != nil {
				slog.WarnContext(ctx, "the sweep ran out of time", "tenant", n.ID, "examined", swept.Examined)
				err = lasting(err)
			}
			errs[i] = err
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	return errors.Join(errs...)
}

// lasting returns the joined errors without those that more time might have
// prevented: a passed deadline, and a table that was unavailable.
func lasting(err error) error {
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fault.Unavailable(nil)) {
			return nil
		}
		return err
	}
	var out []error
	for _, one := range many.Unwrap() {
		out = append(out, lasting(one))
	}
	return errors.Join(out...)
}

// Sweep settles the tenant's completed trips that have no receipt, which the
// stream or a dead-letter queue lost. It examines the trips that were requested
// at or after since, and those that were completed at or after since and more
// than trip.LateAge after their request, and those that were cancelled for a fee at
// or after since. If since is the zero time, it examines all of them. It may run while
// trips end. A trip that fails does not stop the others.
//
// It reads by-g2 T#t#STATUS#COMPLETED#shard and, unless since is zero, by-g1
// T#t#STATUS#COMPLETED#LATE; if since is zero, by-g2 T#t#STATUS#CANCELLED#shard
// instead. It reads each partition from the newest trip, page by page with the
// receipts.
func Sweep(ctx context.Context, t table.Tenant, since time.Time, now func() time.Time) (Swept, error) {
	q := table.Query{Index: 2, Backward: true, Limit: sweepPage}
	out := Swept{Settled: []string{}}
	var errs []error
	if !since.IsZero() {
		q.From = timestamp.Format(since)
		late := q
		late.Index = 1
		errs = append(errs, pages(ctx, t, trip.LatePartition(t), late, func(entries []table.Item) error {
			trips, err := tripsOf(ctx, t, entries)
			return errors.Join(err, sweep(ctx, t, trips, now, &out))
		}))
	}
	err := tenant.EachShard(ctx, t, func(shard int) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		errs = append(errs, pages(ctx, t, t.Partition("STATUS", string(trip.Completed), strconv.Itoa(shard)), q,
			func(trips []table.Item) error { return sweep(ctx, t, trips, now, &out) }))
		if since.IsZero() {
			errs = append(errs, pages(ctx, t, t.Partition("STATUS", string(trip.Cancelled), strconv.Itoa(shard)), q,
				func(trips []table.Item) error { return sweep(ctx, t, trips, now, &out) }))
		}
		return nil
	})
	return out, errors.Join(append(errs, err)...)
}

// pages calls do with each page of a partition. It continues after an error of do, and
// returns all errors.
func pages(ctx context.Context, t table.Tenant, partition string, q table.Query, do func([]table.Item) error) error {
	var errs []error
	for {
		page, err := t.Query(ctx, partition, q)
		if err != nil {
			return errors.Join(append(errs, fmt.Errorf("sweep: %w", err))...)
		}
		errs = append(errs, do(page.Items))
		if q.After = page.Last; !page.More {
			return errors.Join(errs...)
		}
		if err := ctx.Err(); err != nil {
			return errors.Join(append(errs, err)...)
		}
	}
}

// tripsOf reads the trips of the entries, which are log entries in trip.LatePartition. It
// omits trips that have not ended.
func tripsOf(ctx context.Context, t table.Tenant, entries []table.Item) ([]table.Item, error) {
	keys := make([]table.Key, len(entries))
	for i, it := range entries {
		keys[i] = trip.Key(t, it.PK[strings.LastIndexByte(it.PK, '#')+1:])
	}
	trips, err := t.Batch(ctx, keys...)
	return slices.DeleteFunc(trips, func(it table.Item) bool {
		return !ended(it)
	}), err
}

// sweep settles those of the trips that have no receipt, and adds the counts to out.
func sweep(ctx context.Context, t table.Tenant, items []table.Item, now func() time.Time, out *Swept) error {
	trips, keys := make([]trip.Trip, 0, len(items)), make([]table.Key, 0, len(items))
	var errs []error
	for _, it := range items {
		tr, err := trip.FromItem(it)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !tr.Settles() {
			continue // cancelled, and nothing is owed
		}
		trips, keys = append(trips, tr), append(keys, receipt.Key(t, tr.ID))
	}
	receipts, err := t.BatchEventual(ctx, keys...)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for i, tr := range trips {
		out.Examined++
		if receipts[i].Found() {
			continue
		}
		done := false
		err := panics.Try(func() (err error) {
			done, err = receipt.Resettle(ctx, t, tr, now())
			return err
		})
		if err != nil {
			err = fmt.Errorf("%s of %s: %w", tr.ID, t.ID(), err)
		}
		if errs = append(errs, err); done {
			out.Settled = append(out.Settled, tr.ID)
		}
	}
	return errors.Join(errs...)
}
