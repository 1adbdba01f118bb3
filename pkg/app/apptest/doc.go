// Package apptest runs the whole service for a test: an engine of its own, the
// functions behind the local gateway, the stream and its functions, over a wire
// that can be slow or break and a clock that can be set. People sign in through
// the real flow.
package apptest
