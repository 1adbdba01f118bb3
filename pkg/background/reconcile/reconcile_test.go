package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/pkg/background/reconcile"
	"svc/pkg/data/table"
)

// running returns a run that does not wait, and the keys that it reports.
func running(correct bool) (*reconcile.Run, *[]string) {
	said := new([]string)
	return &reconcile.Run{Correct: correct, Wait: func(context.Context, time.Duration) error { return nil },
		Found: func(d reconcile.Difference) { *said = append(*said, d.Key) }}, said
}

// TestConfirm: a difference counts if looks in a row find it by the same amount in data
// that rests. A correction that another write overtakes is made again.
func TestConfirm(t *testing.T) {
	r, said := running(true)
	offs, corrected := []string{"1", "1", "2", "moving", "2", "2", "2"}, 0
	looks := 0
	err := r.Until(t.Context(), "it", r.Confirm(3, func(n int) (*reconcile.Finding, error) {
		looks++
		f := reconcile.Wrong("sum", "a", "1", "2").Add("sum", "b", "1", "2")
		f.Off = offs[min(n, len(offs)-1)]
		f.Steady = func() (bool, error) { return f.Off != "moving", nil }
		f.Correct = func() error {
			if corrected++; corrected == 1 {
				return fmt.Errorf("a write: %w", table.ErrConflict)
			}
			return nil
		}
		return f, nil
	}))
	if err != nil || corrected != 2 || looks != 7 || !slices.Equal(*said, []string{"a", "b"}) {
		t.Errorf("%v: %d corrections after %d looks, reported %v; expected 2 after 7, and a and b once", err, corrected,
			looks, *said)
	}
}

// TestConfirmEnds: a look that finds nothing ends it, one that is early does not, and a
// check that does not correct ends with its report.
func TestConfirmEnds(t *testing.T) {
	r, said := running(false)
	looks := 0
	err := r.Until(t.Context(), "it", r.Confirm(1, func(n int) (*reconcile.Finding, error) {
		looks++
		if n == 2 {
			return nil, nil
		}
		f := reconcile.Wrong("sum", "a", "1", "2")
		f.Early = true
		return f, nil
	}))
	if err != nil || looks != 3 || len(*said) != 0 {
		t.Errorf("%v after %d looks, reported %v; expected nothing after 3", err, looks, *said)
	}
	err = r.Until(t.Context(), "it", r.Confirm(1, func(int) (*reconcile.Finding, error) {
		f := reconcile.Wrong("sum", "a", "1", "2")
		f.Correct = func() error { return errors.New("a check without Correct corrects") }
		return f, nil
	}))
	if err != nil || len(*said) != 1 {
		t.Errorf("%v, reported %v; expected one difference", err, *said)
	}
}

// TestEach: what becomes right within the patience is not reported, and a correction
// that another write overtakes is made again.
func TestEach(t *testing.T) {
	r, said := running(true)
	corrected := map[string]int{}
	err := reconcile.Each(t.Context(), r, "them", 2, []string{"right", "late", "wrong", "person"},
		func(n int, things []string) (out []*reconcile.Finding, err error) {
			for _, thing := range things {
				f := reconcile.Wrong("row", thing, "there", "none")
				switch {
				case thing == "right", thing == "late" && n == 1:
					f = nil
				case thing == "wrong":
					f.Correct = func() error {
						if corrected[thing]++; corrected[thing] == 1 {
							return table.ErrCondition
						}
						return nil
					}
				}
				out = append(out, f)
			}
			return out, nil
		})
	if err != nil || corrected["wrong"] != 2 || !slices.Equal(*said, []string{"wrong", "person"}) {
		t.Errorf("%v: corrected %v, reported %v; expected wrong twice, and wrong and person", err, corrected, *said)
	}
}
