// Package timestamp formats and parses the service's only time format: UTC,
// RFC 3339, milliseconds ("2026-01-02T15:04:05.000Z"). Such texts sort in time
// order, so range keys use them directly.
package timestamp
