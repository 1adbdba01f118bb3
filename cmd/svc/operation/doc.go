// Package operation makes a command of each endpoint for operators (a row of the API, api.Row), and
// calls operations within this process for commands that are written by hand.
//
// A command belongs here if its row and its entry in shapes (names, columns and flags of commands)
// describe it completely. A command that does more is listed in ByHand, and is in the package of
// its subject.
package operation
