// Package replay implements the part of the Lambda runtime API that a function
// needs. It runs a built bootstrap as a process, sends it events and receives
// its responses. So events/ is replayed against the same program that is
// deployed. The package does not know what the functions do.
package replay
