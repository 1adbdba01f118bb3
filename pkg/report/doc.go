// Package report owns the report summary: how trips are counted by the time of
// their request, how any window is put together from those counters, exact to
// the millisecond, and the endpoint. pkg/projection writes the counters; what
// this package reads never grows with the number of trips.
package report
