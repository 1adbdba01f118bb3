// Package branding owns a tenant's look: app name, colours, theme, logo, tab
// icon, and the addresses for support, terms and privacy. Operators change the
// branding and the sign-in pages show it. The package must not know any page.
package branding
