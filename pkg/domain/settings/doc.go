// Package settings owns a tenant's settings as its operators read them: the
// company, the settings document (pricing, payments, dispatch), the service
// types and the dispatch zones. pkg/domain/tenant owns the tenant's identity,
// pkg/domain/branding its look.
package settings
