// Package money does exact arithmetic on amounts in currency units. Other packages
// use the type Amount, in documents and in responses. An amount is never a binary
// float. A number from a caller or another service is a json.Number until it is checked.
package money
