package panics

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Panic is the error of work that panicked. Its text has no personal data. For a panic
// that the Go runtime did not raise, the text has only the type of the panic's value,
// because the value may quote what somebody typed.
type Panic struct{ text string }

// Error implements error.
func (p *Panic) Error() string { return p.text }

// Panicked reports whether err is, or wraps, the error of work that panicked. The same
// work would panic again.
func Panicked(err error) bool {
	_, ok := errors.AsType[*Panic](err)
	return ok
}

// Try calls the work and returns its panic as its error.
func Try(work func() error) (err error) {
	defer Catch(&err)
	return work()
}

// Catch turns a panic into an error. A function calls it by defer, with a pointer to its
// named result err.
func Catch(err *error) {
	if cause := recover(); cause != nil {
		*err = &Panic{"panic: " + told(cause) + where()}
	}
}

// told returns how the text of a Panic describes the panic's value.
func told(cause any) string {
	if err, ok := cause.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", cause)
}

// frames is how many of the calls that led to a panic the function where returns.
const frames = 5

// where returns the calls that led to the panic, the innermost first.
func where() string {
	at := make([]uintptr, 64)
	stack := runtime.CallersFrames(at[:runtime.Callers(3, at)]) // 3 skips Callers, where and Catch
	var out strings.Builder
	for n := 0; n < frames; {
		f, more := stack.Next()
		if !strings.HasPrefix(f.Function, "runtime.") && f.Function != "" {
			fmt.Fprintf(&out, " < %s:%d", f.Function, f.Line)
			n++
		}
		if !more {
			break
		}
	}
	return strings.Replace(out.String(), " <", " at", 1)
}

// Group is an errgroup.Group whose functions may panic: a panic becomes the function's
// error. Without Group, the panic would end the process, because a goroutine has no
// caller that could recover.
type Group struct{ *errgroup.Group }

// NewGroup returns a group without a context.
func NewGroup() Group { return Group{&errgroup.Group{}} }

// WithContext is errgroup.WithContext for a Group of this package.
func WithContext(ctx context.Context) (Group, context.Context) {
	group, ctx := errgroup.WithContext(ctx)
	return Group{group}, ctx
}

// Go runs f in a goroutine, as errgroup.Group's Go does. A panic of f is its error.
func (g Group) Go(f func() error) { g.Group.Go(func() error { return Try(f) }) }
