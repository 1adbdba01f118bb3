package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/internal/test/replay"
)

// used is the resources that a process has used: processor time, the number of heap
// allocations and their bytes.
type used struct {
	CPU            time.Duration
	Mallocs, Bytes uint64
}

// child is a process that runs one built Lambda function. A recorder takes the place of
// its table.
type child struct {
	*replay.Process
	table  *recorder
	event  json.RawMessage
	probes chan used

	mu   sync.Mutex
	tail string // the end of the output, without the lines of the probe
}

// read reads the process's output until it ends. A line that the probe in the process
// prints becomes a measurement. The other lines go to tail.
func (c *child) read(output io.Reader) {
	for lines := bufio.NewScanner(output); lines.Scan(); {
		var u used
		var micros int64
		if n, _ := fmt.Sscanf(lines.Text(), "probe %d %d %d", &micros, &u.Mallocs, &u.Bytes); n == 3 {
			u.CPU = time.Duration(micros) * time.Microsecond
			c.probes <- u
			continue
		}
		c.mu.Lock()
		c.tail = c.tail[max(0, len(c.tail)-2000):] + lines.Text() + "\n"
		c.mu.Unlock()
	}
}

// startChild starts the program of the function (its name in template.yaml) from the
// build b.
func startChild(w *world, b build, function string) (*child, error) {
	table, err := newRecorder(w.engine.URL)
	if err != nil {
		return nil, err
	}
	c := &child{table: table, probes: make(chan used, 1)}
	output, input := io.Pipe()
	go c.read(output)
	name := strings.ToLower(strings.TrimSuffix(function, "Function"))
	if c.Process, err = replay.Start(function, filepath.Join(b.dir, name), []string{"TABLE_NAME=" + w.service.Table,
		"AWS_ENDPOINT_URL_DYNAMODB=" + table.server.URL, "BASE_URL=" + w.service.BaseURL,
		"SEALING_KEY_FILE=" + filepath.Join(w.service.Data, "sealing.key")}, input); err != nil {
		table.server.Close()
		return nil, err
	}
	return c, nil
}

// close stops the process and its recorder.
func (c *child) close() {
	c.Stop()
	c.table.server.Close()
}

// prepare sends the process three events of the endpoint. The first two only warm it up.
// The recorder keeps the table's responses to the third event, and replays them from then
// on.
func (c *child) prepare(ctx context.Context, w *world, e endpoint) (err error) {
	for i := range 3 {
		if i == 2 {
			c.table.Record()
		}
		if _, c.event, err = e.next(ctx, w); err != nil {
			return err
		}
		if err := c.once(ctx); err != nil {
			return err
		}
	}
	c.table.Replay()
	return nil
}

// once sends c.event to the process and waits for the response. A status other than 2xx
// is an error.
func (c *child) once(ctx context.Context) error {
	if err := c.table.Rewind(); err != nil {
		return err
	}
	out, err := c.Invoke(ctx, c.event)
	if err == nil {
		_, err = bodyOf(out)
	}
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		return errors.Join(err, c.table.Rewind(), errors.New(c.tail))
	}
	return nil
}

// measure sends c.event n times and returns the average that one event used.
func (c *child) measure(ctx context.Context, n int) (used, error) {
	before, err := c.probe()
	if err != nil {
		return used{}, err
	}
	for range n {
		if err := c.once(ctx); err != nil {
			return used{}, err
		}
	}
	after, err := c.probe()
	return used{(after.CPU - before.CPU) / time.Duration(n), (after.Mallocs - before.Mallocs) / uint64(n),
		(after.Bytes - before.Bytes) / uint64(n)}, err
}

// probe asks the process what it has used since its start.
func (c *child) probe() (used, error) {
	if err := c.Ask(); err != nil {
		return used{}, err
	}
	select {
	case u := <-c.probes:
		return u, nil
	case <-time.After(replay.Timeout):
		return used{}, errors.New("the probe does not respond")
	}
}

// series contains the measurements of one endpoint for each build, in the order of
// the rounds.
type series struct {
	endpoint
	all [][]used
}

// errOlder is the error for an endpoint that the older build (-base) does not have.
var errOlder = errors.New("left out, because the older build does not have it")

// series measures the endpoint in each of the builds. The builds take turns in every
// round, so that other work on the machine affects them alike.
func (w *world) series(ctx context.Context, builds []build, e endpoint, o options) (series, error) {
	out, children := series{e, make([][]used, len(builds))}, make([]*child, len(builds))
	if err := w.signIn(ctx); err != nil {
		return out, err
	}
	for i, b := range builds {
		c, err := w.prepared(ctx, b, e, o)
		if refused := new(statusError); i > 0 && errors.As(err, &refused) && refused.older() {
			return out, fmt.Errorf("%w: status %d %.80s", errOlder, refused.status, refused.body)
		}
		if i > 0 && errors.Is(err, fs.ErrNotExist) {
			return out, fmt.Errorf("%w: no such function", errOlder)
		}
		if err != nil {
			return out, fmt.Errorf("%s: %w", b.title(), err)
		}
		defer c.close()
		children[i] = c
	}
	for range o.rounds {
		for i, b := range builds {
			u, err := children[i].measure(ctx, o.reads)
			if err != nil {
				return out, fmt.Errorf("%s: %w", b.title(), err)
			}
			out.all[i] = append(out.all[i], u)
		}
	}
	return out, nil
}

// prepared starts the build's function for the endpoint and warms it up. It also sends
// one round of events that is not measured, because the heap still grows during the first
// round.
func (w *world) prepared(ctx context.Context, b build, e endpoint, o options) (*child, error) {
	function, _, err := e.next(ctx, w)
	if err != nil {
		return nil, err
	}
	c, err := startChild(w, b, function)
	if err != nil {
		return nil, err
	}
	if err = c.prepare(ctx, w, e); err == nil {
		_, err = c.measure(ctx, o.reads)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// runCPU measures processor time and allocations, prints them and writes usedFile. With
// o.check it compares the allocations with usedFile instead.
func runCPU(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "svc-cpu-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var builds []build
	for _, revision := range slices.Compact([]string{"", o.base}) {
		b, err := buildFunctions(ctx, revision, filepath.Join(dir, fmt.Sprint(len(builds))))
		if err != nil {
			return err
		}
		builds = append(builds, b)
	}
	fmt.Printf("%s\nThe medians of %d rounds of %d events. For each build: milliseconds, allocations, bytes", described(),
		o.rounds, o.reads)
	if o.base != "" {
		fmt.Printf("; then the time divided by that of %s, and the quartiles", o.base)
	}
	fmt.Println(".")
	w, err := newWorld(ctx, setup{trips: 1000, now: time.Now})
	if err != nil {
		return err
	}
	defer w.close()
	measured, err := w.measureAll(ctx, builds, o)
	switch {
	case err != nil || o.only != "":
		return err
	case o.check:
		before, err := usedBefore()
		return errors.Join(err, check(measured, before))
	}
	return keep(measured)
}

// measureAll measures the chosen endpoints, and prints each.
func (w *world) measureAll(ctx context.Context, builds []build, o options) (measured []series, err error) {
	all, _ := endpoints()
	compared := false
	for _, e := range o.chosen(all) {
		s, err := w.series(ctx, builds, e, o)
		if errors.Is(err, errOlder) {
			fmt.Printf("%-60s%v\n", e.title(), err)
			if s, err = w.series(ctx, builds[:1], e, o); err == nil {
				measured = append(measured, s) // usedFile needs the current build only
				continue
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name, err)
		}
		fmt.Println(s.line())
		compared, measured = true, append(measured, s)
	}
	if !compared {
		return nil, errors.New("no endpoint was measured: expected -only to be in a name, and the older build to have it")
	}
	return measured, nil
}
