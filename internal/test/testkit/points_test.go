package testkit_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/testkit"
)

// heard is a test that keeps what it is told.
type heard struct {
	testing.TB
	name         string
	logs, errors []string
}

func (h *heard) Helper()      {}
func (h *heard) Name() string { return h.name }
func (h *heard) Logf(format string, args ...any) {
	h.logs = append(h.logs, fmt.Sprintf(format, args...))
}

func (h *heard) Errorf(format string, args ...any) {
	h.errors = append(h.errors, fmt.Sprintf(format, args...))
}

// tried tries points of work that sends so many requests.
func tried(of iter.Seq[*testkit.Point], requests int) (out []testkit.Point) {
	for p := range of {
		out = append(out, testkit.Point{N: p.N, Lost: p.Lost, Step: p.Step})
		p.Reached(p.N < requests)
	}
	return out
}

// TestPoints: a seed and a test always have the same points, about a sixth of all; others
// have others. Each point is tried by some seed.
func TestPoints(t *testing.T) {
	t.Setenv("SVC_EXHAUSTIVE", "")
	t.Setenv("SVC_ENGINE", "") // the groups are larger on DynamoDB Local
	of := func(seed, name string) []testkit.Point {
		t.Setenv("SVC_SEED", seed)
		h := &heard{TB: t, name: name}
		out := tried(testkit.CrashPoints(h, 100), 60)
		if len(h.errors) > 0 || len(h.logs) != 1 || !strings.Contains(h.logs[0], "SVC_SEED="+seed+
			" go test svc/internal/test/testkit -run '^TestOne$'") && name == "TestOne/part" {
			t.Errorf("%v %v", h.errors, h.logs)
		}
		return out
	}
	first := of("1", "TestOne/part")
	if again := of("1", "TestOne/part"); !slices.Equal(first, again) {
		t.Errorf("%v, then %v", first, again)
	}
	if slices.Equal(first, of("2", "TestOne/part")) || slices.Equal(first, of("1", "TestTwo")) {
		t.Errorf("another seed or test has the same points: %v", first)
	}
	seen := map[string]bool{}
	for seed := range 100 {
		all := of(fmt.Sprint(seed), "TestOne/part")
		if len(all) < 20 || len(all) > 23 || all[0] != (testkit.Point{Step: 1}) || all[len(all)-1].N < 60 {
			t.Fatalf("seed %d: %d of 120 points: %v", seed, len(all), all)
		}
		at := -1
		for _, p := range all {
			if at += p.Step; at != p.N {
				t.Fatalf("the steps to %v add up to %d", &p, at)
			}
			seen[fmt.Sprint(&p)] = true
		}
	}
	for n := range 60 {
		for _, lost := range []bool{false, true} {
			if p := (&testkit.Point{N: n, Lost: lost}); !seen[p.String()] {
				t.Errorf("no seed tries %v", p)
			}
		}
	}
}

// TestAllPoints: an exhaustive run tries every point, and one that the work does not reach.
func TestAllPoints(t *testing.T) {
	t.Setenv("SVC_EXHAUSTIVE", "1")
	var want []testkit.Point
	for n := range 7 {
		want = append(want, testkit.Point{N: n, Step: 1}, testkit.Point{N: n, Lost: true})
	}
	want = append(want, testkit.Point{N: 7, Step: 1})
	for _, most := range []int{7, 100} {
		if got := tried(testkit.CrashPoints(t, most), 7); !slices.Equal(got, want) {
			t.Errorf("of at most %d: %v, want %v", most, got, want)
		}
	}
	if got := tried(testkit.Points(t, 9), 7); len(got) != 8 || got[7] != (testkit.Point{N: 7, Step: 1}) {
		t.Errorf("without lost responses: %v", got)
	}
}

// TestPointsThatProveNothing: a test fails whose work reaches no point, or has more requests
// than the test says, or that does not say whether its work came to the point.
func TestPointsThatProveNothing(t *testing.T) {
	for _, exhaustive := range []string{"", "1"} {
		t.Setenv("SVC_EXHAUSTIVE", exhaustive)
		for want, try := range map[string]func(*heard){
			"does not reach its first":  func(h *heard) { tried(testkit.CrashPoints(h, 5), 0) },
			"sends more than 5 request": func(h *heard) { tried(testkit.Points(h, 5), 6) },
			"does not call Reached": func(h *heard) {
				for range testkit.CrashPoints(h, 5) {
					continue
				}
			},
		} {
			h := &heard{TB: t, name: t.Name()}
			if try(h); len(h.errors) != 1 || !strings.Contains(h.errors[0], want) {
				t.Errorf("exhaustive %q: %q, want %q", exhaustive, h.errors, want)
			}
		}
	}
}
