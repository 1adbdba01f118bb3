package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"svc/pkg/app/replay"
)

// used is what a function's process has used: processor time, heap allocations
// and their bytes.
type used struct {
	cpu            time.Duration
	mallocs, bytes uint64
}

// each returns what one event used between two probes, before and u.
func (u used) each(before used, events int) used {
	n := uint64(events)
	return used{(u.cpu - before.cpu) / time.Duration(events), (u.mallocs - before.mallocs) / n,
		(u.bytes - before.bytes) / n}
}

// child is one built function as a process, with a recorder as its table.
type child struct {
	*replay.Process
	table *recorder
	out   *output
	event json.RawMessage
}

// output receives a process's output. It decodes the probe's lines, and keeps the
// last of the other lines for errors.
type output struct {
	mu     sync.Mutex
	rest   []byte
	tail   []byte
	probes chan used
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rest = append(o.rest, p...)
	for {
		line, rest, found := bytes.Cut(o.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		var u used
		var micros int64
		if n, _ := fmt.Sscanf(string(line), "probe %d %d %d", &micros, &u.mallocs, &u.bytes); n == 3 {
			u.cpu = time.Duration(micros) * time.Microsecond
			o.probes <- u
		} else {
			o.tail = append(o.tail[max(0, len(o.tail)-2000):], append(line, '\n')...)
		}
		o.rest = rest
	}
}

// startChild starts the function's program from the build.
func startChild(w *world, b build, function string) (*child, error) {
	table := newRecorder(w.engine.URL)
	c := &child{table: table, out: &output{probes: make(chan used, 1)}}
	environment := append([]string{"TABLE_NAME=" + w.service.Table,
		"AWS_ENDPOINT_URL_DYNAMODB=" + table.server.URL, "BASE_URL=" + w.service.BaseURL,
		"SEALING_KEY_FILE=" + filepath.Join(w.service.Data, "sealing.key")}, b.environment...)
	name := strings.ToLower(strings.TrimSuffix(function, "Function"))
	var err error
	if c.Process, err = replay.Start(function, filepath.Join(b.dir, name), environment, c.out); err != nil {
		table.close()
		return nil, err
	}
	return c, nil
}

func (c *child) close() {
	c.Stop()
	c.table.close()
}

// prepare warms the process up with two live events. It records the table's
// responses to a third event. From then on the recorder replays them.
func (c *child) prepare(ctx context.Context, next func(context.Context) (json.RawMessage, error)) error {
	for range 2 {
		if err := c.live(ctx, next); err != nil {
			return err
		}
	}
	c.table.record()
	if err := c.live(ctx, next); err != nil {
		return err
	}
	c.table.replay()
	return nil
}

func (c *child) live(ctx context.Context, next func(context.Context) (json.RawMessage, error)) (err error) {
	if c.event, err = next(ctx); err != nil {
		return err
	}
	return c.once(ctx)
}

// once sends the event.
func (c *child) once(ctx context.Context) error {
	if err := c.table.event(); err != nil {
		return err
	}
	out, err := c.Invoke(ctx, c.event)
	if err == nil {
		err = failure(out)
	}
	if err != nil {
		return errors.Join(err, c.table.event(), errors.New(string(c.out.tail)))
	}
	return nil
}

// errAbsent means that a build does not have the endpoint.
var errAbsent = errors.New("there is no such endpoint")

// failure returns an error if the response is an error or reports a failed
// stream record. For a 404 it is errAbsent.
func failure(out json.RawMessage) error {
	var answer struct {
		StatusCode        int
		Body              string
		BatchItemFailures []any
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return err
	}
	if answer.StatusCode == http.StatusNotFound {
		return errAbsent
	}
	if answer.StatusCode >= 400 || len(answer.BatchItemFailures) > 0 {
		return fmt.Errorf("status %d: %s; %v", answer.StatusCode, answer.Body, answer.BatchItemFailures)
	}
	return nil
}

// measure sends the event n times and returns what one event used.
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
	return after.each(before, n), err
}

func (c *child) probe() (used, error) {
	if err := c.Ask(); err != nil {
		return used{}, err
	}
	select {
	case u := <-c.out.probes:
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

// cpu measures the endpoints in all builds.
func cpu(ctx context.Context, w *world, builds []build, all []endpoint, o options) (out []series, err error) {
	for _, e := range all {
		if !strings.Contains(e.name, o.only) {
			continue
		}
		s, err := w.series(ctx, builds, e, o)
		if err != nil {
			return out, fmt.Errorf("%s: %w", e.name, err)
		}
		fmt.Fprintln(os.Stderr, s.line())
		out = append(out, s)
	}
	return out, nil
}

// series measures the endpoint. The builds take turns in every round, so that
// other work on the machine affects them alike. A build to compare with may be too
// old for the endpoint; then it has no rounds.
func (w *world) series(ctx context.Context, builds []build, e endpoint, o options) (series, error) {
	out, children := series{e, make([][]used, len(builds))}, make([]*child, len(builds))
	for i, b := range builds {
		function, _, err := e.event(ctx, w)
		if err != nil {
			return out, err
		}
		if children[i], err = startChild(w, b, function); err != nil {
			return out, err
		}
		defer children[i].close()
		err = children[i].prepare(ctx, e.next(w))
		if err == nil {
			_, err = children[i].measure(ctx, o.reads) // does not count: the heap still grows
		}
		switch {
		case i > 0 && errors.Is(err, errAbsent):
			children[i] = nil
		case err != nil:
			return out, fmt.Errorf("%s: %w", b.title(), err)
		}
	}
	for range o.rounds {
		for i, c := range children {
			if c == nil {
				continue
			}
			u, err := c.measure(ctx, o.reads)
			if err != nil {
				return out, fmt.Errorf("%s: %w", builds[i].title(), err)
			}
			out.all[i] = append(out.all[i], u)
		}
	}
	return out, nil
}

// runCPU measures processor time and allocations, and writes them into the
// document. With o.check it only compares the allocations.
func runCPU(ctx context.Context, o options) error {
	all, err := endpoints()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "svc-cpu-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var builds []build
	for i, revision := range o.revisions {
		b, err := buildFunctions(ctx, revision, filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			return err
		}
		builds = append(builds, b)
	}
	builds[0].environment = o.environment
	machine := described()
	w, err := newWorld(ctx, 1000, 0)
	if err != nil {
		return err
	}
	defer w.close()
	measured, err := cpu(ctx, w, builds, append(all, grants...), o)
	switch {
	case err != nil || o.only != "":
		return err
	case o.check:
		return check(measured)
	}
	return cpuDocument(o, machine, builds, measured)
}
