package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/pkg/app"
)

// megabytes are the sizes of functions that are measured.
var megabytes = []int{128, 256, 512, 1024}

const (
	starts = 11                    // of each function and size
	fewest = 10                    // events of a round
	trials = 20                    // events of each task, to find a function's slowest task
	latest = 50 * time.Millisecond // the longest p99 of warm events, with a table that responds at once
	// With 128 MB a cold start takes half a second, and a million events cost a
	// cent less.
	smallest = 256
	largest  = 1024
)

// least lists minimum sizes of functions, for reasons that this measurement does
// not show.
var least = map[string]int{
	app.Feedback:   512, // it keeps up to 108 MB of posts in memory
	app.Settlement: 512, // the number of processes is bounded, so their speed decides how fast they catch up
	app.Projection: 512,
}

// fitting is the measurement of a function at one size.
type fitting struct {
	megabytes  int
	warm, cold []time.Duration
	memory     uint64        // most bytes
	took, used time.Duration // of all warm events, and the processor time in them
}

// fitted is a function with its slowest event, measured at all sizes.
type fitted struct {
	task
	cpu   time.Duration // of an event
	sizes []fitting
}

// choice returns the smallest size at which the function is fast enough and stays
// below its own memory limit, three quarters of the size. The size is at least
// smallest and the function's entry in least. If no size fits, choice returns
// largest.
func (f fitted) choice() int {
	for _, s := range f.sizes {
		if s.megabytes >= max(smallest, least[f.function]) && rank(s.warm, 0.99) <= latest &&
			s.memory <= uint64(s.megabytes)<<20/4*3 {
			return s.megabytes
		}
	}
	return largest
}

// runMemory measures every function at several sizes.
func runMemory(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "svc-memory-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	whole, err := buildFunctions(ctx, "", dir)
	if err != nil {
		return err
	}
	s := &shares{dir: dir}
	defer s.close()
	if err := s.enter(); err != nil {
		return err
	}
	builds, err := s.builds(whole)
	if err != nil {
		return err
	}
	machine := describe()
	w, err := newShardedWorld(ctx, 300, 1)
	if err != nil {
		return err
	}
	defer w.close()
	w.secure = true
	slowest, err := w.slowest(ctx, whole, o)
	if err != nil {
		return err
	}
	var out []fitted
	for _, f := range slowest {
		if f.sizes, err = w.fit(ctx, f, builds, o); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		fmt.Fprintln(os.Stderr, f.line())
		out = append(out, f)
	}
	if o.only != "" {
		return nil
	}
	return memoryDocument(o, machine, out)
}

// builds returns one build for each size: scripts that start the programs of whole
// with the processor share and the variables of that size.
func (s *shares) builds(whole build) ([]build, error) {
	var out []build
	for _, size := range megabytes {
		dir, err := s.add(whole, size)
		if err != nil {
			return nil, err
		}
		out = append(out, build{dir: dir,
			environment: []string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + strconv.Itoa(size)}})
	}
	return out, nil
}

// slowest returns, for each function, the task whose events take the most processor
// time.
func (w *world) slowest(ctx context.Context, whole build, o options) ([]fitted, error) {
	all, err := w.tasks(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]fitted{}
	for _, t := range all {
		if !strings.Contains(t.function+" "+t.name, o.only) {
			continue
		}
		used, err := w.try(ctx, whole, t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		fmt.Fprintf(os.Stderr, "%-18s %-80s %s ms\n", t.function, t.name, ms(used.cpu))
		if f, known := found[t.function]; !known || used.cpu > f.cpu {
			found[t.function] = fitted{task: t, cpu: used.cpu}
		}
	}
	var out []fitted
	for _, f := range found {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b fitted) int { return cmp.Compare(a.function, b.function) })
	return out, nil
}

// try returns what one of the task's events uses on a whole processor.
func (w *world) try(ctx context.Context, whole build, t task) (used, error) {
	c, err := startChild(w, whole, t.function)
	if err != nil {
		return used{}, err
	}
	defer c.close()
	if err := c.prepare(ctx, t.next); err != nil {
		return used{}, err
	}
	if _, err := c.measure(ctx, trials); err != nil {
		return used{}, err
	}
	return c.measure(ctx, trials)
}

// fit measures the task at every size. The sizes take turns, so that other work
// on the machine affects all alike.
func (w *world) fit(ctx context.Context, t fitted, builds []build, o options) ([]fitting, error) {
	out, children := make([]fitting, len(builds)), make([]*child, len(builds))
	for i, b := range builds {
		out[i].megabytes = megabytes[i]
		c, err := startChild(w, b, t.function)
		if err != nil {
			return nil, err
		}
		defer c.close()
		if err := c.prepare(ctx, t.next); err != nil {
			return nil, err
		}
		if _, err := c.measure(ctx, fewest); err != nil {
			return nil, err
		}
		children[i] = c
	}
	for range o.rounds {
		for i, c := range children {
			if err := out[i].warmly(ctx, c, t.events(out[i].megabytes, o.reads)); err != nil {
				return nil, err
			}
		}
	}
	for range starts {
		for i, c := range children {
			if err := out[i].coldly(ctx, c); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// events returns the number of events of a round: as many as take 1.5 seconds, but
// at least fewest, and never more than reads.
func (f fitted) events(megabytes, reads int) int {
	each := float64(f.cpu) / shareOf(megabytes)
	return min(reads, max(fewest, int(1.5*float64(time.Second)/each)))
}

func (f *fitting) warmly(ctx context.Context, c *child, events int) error {
	before, err := c.probe()
	if err != nil {
		return err
	}
	for range events {
		began := time.Now()
		if err := c.once(ctx); err != nil {
			return err
		}
		took := time.Since(began)
		f.warm, f.took = append(f.warm, took), f.took+took
	}
	after, err := c.probe()
	f.used += after.cpu - before.cpu
	f.memory = max(f.memory, after.memory)
	return err
}

func (f *fitting) coldly(ctx context.Context, c *child) error {
	if err := c.table.event(); err != nil {
		return err
	}
	p, err := c.start()
	if err != nil {
		return err
	}
	defer p.Stop()
	out, took, err := p.First(ctx, c.event)
	if err == nil {
		err = failure(out)
	}
	f.cold = append(f.cold, took)
	return err
}

// line formats the function as progress output.
func (f fitted) line() string {
	text := fmt.Sprintf("%-18s %s", f.function, f.name)
	for _, s := range f.sizes {
		text += fmt.Sprintf("  %d: %s/%s cold %s, %d MB, %.3f of a processor", s.megabytes, ms(rank(s.warm, 0.5)),
			ms(rank(s.warm, 0.99)), ms(rank(s.cold, 0.5)), s.memory>>20, s.share())
	}
	return text + fmt.Sprintf("  → %d", f.choice())
}

// share returns the share of a processor that the function used while it worked.
func (f fitting) share() float64 { return float64(f.used) / float64(f.took) }

// chosen is the file with the last column of the document's table: the chosen
// sizes.
const chosen = "bench/testdata/memory.json"

// memoryDocument writes the table of sizes into the document, and the chosen sizes
// into their file.
func memoryDocument(o options, machine string, all []fitted) error {
	p, err := readPrices()
	if err != nil {
		return err
	}
	if err := writeSection(o.document, memoryBegin, memoryEnd, memoryTables(p, o, machine, all)); err != nil {
		return err
	}
	out := map[string]int{}
	for _, f := range all {
		out[f.function] = f.choice()
	}
	return writeJSON(chosen, out, "  ")
}
