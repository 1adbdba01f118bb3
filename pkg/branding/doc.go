// Package branding owns a tenant's look: names, colours, theme, logo and legal
// addresses, as the operator changes them and the sign-in pages show them. It
// knows no page.
package branding
