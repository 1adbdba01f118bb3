// Command tally runs `go test` and says at the end what ran, how long it took and what was left out.
//
//	tally [-all [-first PACKAGES] [-but TESTS]] [-budget FILE [-update]] [flags of go test] PACKAGES
//
// It runs the ordinary tests (`go test -short`). With -all it then runs the long tests, which the first run skipped. It
// begins with the packages that -first names: the longest ones, so that none of them runs alone at the end. It leaves
// out the long tests whose names match the regular expression of -but, because another command runs them.
// With -budget it measures the processor time of each package's ordinary tests (see budget.go).
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// leftOut begins the reason of a skipped test that a run without -short contains (testkit.Long).
const leftOut = "left out by -short"

func main() {
	if len(os.Args) > 2 && os.Args[1] == measureFlag {
		os.Exit(measure(os.Args[2], os.Args[3:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
	}
	if !ok || err != nil {
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

// options are the arguments of tally.
type options struct {
	all, update bool
	budget      string         // file, "" for none
	first       []string       // packages whose long tests begin first, as folders of the module
	but         *regexp.Regexp // long tests that another command runs; nil for none
	flags       []string       // of go test, and the packages
}

// parse reads the arguments of tally. The first argument that is not a flag of tally
// begins those of go test.
func parse(args []string) (o options, err error) {
	for len(args) > 0 {
		switch args[0] {
		case "-all":
			o.all = true
		case "-update":
			o.update = true
		case "-budget":
			if len(args) < 2 {
				return o, fmt.Errorf("-budget needs a file")
			}
			o.budget, args = args[1], args[1:]
		case "-first":
			if len(args) < 2 {
				return o, errors.New("-first needs folders, separated by spaces")
			}
			o.first, args = strings.Fields(args[1]), args[1:]
		case "-but":
			if len(args) < 2 {
				return o, errors.New("-but needs a regular expression")
			}
			if o.but, err = regexp.Compile(args[1]); err != nil {
				return o, err
			}
			args = args[1:]
		default:
			if o.flags = args; o.packages() < 0 {
				return o, errors.New("expected packages, such as ./... or ./pkg/oauth")
			}
			return o, nil
		}
		args = args[1:]
	}
	return o, errors.New("expected flags of go test and packages")
}

// packages returns the index in o.flags at which the packages begin, -1 if there are
// none. A package is given as a path.
func (o options) packages() int {
	return slices.IndexFunc(o.flags, func(f string) bool { return strings.HasPrefix(f, ".") || strings.Contains(f, "/") })
}

// run runs the tests that the arguments name. It reports whether all passed and stayed within their budget.
func run(ctx context.Context, args []string, out io.Writer) (ok bool, err error) {
	o, err := parse(args)
	if err != nil {
		return false, err
	}
	began, flags := time.Now(), o.flags
	var m *meter
	if o.budget != "" {
		if m, err = newMeter(); err != nil {
			return false, err
		}
		defer m.close()
		flags = append([]string{"-exec", m.command()}, flags...)
	}
	short := &tally{out: out}
	ok = short.goTest(ctx, append([]string{"-short"}, flags...))
	within := true
	if m != nil {
		if within, err = m.check(o.budget, o.update, short, out); err != nil {
			return false, err
		}
	}
	long := &tally{out: out}
	elsewhere := short.leave(o.but)
	if packages, names := short.long(o.first...); o.all && len(packages) > 0 {
		fmt.Fprintf(out, "\nThe %d long tests:\n", len(names))
		these := []string{"-run", "^(" + strings.Join(names, "|") + ")$"}
		ok = long.goTest(ctx, slices.Concat(o.flags[:o.packages()], these, packages)) && ok
	}
	if short.summary(o.all, long, time.Since(began)); elsewhere > 0 {
		fmt.Fprintf(out, "Left to another command: %d long tests, whose names match %s\n", elsewhere, o.but)
	}
	return ok && within, nil
}

// tally counts what one run of go test did.
type tally struct {
	out             io.Writer
	passed, failed  int
	skipped         []test              // left out as long
	others          []test              // skipped for another reason
	took            map[string][]test   // by package
	said            map[string][]string // what a test or a package printed
	failedPackages  []string
	failedTestNames []string
}

// test is one test or, without a name, a package.
type test struct {
	pkg, name string
	seconds   float64
	reason    string
}

// event is a line of `go test -json` (go doc test2json).
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// goTest runs go test with the flags, prints the result of each package and all that failed tests printed.
func (s *tally) goTest(ctx context.Context, flags []string) bool {
	arguments := append([]string{"test", "-json"}, flags...)
	cmd := exec.CommandContext(ctx, "go", arguments...) //nolint:gosec // a developer's
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(s.out, err)
		return false
	}
	s.read(pipe)
	return cmd.Wait() == nil && s.failed == 0 && len(s.failedPackages) == 0
}

// read counts the events of a run until it ends.
func (s *tally) read(from io.Reader) {
	s.took, s.said = map[string][]test{}, map[string][]string{}
	for decoder := json.NewDecoder(from); ; {
		var e event
		if err := decoder.Decode(&e); err == io.EOF {
			return
		} else if err != nil {
			rest, _ := io.ReadAll(io.MultiReader(decoder.Buffered(), from)) // not JSON: what go itself says
			fmt.Fprintf(s.out, "%s\n", rest)
			s.failedPackages = append(s.failedPackages, "go test")
			return
		}
		s.count(e)
	}
}

// count counts one event.
func (s *tally) count(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "build-fail":
		s.failedPackages = append(s.failedPackages, e.ImportPath)
	case "output":
		s.said[key] = append(s.said[key], e.Output)
	case "pass", "fail", "skip":
		said := strings.Join(s.said[key], "")
		delete(s.said, key)
		if e.Test == "" {
			s.ended(e, said)
		} else {
			s.tested(e, said)
		}
	}
}

// ended notes the end of a package.
func (s *tally) ended(e event, said string) {
	if e.Action == "fail" {
		s.failedPackages = append(s.failedPackages, e.Package)
		for key, lines := range s.said { // tests that a crash or a time limit ended
			if strings.HasPrefix(key, e.Package+" ") {
				fmt.Fprint(s.out, strings.Join(lines, ""))
			}
		}
		fmt.Fprint(s.out, said)
		return
	}
	for _, line := range strings.SplitAfter(said, "\n") {
		if strings.HasPrefix(line, "ok ") {
			fmt.Fprint(s.out, line)
		}
	}
}

// tested notes the result of a test. A test inside another one counts with it.
func (s *tally) tested(e event, said string) {
	top := !strings.Contains(e.Test, "/")
	t := test{e.Package, e.Test, e.Elapsed, said}
	switch e.Action {
	case "fail":
		fmt.Fprint(s.out, said)
		s.failedTestNames = append(s.failedTestNames, e.Package+"."+e.Test)
		if top {
			s.failed++
		}
	case "pass":
		if top {
			s.passed++
			s.took[e.Package] = append(s.took[e.Package], t)
		}
	case "skip":
		if strings.Contains(said, leftOut) {
			t.name, _, _ = strings.Cut(t.name, "/")
			s.skipped = append(s.skipped, t)
		} else {
			s.others = append(s.others, t)
		}
	}
}

// leave removes the long tests whose names match but, and returns how many it removed.
func (s *tally) leave(but *regexp.Regexp) int {
	all := len(s.skipped)
	if but != nil {
		s.skipped = slices.DeleteFunc(s.skipped, func(t test) bool { return but.MatchString(t.name) })
	}
	return all - len(s.skipped)
}

// long returns the long tests that the run skipped, and their packages. The packages in
// the folders first come first.
func (s *tally) long(first ...string) (packages, names []string) {
	for _, t := range s.skipped {
		packages, names = append(packages, t.pkg), append(names, regexp.QuoteMeta(t.name))
	}
	place := func(pkg string) int { // packages that are not in first come last
		_, folder, _ := strings.Cut(pkg, "/")
		return cmp.Or(slices.Index(first, folder)+1, len(first)+1)
	}
	slices.SortFunc(packages, func(a, b string) int { return cmp.Or(place(a)-place(b), strings.Compare(a, b)) })
	slices.Sort(names)
	return slices.Compact(packages), slices.Compact(names)
}

// dearest returns the slowest tests of a package, up to most of them.
func (s *tally) dearest(pkg string, most int) []test {
	longer := func(a, b test) int { return cmp.Compare(b.seconds, a.seconds) }
	tests := slices.SortedFunc(slices.Values(s.took[pkg]), longer)
	return tests[:min(most, len(tests))]
}

// summary prints the last lines: skipped and failed tests, and the counts of this run and
// of the long tests.
func (s *tally) summary(all bool, long *tally, took time.Duration) {
	for _, t := range slices.Concat(s.others, long.others, long.skipped) {
		fmt.Fprintf(s.out, "skipped: %s.%s: %s\n", t.pkg, t.name, strings.Join(strings.Fields(t.reason), " "))
	}
	if bad := slices.Concat(s.failedPackages, long.failedPackages); len(bad) > 0 {
		fmt.Fprintf(s.out, "\nFAIL: %s\n", strings.Join(slices.Compact(bad), " "))
	}
	for _, name := range slices.Concat(s.failedTestNames, long.failedTestNames) {
		fmt.Fprintln(s.out, "FAIL:", name)
	}
	left := ""
	if _, names := s.long(); !all && len(names) > 0 {
		left = fmt.Sprintf(" Left out: %d long tests, which make test-all runs.", len(names))
	}
	fmt.Fprintf(s.out, "\n%d tests passed, %d failed, in %.0f s.%s\n", s.passed+long.passed, s.failed+long.failed,
		took.Seconds(), left)
}
