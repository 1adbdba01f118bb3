// Package timestamp formats and parses the times that the service stores and
// sends: UTC, RFC 3339, milliseconds ("2026-01-02T15:04:05.000Z"). Such texts
// sort in time order, so range keys use them directly. The package also parses
// the date-times of callers (ISO 8601).
package timestamp
