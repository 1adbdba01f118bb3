package authz

import (
	"slices"
	"time"

	"svc/pkg/fault"
	"svc/pkg/signing"
	"svc/pkg/table"
)

// State is what was live when a request was judged.
type State struct {
	Actor       table.Item // the membership, customer or driver
	Permissions []string   // an operator's
	Taxi        bool
	Delivery    bool
	Currency    string
	Flags       table.Item // the copy of the tenant's flags that was read
	ReadShards  int
	WriteShards int
}

// StateOf reads the state of the items that LiveKeys named.
func StateOf(items []table.Item) State {
	actor, flags := items[2], items[3]
	return State{Actor: actor, Permissions: actor.Strings("permissions"), Taxi: flags.Flag(Taxi), Delivery: flags.Flag(Delivery),
		Flags: flags, Currency: flags.Text("currency"), ReadShards: max(1, int(flags.Int("readShards"))), WriteShards: max(1, int(flags.Int("writeShards")))}
}

// Judge makes checks 2 to 6 of the specification ("What the service does", 3)
// in their order, over the items that LiveKeys named; check 1 is the token's
// verification. The first that fails is the answer, whatever else is wrong.
func Judge(policy Policy, c signing.Access, items []table.Item, now time.Time) error {
	if !alive(items, now) {
		return fault.Unauthorized("The token is no longer good.", true)
	}
	scope, admitted := policy.Scopes[Audience(c.Audience)]
	if !admitted {
		return fault.InsufficientScope(policy.anyScope())
	}
	if scope != "" && !slices.Contains(c.Scopes, scope) {
		return fault.InsufficientScope(scope)
	}
	state := StateOf(items)
	if Audience(c.Audience) == Dashboard && policy.Permission != "" && !slices.Contains(state.Permissions, policy.Permission) {
		return fault.Forbidden(policy.Permission)
	}
	if (policy.Feature == Taxi && !state.Taxi) || (policy.Feature == Delivery && !state.Delivery) {
		return fault.FeatureDisabled(policy.Feature)
	}
	return nil
}

// alive is check 2: the audit record is there, not revoked, of the grant's
// present epoch and the actor's present membership, and the actor, the tenant
// and the client still stand.
func alive(items []table.Item, now time.Time) bool {
	token, grant, actor, flags, client := items[0], items[1], items[2], items[3], items[4]
	return token.Live(now) && !token.Flag("revoked") &&
		grant.Found() && token.Int("epoch") == grant.Int("epoch") &&
		actor.Found() && !actor.Flag("disabled") && token.Text("since") == actor.Text("since") &&
		flags.Found() && !flags.Flag("disabled") &&
		client.Live(now) && !client.Flag("disabled")
}

// anyScope is the scope an endpoint names to a token of an audience that it
// does not let in.
func (p Policy) anyScope() string {
	for _, audience := range Audiences {
		if scope := p.Scopes[audience]; scope != "" {
			return scope
		}
	}
	return ""
}
