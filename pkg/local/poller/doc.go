// Package poller delivers the table's stream to functions as Lambda's event
// source mapping does. It stores the records that a function failed on as dead
// letters.
//
// It owns the checkpoints and the dead letters in the data folder. It must not
// know what the records mean.
package poller
