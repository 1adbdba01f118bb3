// Package page owns the pages that people see. They sign in, choose a company,
// consent, set a password, end the access of connected applications, sign out,
// or show a message. It also owns the mail with a one-time link. Pages use the
// tenant's branding and are in English or Spanish. The package adjusts the
// tenant's colours until they are readable (WCAG 2.2 AA). Its headers prevent
// framing, caching and scripts.
//
// A page contains no script and loads only the tenant's logo and icon. The
// package must not decide or store anything. Its callers pass in what to show.
package page
