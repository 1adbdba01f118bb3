// Package streamtest gives the tests of stream functions real records of a
// real table's stream. It delivers them in every way that a stream may: split,
// repeated, late, out of order across items, and again after partial failures.
package streamtest
