package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"svc/pkg/data/table"
)

// row is the result for an endpoint, with one cell per world; nil if not
// measured.
type row struct {
	endpoint
	cells []*cell
}

// cell is the cost of an endpoint in one world.
type cell struct {
	p50, p99 time.Duration
	usage    table.Usage // medians; Sequential is from chain
	allocs   uint64      // median, of the complete process: gateway adapter and table client included
}

const (
	warmUp     = 5
	allocCalls = 15
	slowCalls  = 3
	slow       = 15 * time.Millisecond
)

// measure sends the endpoint's requests to the worlds in turn, one at a time,
// so that other load on the machine affects all worlds equally.
func measure(ctx context.Context, e endpoint, worlds []*world, o options) (out row, err error) {
	out = row{endpoint: e, cells: make([]*cell, len(worlds))}
	n := o.reads
	if !e.reads() {
		n = o.writes
	}
	times, usages := make([][]time.Duration, len(worlds)), make([][]table.Usage, len(worlds))
	for i := range warmUp + n {
		for k, w := range worlds {
			if w.lists && !e.lists {
				continue
			}
			took, _, err := w.one(ctx, e, false)
			if err != nil {
				return out, fmt.Errorf("at %d trips: %w", w.trips, err)
			}
			if i >= warmUp {
				times[k], usages[k] = append(times[k], took), append(usages[k], w.seen.Usage)
			}
		}
	}
	for k, w := range worlds {
		if times[k] == nil {
			continue
		}
		var counts []uint64
		for range allocCalls {
			_, mallocs, err := w.one(ctx, e, true)
			if err != nil {
				return out, err
			}
			counts = append(counts, mallocs)
		}
		c := &cell{p50: rank(times[k], 0.5), p99: rank(times[k], 0.99), usage: median(usages[k]), allocs: rank(counts, 0.5)}
		if c.usage.Sequential, err = w.chain(ctx, e); err != nil {
			return out, err
		}
		out.cells[k] = c
	}
	return out, nil
}

// chain returns the number of table requests in the longest chain in which each
// waits for the previous one. It delays the table, so that all requests that can
// overlap do.
func (w *world) chain(ctx context.Context, e endpoint) (int, error) {
	w.delay.Store(int64(slow))
	defer w.delay.Store(0)
	longest := 0
	for range slowCalls {
		if _, _, err := w.one(ctx, e, false); err != nil {
			return 0, err
		}
		longest = max(longest, w.seen.Usage.Sequential)
	}
	return longest, nil
}

// one sends one request. It prepares the request before the clock starts.
func (w *world) one(ctx context.Context, e endpoint, count bool) (took time.Duration, mallocs uint64, err error) {
	function, raw, err := e.event(ctx, w)
	if err != nil {
		return 0, 0, err
	}
	var before, after runtime.MemStats
	if count {
		runtime.ReadMemStats(&before)
	}
	began := time.Now()
	out, err := w.functions[function](ctx, raw)
	took = time.Since(began)
	if count {
		runtime.ReadMemStats(&after)
		mallocs = after.Mallocs - before.Mallocs
	}
	if err != nil {
		return 0, 0, err
	}
	_, err = bodyOf(out)
	return took, mallocs, err
}

// rank returns the quantile x (0 to 1) of the values.
func rank[T cmp.Ordered](values []T, x float64) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(x*float64(len(sorted))), len(sorted)-1)]
}

// medianOf returns the median of one value of each element.
func medianOf[T any, V cmp.Ordered](all []T, of func(T) V) V {
	values := make([]V, len(all))
	for i, one := range all {
		values[i] = of(one)
	}
	return rank(values, 0.5)
}

func median(all []table.Usage) table.Usage {
	return table.Usage{
		Requests:   medianOf(all, func(u table.Usage) int { return u.Requests }),
		ReadUnits:  medianOf(all, func(u table.Usage) float64 { return u.ReadUnits }),
		WriteUnits: medianOf(all, func(u table.Usage) float64 { return u.WriteUnits }),
		IndexUnits: medianOf(all, func(u table.Usage) float64 { return u.IndexUnits }),
	}
}

// line formats the row as progress output.
func (r row) line() string {
	text := fmt.Sprintf("%-60s", r.name)
	for _, c := range r.cells {
		if c != nil {
			text += fmt.Sprintf("  %s/%s ms %d rt %.1f ru %.1f wu %d allocs", ms(c.p50), ms(c.p99), c.usage.Sequential,
				c.usage.ReadUnits, c.usage.WriteUnits, c.allocs)
		}
	}
	return strings.TrimSpace(text)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Microseconds())/1000) }
