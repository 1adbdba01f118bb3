package authz

import (
	"slices"
	"time"

	"svc/pkg/access/signing"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
)

// State is the current state of the actor and the tenant, as the checks read
// it.
type State struct {
	Actor       table.Item // the membership, customer or driver
	Permissions []string   // of an operator
	Taxi        bool
	Delivery    bool
	Currency    string
	Flags       table.Item // the copy of the tenant's flags that this request read
	ReadShards  int
	WriteShards int
}

// State decodes the state of the actor and the tenant.
func (l Live) State() State {
	return State{
		Actor: l.Actor, Permissions: l.Actor.Strings("permissions"),
		Flags: l.Flags, Taxi: l.Flags.Flag(Taxi), Delivery: l.Flags.Flag(Delivery), Currency: l.Flags.Text("currency"),
		ReadShards:  max(1, int(l.Flags.Int("readShards"))),
		WriteShards: max(1, int(l.Flags.Int("writeShards"))),
	}
}

// Judge runs checks 2 to 6 of the specification ("What the service does", 3) in
// that order. The first check that fails decides the error. Check 1 is the
// verification of the token's signature.
func Judge(policy Policy, c signing.Access, live Live, now time.Time) error {
	if !live.valid(c, now) {
		return fault.Unauthorized("The token is no longer valid.", true)
	}
	return Permits(policy, c, live)
}

// Permits runs checks 3 to 6: the token and its actor have what the policy
// requires.
func Permits(policy Policy, c signing.Access, live Live) error {
	scope, admitted := policy.Scopes[Audience(c.Audience)]
	if !admitted {
		return fault.InsufficientScope(policy.AnyScope())
	}
	if live.Platform {
		return live.State().has(policy.Feature)
	}
	if scope != "" && !slices.Contains(live.Scopes(c), scope) {
		return fault.InsufficientScope(scope)
	}
	if policy.People && IsMachine(c.Subject) {
		return &fault.Error{Kind: fault.KindForbidden, Message: "A machine may not do this. A person must."}
	}
	state := live.State()
	if Audience(c.Audience) == Dashboard && policy.Permission != "" &&
		!slices.Contains(state.Permissions, policy.Permission) {
		return fault.Forbidden(policy.Permission)
	}
	return state.has(policy.Feature)
}

// has returns an error if the tenant's feature is off.
func (s State) has(feature string) error {
	if (feature == Taxi && !s.Taxi) || (feature == Delivery && !s.Delivery) {
		return fault.FeatureDisabled(feature)
	}
	return nil
}

// valid runs check 2. The token has an audit record, which has not expired and
// is not revoked. The grant's epoch and the actor's since equal those at the
// token's issue. The actor, the tenant and the client exist and are enabled.
// The client still registers the token's audience. A machine has not reached its end, and
// the secret that got the token was not removed.
//
// The audit record must have the same client and actor as the claims. Otherwise
// a stolen signing key would be enough to act as someone else. The audience
// needs no comparison, because it is part of the key under which the actor is
// read.
//
// The platform's operator has no token; the tenant must exist.
func (l Live) valid(c signing.Access, now time.Time) bool {
	if l.Platform {
		return l.Flags.Found()
	}
	return l.Token.Live(now) && !l.Token.Flag("revoked") &&
		l.Token.Text("client") == c.ClientID && l.Token.Text("actor") == c.Subject &&
		(!l.Token.Has("credential") || slices.Contains(l.Actor.Strings("credentials"), l.Token.Text("credential"))) &&
		l.stands(c, l.Token.Int("epoch"), l.Token.Text("since"), now)
}

// stands is the part of check 2 that does not need the token's audit record. The
// epoch and since are those at the token's issue.
func (l Live) stands(c signing.Access, epoch int64, since string, now time.Time) bool {
	return l.Grant.Found() && epoch == l.Grant.Int("epoch") &&
		l.Actor.Found() && !l.Actor.Flag("disabled") && since == l.Actor.Text("since") && !Ended(l.Actor, now) &&
		l.Flags.Found() && !l.Flags.Flag("disabled") &&
		l.Client.Live(now) && !l.Client.Flag("disabled") && l.registers("audiences", c.Audience)
}

// Ended reports whether the end of a machine has passed.
func Ended(actor table.Item, now time.Time) bool {
	return actor.Has("until") && now.Unix() >= actor.Int("until")
}

// registers reports whether the client still registers the word. attribute is
// "scopes" or "audiences". The client's state has these attributes only after a
// change of its registration. Without the attribute, nothing was removed.
func (l Live) registers(attribute, word string) bool {
	return !l.Client.Has(attribute) || slices.Contains(Split(l.Client.Text(attribute)), word)
}

// Scopes returns the token's scopes that the client still registers.
func (l Live) Scopes(c signing.Access) []string {
	if !l.Client.Has("scopes") {
		return c.Scopes
	}
	return slices.DeleteFunc(slices.Clone(c.Scopes), func(scope string) bool { return !l.registers("scopes", scope) })
}

// AnyScope returns a scope of the policy, "" if it has none. An error names
// this scope when the token's audience has no access to the endpoint.
func (p Policy) AnyScope() string {
	for _, audience := range Audiences {
		if scope := p.Scopes[audience]; scope != "" {
			return scope
		}
	}
	return ""
}
