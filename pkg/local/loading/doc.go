// Package loading opens the table of a data folder without a running service,
// for fast bulk writes.
package loading
