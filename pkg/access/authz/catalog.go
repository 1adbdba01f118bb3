package authz

import (
	"slices"
	"strings"

	"svc/pkg/base/fault"
)

// Rule says what a scope requires (specification, "Scope catalog").
type Rule struct {
	Audience    Audience // "" for the OIDC scopes, which any audience may hold
	Permissions []string // an operator needs one of them; empty means no requirement
	Feature     string   // a rider needs this flag of the tenant; "" means no requirement
}

// catalog lists every scope.
var catalog = map[string]Rule{
	"openid": {}, "profile": {}, "email": {},

	"tenant.trips:read":       operator("VIEW_TRIPS"),
	"tenant.trips:write":      operator("CREATE_TRIPS"),
	"tenant.trips:delete":     operator("DELETE_TRIPS"),
	"tenant.drivers:read":     operator("VIEW_DRIVERS"),
	"tenant.drivers:write":    operator("CREATE_DRIVERS"),
	"tenant.customers:read":   operator("VIEW_CUSTOMERS"),
	"tenant.customers:write":  operator("CREATE_CUSTOMERS"),
	"tenant.settings:read":    operator("VIEW_SETTINGS", "VIEW_BRANDING"),
	"tenant.settings:write":   operator("EDIT_SETTINGS"),
	"tenant.reports:read":     operator("VIEW_REPORTS"),
	"tenant.reports:export":   operator("EXPORT_REPORTS"),
	"tenant.imports:write":    operator("IMPORT_DATA"),
	"tenant.builds:read":      operator("VIEW_APP_BUILDER"),
	"tenant.builds:write":     operator("MANAGE_APP_BUILDER"),
	"tenant.businesses:read":  operator("VIEW_BUSINESSES"),
	"tenant.businesses:write": operator("MANAGE_BUSINESSES"),
	"tenant.delivery:read":    operator("VIEW_FOOD_ORDERS"),
	"tenant.delivery:write":   operator("MANAGE_FOOD_ORDERS"),
	"tenant.wallets:read":     operator("VIEW_WALLETS"),
	"tenant.wallets:write":    operator("MANAGE_WALLETS"),
	"tenant.branding:write":   operator("EDIT_BRANDING"),
	"tenant.events:read":      operator("VIEW_EVENTS"),
	"tenant.webhooks:read":    operator("VIEW_WEBHOOKS"),
	"tenant.webhooks:write":   operator("MANAGE_WEBHOOKS"),
	"tenant.privacy:write":    operator("MANAGE_PRIVACY"),
	"tenant.machines:read":    operator("MANAGE_MACHINES"),
	"tenant.machines:write":   operator("MANAGE_MACHINES"),
	"tenant.members:read":     operator(ManageMembers),
	"tenant.members:write":    operator(ManageMembers),
	"feedback:read":           operator("VIEW_FEEDBACK"),
	"feedback:vote":           operator("VIEW_FEEDBACK"),
	"feedback:write":          operator("VIEW_FEEDBACK"),

	"rider.profile:read":    {Audience: Rider},
	"rider.profile:write":   {Audience: Rider},
	"rider.trips:read":      {Audience: Rider},
	"rider.trips:create":    {Audience: Rider, Feature: Taxi},
	"rider.trips:cancel":    {Audience: Rider},
	"rider.orders:read":     {Audience: Rider, Feature: Delivery},
	"rider.orders:create":   {Audience: Rider, Feature: Delivery},
	"rider.addresses:write": {Audience: Rider},
	"rider.payments:read":   {Audience: Rider},
	"rider.payments:write":  {Audience: Rider},
	"rider.trips:rate":      {Audience: Rider},
	"rider.wallet:read":     {Audience: Rider},
	"rider.events:read":     {Audience: Rider},
	"rider.privacy:write":   {Audience: Rider},

	"driver.profile:read":    {Audience: Driver},
	"driver.status:write":    {Audience: Driver},
	"driver.trips:read":      {Audience: Driver},
	"driver.trips:accept":    {Audience: Driver},
	"driver.trips:complete":  {Audience: Driver},
	"driver.trips:rate":      {Audience: Driver},
	"driver.wallet:read":     {Audience: Driver},
	"driver.wallet:withdraw": {Audience: Driver},
	"driver.documents:read":  {Audience: Driver},
	"driver.events:read":     {Audience: Driver},
	"driver.privacy:write":   {Audience: Driver},
}

// ManageMembers is the permission of whoever gives permissions. A company keeps a member
// who has it.
const ManageMembers = "MANAGE_MEMBERS"

// viewBranding is the permission that GET /api/v1/branding requires. For the
// endpoint's scope, tenant.settings:read, VIEW_SETTINGS would be enough.
const viewBranding = "VIEW_BRANDING"

func operator(permissions ...string) Rule {
	return Rule{Audience: Dashboard, Permissions: permissions}
}

// FindRule returns the catalog's rule for a scope; ok is false if the scope is
// unknown.
func FindRule(scope string) (rule Rule, ok bool) {
	rule, ok = catalog[scope]
	return rule, ok
}

// Scopes returns the scopes of an audience, sorted, including the OIDC scopes.
func Scopes(audience Audience) []string {
	var out []string
	for scope, rule := range catalog {
		if rule.Audience == audience || rule.Audience == "" {
			out = append(out, scope)
		}
	}
	slices.Sort(out)
	return out
}

// Permissions returns all permissions, sorted.
func Permissions() []string {
	set := []string{viewBranding}
	for _, rule := range catalog {
		set = append(set, rule.Permissions...)
	}
	slices.Sort(set)
	return slices.Compact(set)
}

// ParsePermissions sorts the permissions and removes duplicates. An unknown permission is a
// fault of the field.
func ParsePermissions(field string, permissions []string) ([]string, error) {
	all := Permissions()
	out := slices.Clone(permissions)
	for _, p := range out {
		if !slices.Contains(all, p) {
			return nil, fault.Field(field, "unknown permission %s; expected one of %s", p, strings.Join(all, ", "))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Have holds what an actor has now: the permissions of the membership and the
// flags of the tenant.
type Have struct {
	Permissions []string
	Taxi        bool
	Delivery    bool
}

// Grantable returns the requested scopes that the actor may be granted now. It
// keeps the order of the request and drops repetitions.
func Grantable(audience Audience, asked []string, have Have) []string {
	var out []string
	for _, scope := range asked {
		rule, ok := catalog[scope]
		if !ok || (rule.Audience != "" && rule.Audience != audience) || slices.Contains(out, scope) {
			continue
		}
		held := func(permission string) bool { return slices.Contains(have.Permissions, permission) }
		if len(rule.Permissions) > 0 && !slices.ContainsFunc(rule.Permissions, held) {
			continue
		}
		if (rule.Feature == Taxi && !have.Taxi) || (rule.Feature == Delivery && !have.Delivery) {
			continue
		}
		out = append(out, scope)
	}
	return out
}

// CommonAudience returns the single audience of the scopes, "" if all are OIDC
// scopes. ok is false if the scopes have more than one audience or if a scope
// is unknown.
func CommonAudience(scopes []string) (audience Audience, ok bool) {
	for _, scope := range scopes {
		rule, known := catalog[scope]
		if !known {
			return "", false
		}
		if rule.Audience == "" {
			continue
		}
		if audience != "" && audience != rule.Audience {
			return "", false
		}
		audience = rule.Audience
	}
	return audience, true
}

// Split returns the scopes of a space-separated list (RFC 6749 section 3.3).
func Split(scope string) []string { return strings.Fields(scope) }
