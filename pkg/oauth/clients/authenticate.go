package clients

import (
	"context"

	"svc/pkg/base/ids"
	"svc/pkg/oauth/protocol"
)

// Authenticate returns the client if the credentials are the client's own, and
// of a method that the client registered or its document lists. For an
// assertion, it may fetch the client's document and keys again. The caller must use
// the assertion (Spend, AddSpend), so that it is accepted once. The error is
// invalid_client, a throttle's 429, or an error of the table.
func (reg *Registry) Authenticate(ctx context.Context, c Client, by protocol.Credentials) (Client, error) {
	if by.Method == protocol.AuthKey {
		return reg.authenticateByKey(ctx, c, by)
	}
	if !c.authenticates(by) {
		return Client{}, c.refusal(by)
	}
	return c, nil
}

// authenticates reports whether the client is enabled, and the credentials are
// the client's own, of a method that the client registered. The credentials
// must not contain an assertion.
func (c Client) authenticates(by protocol.Credentials) bool {
	switch {
	case c.Disabled || c.ID != by.ClientID:
		return false
	case by.Method == protocol.AuthNone:
		return c.Public()
	case c.Machine != nil:
		return c.AuthMethod == by.Method && c.secretID != ""
	}
	return c.secret() && c.AuthMethod == by.Method && protocol.Equal(ids.Hash(by.Secret), c.SecretHash)
}

// refusal returns the error invalid_client. If the credentials are of a method
// that the client did not register, its text names the registered one: this is the most
// common mistake of a first integration, and a client_id is public. It says nothing about
// a secret.
func (c Client) refusal(by protocol.Credentials) *protocol.Error {
	refused := protocol.InvalidClient(by.Header)
	if !c.Disabled && by.Method != c.AuthMethod {
		refused.Description = "The client registered the authentication method " + c.AuthMethod +
			", and this request used " + by.Method + "."
	}
	return refused
}
