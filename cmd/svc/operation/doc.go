// Package operation makes a command of each row of the API for operators, and calls operations
// within this process for commands that are written by hand.
//
// A command belongs here if the row and a line of shapes say all about it. What must do more is
// listed in ByHand, and is in the package of its subject.
package operation
