// Package email converts mail addresses to the one form in which they are
// compared and stored as keys. It knows no person and sends nothing.
package email
