// Package panics is the border at which a panic ends: the work of one row, message,
// job, due task or stream record. Beyond it the panic is an error like any other, so
// that one piece of work cannot end the process in which everybody's work runs. It
// knows nothing of the work.
package panics
