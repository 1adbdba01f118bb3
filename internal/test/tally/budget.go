package main

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A package's ordinary tests have a budget of processor time: user and system time of the test binary and of the
// processes that it starts and waits for. Its unit is the time of a calculation that is measured in the same run, so
// that a slower machine has the same numbers. The file of budgets has one line a package: its path and its budget.

// measureFlag makes tally run a test binary and record its processor time (`go test -exec`).
const measureFlag = "-measure"

// other is the budget of a package that the file does not name.
const other = 6.0

// meter collects the processor times of test binaries.
type meter struct {
	dir  string
	unit float64 // seconds of the calculation before the run
}

// newMeter returns a meter with a new folder, and measures the unit.
func newMeter() (*meter, error) {
	dir, err := os.MkdirTemp("", "svc-tally-")
	return &meter{dir, calibrate()}, err
}

func (m *meter) close() { _ = os.RemoveAll(m.dir) }

// command returns the command with which go test starts test binaries: tally itself, to
// measure them.
func (m *meter) command() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	return self + " " + measureFlag + " " + m.dir
}

// calibrate returns the processor seconds of a fixed calculation, the least of five.
func calibrate() float64 {
	least, data := math.Inf(1), make([]byte, 1<<20)
	for range 5 {
		before := used(syscall.RUSAGE_SELF)
		for range 256 {
			sum := sha256.Sum256(data)
			copy(data, sum[:])
		}
		least = min(least, used(syscall.RUSAGE_SELF)-before)
	}
	return least
}

// used returns the processor seconds of this process or of the children that it waited for.
func used(who int) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}

// measure runs a test binary, writes its processor time into a file of the folder, and returns its exit code.
func measure(dir string, args []string) int {
	cmd := exec.Command(args[0], args[1:]...) //nolint:gosec // the binary that go test has built
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	at, _ := os.Getwd()
	line := fmt.Sprintf("%s %f\n", at, used(syscall.RUSAGE_CHILDREN))
	file := filepath.Join(dir, fmt.Sprint(os.Getpid()))
	if bad := os.WriteFile(file, []byte(line), 0o600); bad != nil { //nolint:gosec // the folder is our own
		fmt.Fprintln(os.Stderr, "tally:", bad)
		return 1
	}
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		return 1
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	fmt.Fprintln(os.Stderr, "tally:", err) // a signal ended it
	return 1
}

// measured returns the units of each package of the module whose folder is the working directory.
func (m *meter) measured() (map[string]float64, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(m.dir, "*"))
	if err != nil {
		return nil, err
	}
	unit, out := (m.unit+calibrate())/2, map[string]float64{}
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // of our own folder
		if err != nil {
			return nil, err
		}
		at, seconds := "", 0.0
		if _, err := fmt.Sscan(string(text), &at, &seconds); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		pkg, err := filepath.Rel(root, at)
		if err != nil {
			return nil, err
		}
		out[pkg] += seconds / unit
	}
	return out, nil
}

// check compares the measured units with the budgets in the file, and prints the packages
// that exceed theirs. With update, it writes the file instead: each budget is twice the
// measured units, because other work on the machine increases them.
func (m *meter) check(file string, update bool, s *tally, out io.Writer) (within bool, err error) {
	units, err := m.measured()
	if err != nil {
		return false, err
	}
	if update {
		return true, write(file, units)
	}
	budgets, err := read(file)
	if err != nil {
		return false, err
	}
	within = true
	for _, pkg := range slices.Sorted(maps.Keys(units)) {
		budget, named := budgets[pkg]
		if !named {
			budget = other
		}
		if units[pkg] <= budget {
			continue
		}
		within = false
		fmt.Fprintf(out, "%s: its ordinary tests took %.1f units of processor time, and its budget in %s is %.1f. "+
			"Make the dearest cheaper, or long ones (testkit.Long):\n", pkg, units[pkg], file, budget)
		for _, t := range s.dearest("svc/"+pkg, 5) {
			fmt.Fprintf(out, "  %6.2f s  %s\n", t.seconds, t.name)
		}
	}
	return within, nil
}

// read returns the budgets in the file, by package.
func read(file string) (map[string]float64, error) {
	f, err := os.Open(file) //nolint:gosec // a developer's own file
	if err != nil {
		return nil, err
	}
	defer f.Close()
	budgets, lines := map[string]float64{}, bufio.NewScanner(f)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		pkg, units := "", 0.0
		if _, err := fmt.Sscan(lines.Text(), &pkg, &units); err != nil {
			return nil, fmt.Errorf("%s: %q is not a package and its units: %w", file, lines.Text(), err)
		}
		budgets[pkg] = units
	}
	return budgets, lines.Err()
}

// write writes the file of budgets. It leaves out packages whose budget is not above
// other.
func write(file string, units map[string]float64) error {
	text := "# The budget of each package's ordinary tests in units of processor time (see budget.go).\n" +
		fmt.Sprintf("# Another package has %.1f. Written by `make budget`.\n", other)
	paths := slices.SortedFunc(maps.Keys(units), func(a, b string) int {
		return cmp.Or(cmp.Compare(units[b], units[a]), strings.Compare(a, b))
	})
	for _, pkg := range paths {
		if most := units[pkg] * 2; most > other {
			text += fmt.Sprintf("%s %.1f\n", pkg, most)
		}
	}
	return os.WriteFile(file, []byte(text), 0o600)
}
