// Package jsonscan reads JSON text without copying it, and appends strings to
// JSON text. It knows the grammar of RFC 8259 but not the meaning of a text.
package jsonscan
