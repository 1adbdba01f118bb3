// Package branding owns a tenant's look: names, colours, theme, logo and legal
// addresses. Operators change it and the sign-in pages show it. It must not
// know any page.
package branding
