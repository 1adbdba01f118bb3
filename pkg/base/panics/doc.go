// Package panics turns a panic in one piece of work into an error. A piece of work is a
// request, message, job, due task or stream record. So a panic cannot end the process,
// which also runs the work of others. The package knows nothing of the work.
package panics
