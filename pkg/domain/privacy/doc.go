// Package privacy owns what a person may ask for about the data that is stored of
// them: a copy of it, and its erasure. It has the requests and their endpoints.
// pkg/background/erasure carries the requests out.
package privacy
