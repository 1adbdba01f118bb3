// Package jsonscan scans JSON text without copying it, and encodes strings and
// Go values as JSON. It knows the grammar of RFC 8259 but not the meaning of a
// text.
package jsonscan
