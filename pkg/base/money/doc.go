// Package money does exact arithmetic on amounts in currency units. Other
// packages hold an amount as a json.Number, in documents and in responses. An
// amount is never a binary float.
package money
