// Package timestamp writes and reads the service's one form of time: UTC,
// RFC 3339, milliseconds ("2026-01-02T15:04:05.000Z"). Texts of this form sort
// as their times do, so they serve in range keys as they are.
package timestamp
