// Package replay implements the part of the Lambda runtime API that a function
// needs. It runs a built bootstrap as a process, sends it events and receives
// its responses. So the events in events/ can be replayed against the program
// that is deployed. The package does not know what the functions do.
package replay
