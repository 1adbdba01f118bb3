package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"svc/pkg/local/devpages"
)

// sample is the resource usage of svc dev and its engine at one moment.
type sample struct {
	at         time.Duration // since the load began
	rides      int
	requests   int
	p50, p99   time.Duration // latency of the requests since the last printed sample; set in a printed sample only
	goroutines float64
	heap       float64       // bytes of live heap of svc dev
	resident   float64       // resident bytes of svc dev
	files      float64       // open files of svc dev
	engine     float64       // resident bytes of the engine
	open       float64       // open files of the engine
	stored     float64       // bytes of the engine's data
	lag        time.Duration // how far the slowest stream function is behind
}

// printed is the number of samples after which a line is printed. The line shows the last
// sample.
const printed = 12

// watch takes samples of svc dev and its engine.
type watch struct {
	*soaked
	load   *traffic
	every  time.Duration
	engine string // name of the engine
	all    []sample
}

// run takes samples until ctx ends.
func (w *watch) run(ctx context.Context) error {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		s, err := w.sample(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		s.at = time.Since(began)
		w.all = append(w.all, s)
		if len(w.all)%printed == 0 {
			fmt.Printf("%s: %d rides, %d requests, p50 %.0f ms, p99 %.0f ms, %.1f MB heap, %.0f MB resident, %.0f goroutines, "+
				"%.0f files, engine %.0f MB and %.0f files, %.1f MB stored, lag %s\n", s.at.Round(time.Second), s.rides, s.requests,
				ms(s.p50), ms(s.p99), s.heap/mb, s.resident/mb, s.goroutines, s.files, s.engine/mb, s.open, s.stored/mb, s.lag)
		}
	}
}

// sample reads the current resource usage of svc dev and its engine.
func (w *watch) sample(ctx context.Context) (s sample, err error) {
	var held devpages.Held
	var failed [5]error
	failed[0] = w.page(ctx, devpages.Process, &held)
	s.goroutines, s.heap = float64(held.Goroutines), float64(held.Heap)
	s.lag, failed[1] = w.lag(ctx)
	s.resident, s.files, failed[2] = footprint(w.cmd.Process.Pid)
	s.stored, failed[3] = stored(w.data)
	child, err := w.engineOf()
	if err == nil {
		s.engine, s.open, err = footprint(child)
	}
	failed[4] = err
	l := w.load
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.rides {
		s.rides += n
	}
	s.requests = l.requests
	if len(w.all)%printed == printed-1 && len(l.took) > 0 {
		s.p50, s.p99, l.took = rank(l.took, 0.5), rank(l.took, 0.99), nil
	}
	return s, errors.Join(failed[:]...)
}

// footprint returns the resident bytes and the open files of a process.
func footprint(pid int) (resident, files float64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	if _, err := fmt.Sscanf(rest, "%f kB", &resident); err != nil {
		return 0, 0, fmt.Errorf("VmRSS of %d: %w", pid, err)
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return resident * 1024, float64(len(open)), err
}

// engineOf returns the process id of the engine that svc dev started, and sets w.engine.
func (w *watch) engineOf() (pid int, err error) {
	files, _ := filepath.Glob("/proc/[0-9]*/comm") // Glob fails only for a malformed pattern
	for _, file := range files {
		program, _ := os.ReadFile(file) //nolint:gosec // of /proc; the process may have ended
		if name := engines[strings.TrimSpace(string(program))]; name != "" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if parent(pid) == w.cmd.Process.Pid {
				w.engine = name
				return pid, nil
			}
		}
	}
	return 0, fmt.Errorf("no engine runs on %s", w.data)
}

// parent returns the process id of the parent of a process, 0 if the process has ended.
func parent(pid int) (ppid int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "PPid:")
	_, _ = fmt.Sscan(rest, &ppid)
	return ppid
}

// engines maps the name of an engine's program to the name of the engine.
var engines = map[string]string{"dynoxide": "dynoxide", "java": "DynamoDB Local"}

// stored returns the bytes of the engine's files in the data folder, without the log of
// requests.
func stored(data string) (bytes float64, err error) {
	err = filepath.WalkDir(data, func(_ string, file fs.DirEntry, err error) error {
		if err == nil && !file.IsDir() && !strings.HasPrefix(file.Name(), "requests.log") {
			var info fs.FileInfo
			if info, err = file.Info(); err == nil {
				bytes += float64(info.Size())
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // the file was removed meanwhile
			return nil
		}
		return err
	})
	return bytes, err
}

// mb is the number of bytes in a megabyte.
const mb = 1 << 20

// pooled is the number of idle HTTP connections that may stay open: 128 of svc dev to its
// engine (table.Open), and 64 of the load to svc dev. A slow machine opens more of them,
// so their growth is no leak. Each connection has one file and two goroutines. A run of a
// minute finds a leak on every request. A run of ten minutes finds a leak on every ride.
const pooled = 128 + 64

// leastSamples is the least number of samples that judge needs.
const leastSamples = 8

// judge returns an error for each value that grew too much from the second quarter of the
// samples to the last quarter. The factors are generous, because other work on the
// machine disturbs the values. But a value that grows steadily from zero is 2.3 times as
// large in the last quarter, so every factor must be far below 2.3.
func (w *watch) judge() error {
	n := len(w.all)
	if n < leastSamples {
		return fmt.Errorf("%d samples are too few, expected at least %d; give more -minutes", n, leastSamples)
	}
	early, late := w.all[n/4:n/2], w.all[n-n/4:]
	var faults []error
	flat := func(what string, factor, slack float64, of func(sample) float64) {
		was, now := medianOf(early, of), medianOf(late, of)
		if now > was*factor+slack {
			faults = append(faults, fmt.Errorf("%s grow: %.0f in the second quarter, %.0f in the last", what, was, now))
		}
	}
	flat("goroutines", 1.25, 2*pooled, func(s sample) float64 { return s.goroutines })
	flat("bytes of live heap", 1.25, 16*mb, func(s sample) float64 { return s.heap })
	flat("resident bytes", 1.5, 64*mb, func(s sample) float64 { return s.resident })
	flat("open files", 1.25, pooled, func(s sample) float64 { return s.files })
	flat("resident bytes of the engine", 1.5, 256*mb, func(s sample) float64 { return s.engine })
	flat("open files of the engine", 1.25, 32, func(s sample) float64 { return s.open })
	flat("seconds of lag", 1.5, 30, func(s sample) float64 { return s.lag.Seconds() })
	// The data grows with the rides, because they are kept. It must not grow with
	// anything else, so the bytes for a ride must stay the same.
	was, now := perRide(early), perRide(late)
	if rides := float64(late[len(late)-1].rides - late[0].rides); (now-2*was)*rides > 64*mb {
		faults = append(faults, fmt.Errorf("bytes stored for a ride grow: %.0f in the second quarter, %.0f in the last",
			was, now))
	}
	return errors.Join(faults...)
}

// perRide returns by how many bytes the stored data grew for each ride between the first
// and the last sample.
func perRide(all []sample) float64 {
	first, last := all[0], all[len(all)-1]
	return (last.stored - first.stored) / float64(max(1, last.rides-first.rides))
}
