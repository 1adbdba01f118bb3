// Package search owns the one form in which texts are compared: folded, so
// that case, width and composed letters make no difference in any script. It
// knows no resource and no table.
package search
