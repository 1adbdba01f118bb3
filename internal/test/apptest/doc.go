// Package apptest runs the complete service for a test: an engine, the
// functions behind the local gateway, the stream and its functions. The
// connection to the table can be slow or fail, and the test can set the clock.
// People sign in through the real flow.
package apptest
