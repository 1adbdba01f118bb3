// Package page owns the pages that people see: sign-in, tenant picker,
// consent, connected applications, sign-out, password and error, in a tenant's
// branding and in English or Spanish. It makes whatever colours a tenant chose
// readable (WCAG 2.2 AA), and writes the headers that keep a page from being
// framed, cached or scripted.
//
// A page holds no script and loads nothing but the tenant's logo. The package
// must not know how anything is decided or stored: it is given what to show.
package page
