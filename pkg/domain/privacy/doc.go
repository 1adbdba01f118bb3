// Package privacy owns the requests of people about their stored data: for a copy of it,
// or for its erasure. It has the stored requests and their endpoints.
// pkg/background/erasure carries the requests out.
package privacy
