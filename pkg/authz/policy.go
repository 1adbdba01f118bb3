package authz

// Audience is the actor type that a token is for (specification, "What the
// service does", 2).
type Audience string

// The three audiences.
const (
	Dashboard Audience = "dashboard"
	Rider     Audience = "rider"
	Driver    Audience = "driver"
)

// Audiences lists them.
var Audiences = []Audience{Dashboard, Rider, Driver}

// The tenant's feature flags.
const (
	Taxi     = "taxiEnabled"
	Delivery = "deliveryEnabled"
)

// Policy says who may call an endpoint. The zero Policy lets nobody in.
type Policy struct {
	// Scopes holds, for each audience let in, the scope it needs; "" is no
	// scope beyond a live token.
	Scopes map[Audience]string
	// Permission is what an operator's membership must hold now; "" is none
	// beyond the membership.
	Permission string
	// Feature is the tenant's flag that must be on, judged last; "" is none.
	Feature string
}

// Operators is the policy for operators with a scope and a permission.
func Operators(scope, permission string) Policy {
	return Policy{Scopes: map[Audience]string{Dashboard: scope}, Permission: permission}
}

// Riders is the policy for riders with a scope.
func Riders(scope string) Policy { return Policy{Scopes: map[Audience]string{Rider: scope}} }

// Drivers is the policy for drivers with a scope.
func Drivers(scope string) Policy { return Policy{Scopes: map[Audience]string{Driver: scope}} }

// Both is the policy for riders and drivers, each with a scope.
func Both(rider, driver string) Policy {
	return Policy{Scopes: map[Audience]string{Rider: rider, Driver: driver}}
}

// Needing is the policy with a feature flag.
func (p Policy) Needing(feature string) Policy {
	p.Feature = feature
	return p
}
