package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"svc/pkg/app/replay"
)

// used is what a function's process has used: processor time, heap allocations,
// their bytes, runs of the garbage collector, and memory.
type used struct {
	cpu            time.Duration
	mallocs, bytes uint64
	collections    uint64
	memory         uint64 // the largest number of bytes that the process has used so far
}

// each returns what one event used between two probes, before and u. The
// collections are those of all events, and memory is that of u.
func (u used) each(before used, events int) used {
	n := uint64(events)
	return used{(u.cpu - before.cpu) / time.Duration(events), (u.mallocs - before.mallocs) / n,
		(u.bytes - before.bytes) / n, u.collections - before.collections, u.memory}
}

// child is one built function as a process, with a recorder as its table.
type child struct {
	*replay.Process
	start func() (*replay.Process, error) // starts another process like this one
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
		if n, _ := fmt.Sscanf(string(line), "probe %d %d %d %d %d", &micros, &u.mallocs, &u.bytes, &u.collections,
			&u.memory); n == 5 {
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
	table := newRecorder(w.engine.URL, w.secure)
	c := &child{table: table, out: &output{probes: make(chan used, 1)}}
	environment := append([]string{"TABLE_NAME=" + w.service.Table,
		"AWS_ENDPOINT_URL_DYNAMODB=" + table.server.URL, "BASE_URL=" + w.service.BaseURL,
		"SEALING_KEY_FILE=" + filepath.Join(w.service.Data, "sealing.key")}, b.environment...)
	if w.secure {
		trusted := filepath.Join(w.data, "trusted.pem")
		if err := table.trust(trusted); err != nil {
			return nil, err
		}
		environment = append(environment, "SSL_CERT_FILE="+trusted)
	}
	c.start = func() (*replay.Process, error) {
		name := strings.ToLower(strings.TrimSuffix(function, "Function"))
		return replay.Start(function, filepath.Join(b.dir, name), environment, c.out)
	}
	var err error
	if c.Process, err = c.start(); err != nil {
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

// failure returns an error if the response is an error or reports a failed
// stream record.
func failure(out json.RawMessage) error {
	var answer struct {
		StatusCode        int
		Body              string
		BatchItemFailures []any
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return err
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

// cpu measures the endpoints in all builds. The builds take turns in every
// round, so that other work on the machine affects them alike.
func cpu(ctx context.Context, w *world, builds []build, all []endpoint, o options,
	progress io.Writer) ([]series, error) {
	var out []series
	for _, e := range all {
		if !strings.Contains(e.name, o.only) {
			continue
		}
		s, err := w.series(ctx, builds, e, o)
		if err != nil {
			return out, fmt.Errorf("%s: %w", e.name, err)
		}
		fmt.Fprintln(progress, s.line())
		out = append(out, s)
	}
	return out, nil
}

func (w *world) series(ctx context.Context, builds []build, e endpoint, o options) (series, error) {
	var subjects []subject
	for _, b := range builds {
		subjects = append(subjects, subject{b, e})
	}
	all, err := w.turns(ctx, subjects, o)
	return series{endpoint: e, all: all}, err
}

// subject is an endpoint in a build.
type subject struct {
	build
	endpoint
}

// turns measures the subjects alternately in every round. It returns the rounds
// of each subject.
func (w *world) turns(ctx context.Context, subjects []subject, o options) ([][]used, error) {
	all, children := make([][]used, len(subjects)), make([]*child, len(subjects))
	for i, s := range subjects {
		function, _, err := s.event(ctx, w)
		if err != nil {
			return nil, err
		}
		if children[i], err = startChild(w, s.build, function); err != nil {
			return nil, err
		}
		defer children[i].close()
		if err := children[i].prepare(ctx, s.next(w)); err != nil {
			return nil, fmt.Errorf("%s: %w", s.build.title(), err)
		}
		if _, err := children[i].measure(ctx, o.reads); err != nil { // does not count: the heap still grows
			return nil, fmt.Errorf("%s: %w", s.build.title(), err)
		}
	}
	for range o.rounds {
		for i, c := range children {
			u, err := c.measure(ctx, o.reads)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", subjects[i].build.title(), err)
			}
			all[i] = append(all[i], u)
		}
	}
	return all, nil
}

// runCPU measures processor time, allocations and tool calls, and writes them into
// the document. With o.check it only compares the allocations; with o.agents it
// measures only the tool calls.
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
		at := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(at, 0o700); err != nil {
			return err
		}
		b, err := buildFunctions(ctx, revision, at)
		if err != nil {
			return err
		}
		builds = append(builds, b)
	}
	builds[0].environment = o.environment
	machine := describe()
	w, err := newWorld(ctx, 1000, false)
	if err != nil {
		return err
	}
	defer w.close()
	if !o.agents {
		measured, err := cpu(ctx, w, builds, append(all, grants...), o, os.Stderr)
		switch {
		case err != nil || o.only != "":
			return err
		case o.check:
			return check(measured)
		}
		if err := cpuDocument(o, machine, builds, measured); err != nil {
			return err
		}
	}
	return runAgents(ctx, w, builds[0], machine, o)
}
