// Package streamtest lets the tests of stream functions have real records of a
// real table's stream, and delivers them as badly as a stream may: split,
// repeated, late, out of order across items, and after failures half-way.
package streamtest
