package authz

import (
	"cmp"
	"time"

	"svc/pkg/access/signing"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
)

// Standing is what a job keeps of the token with which it was begun. A job may
// last longer than the token. It must end when the token would have been revoked.
type Standing struct {
	Token    string   `json:"token"`
	Client   string   `json:"client"`
	Actor    string   `json:"actor"`
	Audience string   `json:"audience"`
	Scopes   []string `json:"scopes"`
	Epoch    int64    `json:"epoch"`
	Since    string   `json:"since,omitempty"`
	Family   string   `json:"family,omitempty"`
	Agents   string   `json:"agents,omitempty"` // what the person let agents do; "" if the token is no agent's
}

// Standing returns the standing of the token c, whose checks have passed. It is empty for
// the platform's operator.
func (l Live) Standing(c signing.Access) Standing {
	if l.Platform {
		return Standing{}
	}
	out := Standing{Token: c.ID, Client: c.ClientID, Actor: c.Subject, Audience: c.Audience, Scopes: c.Scopes,
		Epoch: l.Token.Int("epoch"), Since: l.Token.Text("since"), Family: l.Token.Text("family")}
	if l.AgentMode() != "" {
		out.Agents = AgentMode(l.Token)
	}
	return out
}

// Access returns the claims of the token, without its times.
func (s Standing) Access(tenant string) signing.Access {
	return signing.Access{ID: s.Token, ClientID: s.Client, Subject: s.Actor, Audience: s.Audience, TenantID: tenant,
		Scopes: s.Scopes}
}

// Continue runs checks 2 to 6 for a job. They are those of Judge, except that
// the token may have expired.
func (s Standing) Continue(policies []Policy, live Live, now time.Time) error {
	c := s.Access("")
	if live.Token.Flag("revoked") || !live.stands(c, s.Epoch, s.Since, now) {
		return fault.Unauthorized("The token that began this is no longer valid.", true)
	}
	for _, p := range policies {
		if err := Permits(p, c, live); err != nil {
			return err
		}
	}
	return nil
}

// FamilyKey returns the key of what one authorization produced: its refresh token and
// access tokens.
func FamilyKey(t table.Tenant, id string) table.Key { return t.Key("FAMILY", id, "FAMILY") }

// Keys returns the keys of the items that Outlasts judges. A machine's tokens have no
// family: its own item is in its place.
func (s Standing) Keys(t table.Tenant, p table.Platform) []table.Key {
	family := FamilyKey(t, s.Family)
	if IsMachine(s.Actor) {
		family = ActorKey(t, Dashboard, s.Actor)
	}
	return append(LiveKeys(t, p, s.Access(t.ID())), family)
}

// Outlasts runs checks 2 to 6 for what an agent began and lasts longer than the
// audit record of its token. In place of that record, the token's family must not
// have ended. The tenant must still let agents change something. items are those of
// Keys.
func (s Standing) Outlasts(policies []Policy, items []table.Item, now time.Time) error {
	live, family := LiveFrom(items), items[len(items)-1]
	if !family.Live(now) || family.Flag("revoked") || !IsMachine(s.Actor) && family.Text("actor") != s.Actor {
		return fault.Unauthorized("The access that began this has ended.", true)
	}
	mode := Stricter(cmp.Or(s.Agents, AgentsConfirm), AgentMode(live.Flags))
	if mode != AgentsConfirm && mode != AgentsAll {
		return fault.FeatureDisabled(AgentActions)
	}
	live.Token = table.Item{}
	return s.Continue(policies, live, now)
}
