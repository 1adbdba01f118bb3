package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"svc/pkg/app"
	"svc/pkg/app/replay"
)

const (
	concurrencyBegin, concurrencyEnd = "<!-- concurrency: begin -->", "<!-- concurrency: end -->"

	// atOnce is how many events are in progress at the same time: all in one
	// process, or one in each of atOnce processes.
	atOnce = 64
	// tableDelay is the time after which the recorder sends each response of the
	// table.
	tableDelay = 5 * time.Millisecond
	// eventsARound is how many events a layout gets in one round.
	eventsARound = 3000
)

// mixed are the endpoints of the comparison. They belong to one function.
var mixed = []string{"GET /me (rider)", "GET /me/trips?limit=20 (rider)", "GET /me/wallet (rider)",
	"POST /me/trips (rider)"}

// layout is a group of processes that share the events.
type layout struct {
	title     string
	processes []*replay.Process
	outputs   []*output
	rounds    []pace
}

// pace is the result of a round.
type pace struct {
	perSecond     float64
	p50, p99, cpu time.Duration // cpu: processor time of one event
	residentMB    float64       // of all processes of the layout
}

// runConcurrency compares one process that handles 64 events at once with 64
// processes that handle one each.
func runConcurrency(ctx context.Context, o options) error {
	machine := describe()
	dir, err := os.MkdirTemp("", "svc-concurrency-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b, err := buildFunctions(ctx, "", dir)
	if err != nil {
		return err
	}
	w, err := newWorld(ctx, 1000, false)
	if err != nil {
		return err
	}
	defer w.close()
	table, events, err := recordMixed(ctx, w, b)
	if err != nil {
		return err
	}
	defer table.close()
	layouts := []*layout{{title: "1 process, 64 at once"}, {title: "64 processes, one each"}}
	for i, l := range layouts {
		defer l.stop()
		if err := l.start(w, b, table.server.URL, []int{1, atOnce}[i]); err != nil {
			return err
		}
	}
	for n := range o.rounds + 1 {
		for _, l := range layouts {
			p, err := l.round(ctx, events)
			if err != nil {
				return fmt.Errorf("%s: %w", l.title, err)
			}
			fmt.Fprintf(os.Stderr, "%-24s %7.0f/s p50 %s p99 %s cpu %s ms, %.0f MB\n", l.title, p.perSecond, ms(p.p50),
				ms(p.p99), ms(p.cpu), p.residentMB)
			if n > 0 { // the first warms them up
				l.rounds = append(l.rounds, p)
			}
		}
	}
	return writeSection(o.document, concurrencyBegin, concurrencyEnd, concurrencySection(machine, layouts))
}

// recordMixed records the table's responses to the events of the comparison.
func recordMixed(ctx context.Context, w *world, b build) (*recorder, []json.RawMessage, error) {
	c, err := startChild(w, b, app.Me)
	if err != nil {
		return nil, nil, err
	}
	defer c.Stop()
	all, err := endpoints()
	if err != nil {
		return nil, nil, err
	}
	all = slices.DeleteFunc(all, func(e endpoint) bool {
		return !slices.Contains(mixed, fmt.Sprintf("%s (%s)", e.name, e.audience))
	})
	if len(all) != len(mixed) {
		return nil, nil, fmt.Errorf("%d of %d endpoints of the comparison were found; correct their list (mixed)", len(all),
			len(mixed))
	}
	for _, e := range all { // fills the caches
		if err := c.live(ctx, e.next(w)); err != nil {
			return nil, nil, err
		}
	}
	var events []json.RawMessage
	c.table.record()
	for _, e := range all {
		if err := c.live(ctx, e.next(w)); err != nil {
			return nil, nil, err
		}
		events = append(events, c.event)
	}
	c.table.share(tableDelay)
	return c.table, events, nil
}

func (l *layout) start(w *world, b build, table string, processes int) error {
	for range processes {
		out := &output{probes: make(chan used, 1)}
		p, err := replay.StartConcurrent(atOnce/processes, app.Me,
			filepath.Join(b.dir, strings.ToLower(strings.TrimSuffix(app.Me, "Function"))),
			[]string{"TABLE_NAME=" + w.service.Table, "AWS_ENDPOINT_URL_DYNAMODB=" + table,
				"BASE_URL=" + w.service.BaseURL}, out)
		if err != nil {
			return err
		}
		l.processes, l.outputs = append(l.processes, p), append(l.outputs, out)
	}
	return nil
}

func (l *layout) stop() {
	var wait sync.WaitGroup
	for _, p := range l.processes {
		wait.Go(p.Stop)
	}
	wait.Wait()
}

// round sends the events, 64 at once.
func (l *layout) round(ctx context.Context, events []json.RawMessage) (p pace, err error) {
	before, err := l.cpu()
	if err != nil {
		return p, err
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	took, failed := make([][]time.Duration, atOnce), make([]error, atOnce)
	began := time.Now()
	for n := range atOnce {
		wait.Go(func() {
			process := l.processes[n%len(l.processes)]
			for i := next.Add(1); i <= eventsARound; i = next.Add(1) {
				sent := time.Now()
				out, err := process.Invoke(ctx, events[int(i)%len(events)])
				if err == nil {
					_, err = bodyOf(out)
				}
				if failed[n] = err; err != nil {
					return
				}
				took[n] = append(took[n], time.Since(sent))
			}
		})
	}
	wait.Wait()
	elapsed := time.Since(began)
	if err := errors.Join(failed...); err != nil {
		return p, err
	}
	after, err := l.cpu()
	if err != nil {
		return p, err
	}
	all := slices.Concat(took...)
	p = pace{perSecond: eventsARound / elapsed.Seconds(), p50: rank(all, 0.5), p99: rank(all, 0.99),
		cpu: (after - before) / eventsARound}
	for _, process := range l.processes {
		resident, _, err := footprint(process.Pid())
		if err != nil {
			return p, err
		}
		p.residentMB += resident / mb
	}
	return p, nil
}

// cpu returns the processor time that the processes have used.
func (l *layout) cpu() (total time.Duration, err error) {
	for i, p := range l.processes {
		u, err := (&child{Process: p, out: l.outputs[i]}).probe()
		if err != nil {
			return 0, err
		}
		total += u.cpu
	}
	return total, nil
}

func concurrencySection(machine string, layouts []*layout) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Many requests in one process\n\n")
	prose(&b, "Measured by `make concurrency` on %s; %s. MeFunction ran as built for deployment, behind a simulated "+
		"runtime API of Lambda: as one process with `AWS_LAMBDA_MAX_CONCURRENCY=64`, and as 64 processes that handle "+
		"one event at a time. The two took turns, round by round. A round has %d events, which repeat four requests of "+
		"a rider: the profile, the trips, the wallet, and a request for a ride. The table's responses are recorded, and "+
		"each takes %s. The values are medians of %d rounds. *Processor* is the processor time of one event. *Memory* is "+
		"the resident size of all processes together. A machine with other work gives 64 processes a larger share of "+
		"its time than one process. So the 64 look better in requests a second and in p99 than they are.", machine,
		time.Now().UTC().Format("2 January 2006"), eventsARound, tableDelay, len(layouts[0].rounds))
	b.WriteString("| | requests a second | p50 ms | p99 ms | processor ms | memory MB |\n" +
		"| --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, l := range layouts {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", l.title,
			many(int(medianOf(l.rounds, func(p pace) float64 { return p.perSecond }))),
			ms(medianOf(l.rounds, func(p pace) time.Duration { return p.p50 })),
			ms(medianOf(l.rounds, func(p pace) time.Duration { return p.p99 })),
			ms(medianOf(l.rounds, func(p pace) time.Duration { return p.cpu })),
			many(int(medianOf(l.rounds, func(p pace) float64 { return p.residentMB }))))
	}
	b.WriteString("\n")
	return b.String()
}
