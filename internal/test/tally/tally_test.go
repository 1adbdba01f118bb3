package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module writes a module with the tests, by package, and makes its folder the working directory.
func module(t *testing.T, tests map[string]string) {
	t.Helper()
	dir := t.TempDir()
	write := func(file, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module svc\n\ngo 1.26\n")
	for name, body := range tests {
		write(name+"/x_test.go", "package x\n\nimport \"testing\"\n\n"+body)
	}
	t.Chdir(dir)
}

const long = `func TestLong(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short; make test-all runs it")
	}
	t.Log("a long one")
}
`

// tallied runs tally and returns what it said.
func tallied(t *testing.T, args ...string) (ok bool, said string) {
	t.Helper()
	var out bytes.Buffer
	ok, err := run(t.Context(), args, &out)
	if err != nil {
		t.Fatal(err)
	}
	return ok, out.String()
}

func has(t *testing.T, said string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in:\n%s", want, said)
		}
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	module(t, map[string]string{"a": "func TestA(t *testing.T) {}\n" + long,
		"b": "func TestB(t *testing.T) { t.Skip(\"no compiler\") }\n"})
	ok, said := tallied(t, "./...")
	has(t, said, "1 tests passed, 0 failed", "Left out: 1 long tests", "skipped: svc/b.TestB:", "no compiler")
	if !ok {
		t.Error(said)
	}
	ok, said = tallied(t, "-all", "-p", "1", "-parallel", "2", "-timeout", "5m", "./...")
	has(t, said, "2 tests passed, 0 failed")
	if !ok || strings.Contains(said, "Left out") {
		t.Error(said)
	}
}

// TestLeftToAnotherCommand: long tests that -but matches do not run, and the last line counts them.
func TestLeftToAnotherCommand(t *testing.T) {
	module(t, map[string]string{"a": long + strings.Replace(long, "TestLong", "TestLongRace", 1)})
	ok, said := tallied(t, "-all", "-but", "^Test.*Race$", "./...")
	has(t, said, "The 1 long tests:", "1 tests passed, 0 failed", "Left to another command: 1 long tests")
	if !ok {
		t.Error(said)
	}
}

// TestLongestFirst: the long tests of the folders that -first names run before those of others, and none runs twice.
func TestLongestFirst(t *testing.T) {
	module(t, map[string]string{"a": long, "b": long, "c": long})
	ok, said := tallied(t, "-all", "-first", "c b", "-p", "1", "./...")
	_, after, _ := strings.Cut(said, "The 1 long tests:")
	var ran []string
	for line := range strings.Lines(after) {
		if pkg, found := strings.CutPrefix(line, "ok  \tsvc/"); found {
			ran = append(ran, strings.Fields(pkg)[0])
		}
	}
	if !ok || strings.Join(ran, " ") != "c b a" {
		t.Errorf("%q ran: %s", ran, said)
	}
}

// TestFaults: a test that fails, that panics, that does not compile and that exits is a failure, and what it said is
// there.
func TestFaults(t *testing.T) {
	tests, wants := map[string]string{"good": "func TestGood(t *testing.T) {}\n"}, []string{}
	for pkg, fault := range map[string]struct{ test, want string }{
		"errs":   {`func TestX(t *testing.T) { t.Run("y", func(t *testing.T) { t.Error("it is broken") }) }`, "it is broken"},
		"panics": {`func TestX(t *testing.T) { panic("dead") }`, "panic: dead"},
		"typed":  {`func TestX(t *testing.T) { x }`, "undefined: x"},
		"exits":  {"import \"os\"\nfunc TestX(t *testing.T) { os.Exit(3) }", "FAIL\tsvc/exits"},
		"long":   {strings.Replace(long, `t.Log("a long one")`, `t.Error("slow and wrong")`, 1), "slow and wrong"},
	} {
		tests[pkg], wants = fault.test, append(wants, fault.want)
	}
	module(t, tests)
	ok, said := tallied(t, "-all", "./...")
	has(t, said, wants...)
	_, failed, _ := strings.Cut(said, "\nFAIL: ")
	failed, _, _ = strings.Cut(failed, "\n")
	for pkg := range tests {
		if strings.Contains(failed, "svc/"+pkg) != (pkg != "good") {
			t.Errorf("%s among the packages that failed: %s", pkg, failed)
		}
	}
	if ok {
		t.Error("it passed")
	}
}

func TestBudget(t *testing.T) {
	module(t, map[string]string{"a": `func TestDear(t *testing.T) { for i := 0; i < 1_000_000_000; i++ { } }
`})
	file := filepath.Join(t.TempDir(), "budget")
	ok, said := tallied(t, "-budget", file, "-update", "./...")
	if !ok {
		t.Fatal(said)
	}
	if ok, said = tallied(t, "-budget", file, "-count=1", "./..."); !ok {
		t.Error(said)
	}
	if err := os.WriteFile(file, []byte("# of the test\na 0.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ok, said = tallied(t, "-budget", file, "-count=1", "./...")
	has(t, said, "a: its ordinary tests took ", "TestDear")
	if ok {
		t.Error("over its budget and passed")
	}
}

// TestMain: go test starts this program with the flag of a measurement in place of tally.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == measureFlag {
		os.Exit(measure(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}
