package testkit

import "context"

// CrashAt returns the context of a process that crashes at its request n, counted
// from 0: the context ends, and this and all later requests fail. With lost, the
// engine executes request n, and only its response is lost.
func (w *Wire) CrashAt(ctx context.Context, n int, lost bool) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	w.set(func() { w.limit, w.left, w.last, w.crash = true, n, lost, cancel })
	return ctx
}

// Revive undoes CrashAt, and reports whether the crash happened.
func (w *Wire) Revive() (crashed bool) {
	w.set(func() {
		if w.crash == nil {
			return
		}
		w.crash()
		crashed = w.left < 0
		w.limit, w.last, w.crash = false, false, nil
	})
	return crashed
}

// Meanwhile runs do just before request n after this call, counted from 0. do
// simulates the work of another process.
func (w *Wire) Meanwhile(n int, do func()) { w.set(func() { w.until, w.do = n, do }) }

// Interrupted ends Meanwhile, and reports whether do has run.
func (w *Wire) Interrupted() (ran bool) {
	w.set(func() { ran, w.do = w.do == nil, nil })
	return ran
}

// interrupt runs the function of Meanwhile, if it is due.
func (w *Wire) interrupt() {
	do := func() {}
	w.set(func() {
		if w.do != nil && w.until == 0 {
			do, w.do = w.do, nil
		}
		w.until--
	})
	do()
}
