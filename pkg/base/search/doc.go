// Package search owns the one form in which texts are compared. Folding
// removes differences of case, width and composed letters, in any script. The
// package knows no resource and no table.
package search
