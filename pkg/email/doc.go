// Package email gives mail addresses the one form in which they are compared
// and kept as keys. It knows no person and sends nothing.
package email
