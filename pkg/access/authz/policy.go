package authz

// Audience is the actor type that a token is issued for (specification, "What
// the service does", 2).
type Audience string

// The three audiences.
const (
	Dashboard Audience = "dashboard"
	Rider     Audience = "rider"
	Driver    Audience = "driver"
)

// Audiences lists all audiences.
var Audiences = []Audience{Dashboard, Rider, Driver}

// The tenant's feature flags.
const (
	Taxi     = "taxiEnabled"
	Delivery = "deliveryEnabled"
)

// ZonesCovered is the flag of a tenant whose zones all have a cover. The zones of a tenant
// from an older build get theirs in the background.
const ZonesCovered = "zonesCovered"

// Policy says who may call an endpoint. The zero Policy denies everyone.
type Policy struct {
	// Scopes maps each permitted audience to its required scope. "" requires a
	// valid token but no scope.
	Scopes map[Audience]string
	// Permission is what an operator's membership must hold now; "" for none.
	Permission string
	// People means that no machine may call: a program must not give itself, or another
	// one, access that outlives it, or erase a person.
	People bool
	// Feature is the tenant's flag that must be on; "" for none. It is checked
	// last.
	Feature string
}

// Operators returns the policy for operators with a scope and a permission; ""
// means that no permission is needed.
func Operators(scope, permission string) Policy {
	return Policy{Scopes: map[Audience]string{Dashboard: scope}, Permission: permission}
}

// Riders returns the policy for riders with a scope.
func Riders(scope string) Policy { return Policy{Scopes: map[Audience]string{Rider: scope}} }

// Drivers returns the policy for drivers with a scope.
func Drivers(scope string) Policy { return Policy{Scopes: map[Audience]string{Driver: scope}} }

// Both returns the policy for riders and drivers, each with a scope.
func Both(rider, driver string) Policy {
	return Policy{Scopes: map[Audience]string{Rider: rider, Driver: driver}}
}

// ByPeople returns the policy without machines.
func (p Policy) ByPeople() Policy {
	p.People = true
	return p
}

// Needing returns the policy with a required feature flag.
func (p Policy) Needing(feature string) Policy {
	p.Feature = feature
	return p
}
