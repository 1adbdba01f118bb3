// Package report owns the report summary and its endpoint. It counts trips by
// the time of their request and combines the counters to any window, exact to
// the millisecond. pkg/background/projection writes the counters. What this
// package reads never grows with the number of trips.
package report
