package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc"
	"svc/pkg/app"
)

// The template has the sizes that the measurement chose.
func TestTemplateHasTheMeasuredSizes(t *testing.T) {
	text, err := os.ReadFile("testdata/memory.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]int
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	got, err := sizesOf(svc.Template)
	if err != nil {
		t.Fatal(err)
	}
	delete(got, "SmokeFunction") // runs only when a version is deployed
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("MemorySize in template.yaml (-measured +template), see `make memory`:\n%s", diff)
	}
}

// of returns the measurement of a function whose events all took the given
// time.
func of(megabytes int, took time.Duration, memory uint64) fitting {
	return fitting{megabytes: megabytes, warm: []time.Duration{took}, cold: []time.Duration{time.Second}, memory: memory,
		took: took, used: took / 10}
}

func TestChoice(t *testing.T) {
	const mb = 1 << 20
	slow, fast := 51*time.Millisecond, 50*time.Millisecond
	for name, tt := range map[string]struct {
		function string
		sizes    []fitting
		want     int
	}{
		"the smallest that is fast":  {app.Trips, []fitting{of(128, slow, mb), of(256, fast, mb), of(512, fast, mb)}, 256},
		"none is fast":               {app.Trips, []fitting{of(128, slow, mb), of(512, slow, mb)}, 1024},
		"more memory than its limit": {app.Trips, []fitting{of(256, fast, 193*mb), of(512, fast, 193*mb)}, 512},
		"128 MB":                     {app.Trips, []fitting{of(128, fast, mb), of(256, fast, mb)}, 256},
		"kept":                       {app.Feedback, []fitting{of(128, fast, mb), of(256, fast, mb), of(512, fast, mb)}, 512},
	} {
		f := fitted{task: task{function: tt.function}, sizes: tt.sizes}
		if got := f.choice(); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

func TestMemoryTables(t *testing.T) {
	var sizes []fitting
	for _, size := range megabytes {
		sizes = append(sizes, of(size, 10*time.Millisecond, 30<<20))
	}
	p := prices{LambdaRequests: 0.2, LambdaGBSecond: 0.00001}
	p.Assumed.MillisecondsOfARoundTrip = 5
	text := memoryTables(p, options{rounds: 1, reads: 1}, "a machine", []fitted{{task{name: "`GET /trips`",
		function: "TripsFunction"}, time.Millisecond, sizes}})
	want := "| TripsFunction | `GET /trips` | 1.00 | 30 MB | 10.0 / 10.0 | 1000 | 0.23 | 10.0 / 10.0 | 1000 | 0.25 | " +
		"10.0 / 10.0 | 1000 | 0.30 | 10.0 / 10.0 | 1000 | 0.40 | **256** |"
	filled := strings.Join(strings.Fields(text), " ")
	if !strings.Contains(text, want) || !strings.Contains(filled, "10.0 % (7.2 %) at 128 MB") {
		t.Errorf("%s\n is not in\n%s", want, text)
	}
}

// A function does not get the events that are kept, and gets all others.
func TestHold(t *testing.T) {
	var h held
	given := 0
	f := h.wrap("F", json.RawMessage(`"kept"`), nil, func(context.Context, json.RawMessage) (json.RawMessage, error) {
		given++
		return json.RawMessage(`"given"`), nil
	})
	send := func(event string) error {
		_, err := f(t.Context(), json.RawMessage(event))
		return err
	}
	wants := func(_ string, event json.RawMessage) bool { return len(event) > 1 }
	err := h.hold(wants, func() error {
		for _, event := range []string{"1", "22", "333", "22"} {
			if err := send(event); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || given != 1 {
		t.Errorf("%v, %d given, want 1", err, given)
	}
	if event, err := h.largest("F"); err != nil || string(event) != "333" {
		t.Errorf("kept %s, %v", event, err)
	}
	if _, err := h.largest("G"); err == nil {
		t.Error("an event of a function that has none")
	}
	if err := send("4444"); err != nil || given != 2 {
		t.Errorf("%v, %d given afterwards, want 2", err, given)
	}
}
