package panics_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"svc/pkg/base/panics"
)

// typed is a value that quotes what somebody typed.
type typed struct{ text string }

func (t typed) Error() string { return t.text }

// TestPanicIsAnError: the error says where, and nothing of a value that may quote
// what people typed.
func TestPanicIsAnError(t *testing.T) {
	const secret = "ann@metro.example +12125550181"
	for name, work := range map[string]func(){
		"a text":    func() { panic("cannot read " + secret) },
		"an error":  func() { panic(fmt.Errorf("row: %w", typed{secret})) },
		"a value":   func() { panic(typed{secret}) },
		"the index": func() { _ = []int{}[len(secret)] },
		"a type":    func() { _ = any(secret).(error) }, //nolint:forcetypeassert // it must panic
		"nil":       func() { var p *typed; _ = p.text },
	} {
		err := panics.Try(func() error { work(); return nil })
		if err == nil || !panics.Panicked(fmt.Errorf("job: %w", err)) || strings.Contains(err.Error(), "@") ||
			strings.Contains(err.Error(), "555") || !strings.Contains(err.Error(), "panics_test.TestPanicIsAnError") {
			t.Errorf("%s: %v", name, err)
		}
	}
	plain := errors.New("an error")
	if err := panics.Try(func() error { return plain }); !errors.Is(err, plain) || panics.Panicked(err) {
		t.Error(err)
	}
}

// TestGroup: a goroutine's panic ends neither the process nor the other goroutines, and
// Wait returns it.
func TestGroup(t *testing.T) {
	group, ctx := panics.WithContext(t.Context())
	var cancelled bool
	group.Go(func() error { panic("one") })
	group.Go(func() error { <-ctx.Done(); cancelled = errors.Is(ctx.Err(), context.Canceled); return nil })
	if err := group.Wait(); !panics.Panicked(err) || !cancelled {
		t.Error(err, cancelled)
	}
	alone := panics.NewGroup()
	alone.SetLimit(1)
	done := 0
	for i := range 3 {
		alone.Go(func() error {
			if i == 1 {
				panic(i)
			}
			done++
			return nil
		})
	}
	if err := alone.Wait(); !panics.Panicked(err) || done != 2 {
		t.Error(err, done)
	}
}
