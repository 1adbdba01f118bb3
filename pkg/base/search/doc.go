// Package search owns the form in which a search compares texts. Folding
// removes differences of case, width and composed letters, in any script. The
// package knows no resource and no table.
package search
