package clients

import (
	"slices"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/data/table"
	"svc/pkg/domain/machine"
	"svc/pkg/oauth/protocol"
)

// FromMachine returns the client as which a machine of the tenant makes a request. The
// machine may have secrets and keys at the same time, so its method is that of the request
// if it can be. The error is ErrUnknown if there is no such machine.
func FromMachine(t table.Tenant, it table.Item, by protocol.Credentials, now time.Time) (Client, error) {
	if !it.Found() {
		return Client{}, ErrUnknown
	}
	r, err := machine.Kind.FromItem(it)
	if err != nil {
		return Client{}, err
	}
	m := r.SignIn(t, now)
	c := Client{ID: m.ClientID, Name: m.Name, AuthMethod: protocol.AuthBasic, Keys: m.Keys, KeysURI: m.KeysURI,
		Audiences: []authz.Audience{authz.Dashboard}, Scopes: machineScopes(), Disabled: m.Disabled, Machine: &m}
	keys := m.Keys != nil || m.KeysURI != ""
	switch {
	case by.Method == protocol.AuthPost, by.Method == protocol.AuthKey && keys:
		c.AuthMethod = by.Method
	case keys && !m.HasSecret:
		c.AuthMethod = protocol.AuthKey
	}
	c.secretID = m.Secret(by.Secret, now)
	return c, nil
}

// SecretID returns the id of the secret by which the machine has authenticated, "" if it has
// by a key.
func (c Client) SecretID() string { return c.secretID }

// machineScopes are the scopes that a machine may have: it is nobody of whom an ID token
// could tell.
func machineScopes() []string {
	return slices.DeleteFunc(authz.Scopes(authz.Dashboard), func(scope string) bool {
		rule, _ := authz.FindRule(scope)
		return rule.Audience == ""
	})
}
