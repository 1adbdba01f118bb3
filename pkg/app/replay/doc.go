// Package replay owns the Lambda runtime API as far as a function needs it:
// it runs a built bootstrap as a process, hands it events and takes its
// answers, so that events/ can be replayed against the very program that is
// deployed. It knows nothing of what the functions do.
package replay
