package authz

import (
	"slices"
	"strings"
)

// Rule is what a scope of the catalog takes (specification, "Scope catalog").
type Rule struct {
	Audience    Audience // "" for the OIDC scopes, which any audience may have
	Permissions []string // an operator needs one of them; none for no requirement
	Feature     string   // a rider needs the tenant's flag; "" for none
}

// The catalog: every scope that exists.
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
	"tenant.builds:read":      operator("VIEW_APP_BUILDER"),
	"tenant.builds:write":     operator("MANAGE_APP_BUILDER"),
	"tenant.businesses:read":  operator("VIEW_BUSINESSES"),
	"tenant.businesses:write": operator("MANAGE_BUSINESSES"),
	"tenant.delivery:read":    operator("VIEW_FOOD_ORDERS"),
	"tenant.delivery:write":   operator("MANAGE_FOOD_ORDERS"),
	"tenant.wallets:read":     operator("VIEW_WALLETS"),
	"tenant.wallets:write":    operator("MANAGE_WALLETS"),
	"tenant.branding:write":   operator("EDIT_BRANDING"),
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

	"driver.profile:read":    {Audience: Driver},
	"driver.status:write":    {Audience: Driver},
	"driver.trips:read":      {Audience: Driver},
	"driver.trips:accept":    {Audience: Driver},
	"driver.trips:complete":  {Audience: Driver},
	"driver.wallet:read":     {Audience: Driver},
	"driver.wallet:withdraw": {Audience: Driver},
	"driver.documents:read":  {Audience: Driver},
}

// viewBranding is a permission of an endpoint; the catalog names it beside VIEW_SETTINGS.
const viewBranding = "VIEW_BRANDING"

func operator(permissions ...string) Rule {
	return Rule{Audience: Dashboard, Permissions: permissions}
}

// RuleOf gives the catalog's rule for a scope.
func RuleOf(scope string) (Rule, bool) {
	rule, ok := catalog[scope]
	return rule, ok
}

// Scopes lists the catalog's scopes for an audience, the OIDC ones included,
// in order.
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

// Permissions lists every permission there is, in order.
func Permissions() []string {
	set := []string{viewBranding}
	for _, rule := range catalog {
		set = append(set, rule.Permissions...)
	}
	slices.Sort(set)
	return slices.Compact(set)
}

// Have is what an actor may have now: the membership's permissions and the
// tenant's flags.
type Have struct {
	Permissions []string
	Taxi        bool
	Delivery    bool
}

// Grantable gives those of the asked scopes that an actor of the audience may
// be granted now, in the order asked, each once.
func Grantable(audience Audience, asked []string, have Have) []string {
	var out []string
	for _, scope := range asked {
		rule, ok := catalog[scope]
		if !ok || (rule.Audience != "" && rule.Audience != audience) || slices.Contains(out, scope) {
			continue
		}
		if len(rule.Permissions) > 0 && !slices.ContainsFunc(rule.Permissions, func(p string) bool { return slices.Contains(have.Permissions, p) }) {
			continue
		}
		if (rule.Feature == Taxi && !have.Taxi) || (rule.Feature == Delivery && !have.Delivery) {
			continue
		}
		out = append(out, scope)
	}
	return out
}

// AudienceOf gives the one audience that the scopes ask for, "" when they are
// OIDC scopes only; ok is false when two audiences meet or a scope is unknown.
func AudienceOf(scopes []string) (audience Audience, ok bool) {
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

// Split gives the scopes of a space-separated list (RFC 6749 section 3.3).
func Split(scope string) []string { return strings.Fields(scope) }
