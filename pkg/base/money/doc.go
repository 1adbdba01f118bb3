// Package money does exact arithmetic on amounts in currency units. Other packages
// hold one as an Amount, in documents and in responses. An amount is never a binary
// float. What a caller or another service says is a json.Number until it is checked.
package money
