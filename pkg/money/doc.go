// Package money does exact arithmetic on amounts in currency units. Outside it
// an amount is a json.Number, in documents and in answers alike; it is never a
// binary float.
package money
