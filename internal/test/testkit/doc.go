// Package testkit gives tests a real engine, a new table on it, and a
// connection between them. The connection can be slow, break, lose responses
// or replay recorded responses. It also starts `svc dev` in a process and finds a
// browser. internal/test/apptest runs the complete service for a test.
package testkit
