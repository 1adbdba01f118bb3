// Package search owns the form in which a search compares texts. Folding
// removes the differences that people do not type, in any script. The
// package knows no resource and no table.
package search
