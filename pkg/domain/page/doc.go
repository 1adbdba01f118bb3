// Package page owns the pages that people see: sign-in, choice of a company,
// consent, password, connected applications, sign-out, messages such as errors,
// and papers: receipts and statements to print. It also owns the text of the mail
// with a one-time link. Pages use the tenant's branding. Each file in languages/ is
// a language of the pages. The package adjusts the tenant's colours until they are
// readable (WCAG 2.2 AA). Its headers prevent framing, caching and scripts.
//
// A page contains no script and loads only the tenant's logo and icon. The
// package must not decide or store anything. Its callers pass in what to show.
package page
