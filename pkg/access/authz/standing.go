package authz

import (
	"time"

	"svc/pkg/access/signing"
	"svc/pkg/base/fault"
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
}

// Standing returns the standing of the token c, whose checks have passed.
func (l Live) Standing(c signing.Access) Standing {
	return Standing{Token: c.ID, Client: c.ClientID, Actor: c.Subject, Audience: c.Audience, Scopes: c.Scopes,
		Epoch: l.Token.Int("epoch"), Since: l.Token.Text("since")}
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
