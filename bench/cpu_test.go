package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc/internal/test/replay"
	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/local/engine"
	"svc/pkg/local/service"
)

func TestParse(t *testing.T) {
	if o, err := parse([]string{"-cpu", "-base", "e2db8e4"}); err != nil || !o.cpu || o.base != "e2db8e4" {
		t.Errorf("%+v, %v", o, err)
	}
	for _, bad := range [][]string{{"-cpu", "-rounds", "0"}, {"-cpu", "-reads", "0"}, {"-ceilings"}} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// Every row is measured, or endpoints names it. Every request is one to a row.
func TestEveryRowIsMeasured(t *testing.T) {
	all, without := endpoints()
	for _, r := range app.Rows(nil) {
		name := r.Method + " " + strings.TrimPrefix(r.Path, "/api/v1")
		measured := slices.ContainsFunc(all, func(e endpoint) bool { return e.is(r) })
		if measured == slices.Contains(without, name) {
			t.Errorf("%s: measured %v, and named as not measured %v", r.ID, measured, !measured)
		}
	}
	for _, e := range all {
		if !strings.Contains(e.Name, "/oauth/") && !slices.ContainsFunc(app.Rows(nil), e.is) {
			t.Errorf("%s is not a request to any row", e.Name)
		}
	}
}

// Every name that a request uses is known: a step that keeps it, or one of the world.
func TestSteps(t *testing.T) {
	all, _ := endpoints()
	for _, e := range all {
		for name := range strings.FieldsSeq(e.Before) {
			if replay.Listed().Steps[name].As == "" && special[name] == nil && !strings.HasPrefix(name, "id=") {
				t.Errorf("%s: there is no step %q", e.Name, name)
			}
		}
	}
}

// The check of allocations can fail, but not for an endpoint without a number.
func TestCheck(t *testing.T) {
	measured := func(mallocs, bytes uint64) series {
		return series{endpoint{Audience: rider, Name: "GET /me"}, [][]used{{{Mallocs: mallocs, Bytes: bytes}}}}
	}
	for name, tt := range map[string]struct {
		now    series
		before map[string]used
		want   string
	}{
		"as before":      {measured(110, 1100), map[string]used{"GET /me (rider)": {0, 100, 1000}}, ""},
		"less":           {measured(1, 1), map[string]used{"GET /me (rider)": {0, 100, 1000}}, ""},
		"new":            {measured(110, 1100), map[string]used{}, ""},
		"no longer here": {measured(110, 1100), map[string]used{"GET /you (rider)": {0, 100, 1000}}, "was not measured"},
		"more":           {measured(111, 1000), map[string]used{"GET /me (rider)": {0, 100, 1000}}, "111 allocations"},
		"larger":         {measured(100, 1101), map[string]used{"GET /me (rider)": {0, 100, 1000}}, "1101 bytes"},
	} {
		err := check([]series{tt.now}, tt.before)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	before, err := usedBefore()
	if err != nil || len(before) == 0 {
		t.Fatal(len(before), err)
	}
	all, _ := endpoints()
	for title := range before {
		if !slices.ContainsFunc(all, func(e endpoint) bool { return e.title() == title }) {
			t.Errorf("%s is not measured", title)
		}
	}
}

// TestMain lets the test program be a function of two builds: the older one answers
// the events with the status in its folder's name.
func TestMain(m *testing.M) {
	if runtime := os.Getenv("AWS_LAMBDA_RUNTIME_API"); runtime != "" {
		fakeFunction("http://"+runtime+"/2018-06-01/runtime/invocation/", filepath.Base(filepath.Dir(os.Args[0])))
	}
	os.Exit(m.Run())
}

func fakeFunction(base, status string) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for n := 1; ; n++ {
			<-asked
			fmt.Println("probe", n*1000, n*1000, n*1000)
		}
	}()
	for {
		res, err := http.Get(base + "next")
		if err != nil {
			os.Exit(0)
		}
		_ = res.Body.Close()
		id := res.Header.Get("Lambda-Runtime-Aws-Request-Id")
		if res, err = http.Post(base+id+"/response", "application/json",
			strings.NewReader(`{"statusCode":`+status+`}`)); err == nil {
			_ = res.Body.Close()
		}
	}
}

// An endpoint that the build to compare with does not have is left out of the
// comparison. Another failure of that build ends the measurement.
func TestOlderBuild(t *testing.T) {
	program, err := os.Executable()
	testkit.Must(t, err)
	dir := t.TempDir()
	for _, status := range []string{"200", "404", "405", "400", "500"} {
		testkit.Must(t, os.MkdirAll(filepath.Join(dir, status), 0o700))
		testkit.Must(t, os.Symlink(program, filepath.Join(dir, status, "me")))
	}
	w := &world{engine: &engine.Engine{URL: "http://127.0.0.1:1"}, service: &service.Service{}, signedIn: time.Now()}
	e, o := endpoint{Audience: rider, Name: "GET /me"}, options{rounds: 1, reads: 1}
	now := build{dir: filepath.Join(dir, "200")}
	for older, left := range map[string]bool{"200": false, "404": true, "405": true, "400": true, "500": false,
		"no such function": true} {
		s, err := w.series(t.Context(), []build{now, {older, filepath.Join(dir, older)}}, e, o)
		if failed := older == "500"; errors.Is(err, errOlder) != left || (err != nil) != (left || failed) ||
			err == nil && s.median(1).Mallocs == 0 {
			t.Errorf("%s: %v, %+v", older, err, s.all)
		}
	}
	s, err := w.series(t.Context(), []build{{dir: filepath.Join(dir, "405")}}, e, o)
	if err == nil || errors.Is(err, errOlder) {
		t.Errorf("the build itself: %v, %+v", err, s.all)
	}
}
