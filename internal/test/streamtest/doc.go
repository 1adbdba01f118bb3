// Package streamtest provides real records of a table's stream for tests of
// stream functions. It delivers them in every way that a stream allows: split,
// repeated, late, out of order across items, and again after partial failures.
package streamtest
