// Package report owns the report summary and its endpoint. Trips are counted by the time
// of their request, and completed trips also by the time of completion. A report adds up
// the counters of any window, exact to the millisecond. pkg/background/projection writes
// the counters. The reads of a report do not grow with the number of trips.
package report
