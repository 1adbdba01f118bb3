// Package testkit gives tests the real thing: an engine, a fresh table on it,
// and a wire between that can be slow, break, lose answers or give those of a
// recording again. The whole service for a test is pkg/app/apptest's.
package testkit
