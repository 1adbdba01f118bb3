// Package settings owns a tenant's settings as its operators read them: the
// company, the settings document (pricing, payments, dispatch), the service
// types and the dispatch zones. Who the tenant is belongs to pkg/tenant, its
// look to pkg/branding.
package settings
