package clients

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"svc/pkg/access/signing"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/oauth/protocol"
)

// authenticateByKey is Authenticate for an assertion. Only this way of
// authentication reads the client's document.
func (reg *Registry) authenticateByKey(ctx context.Context, c Client, by protocol.Credentials) (Client, error) {
	c, err := reg.renewed(ctx, c, c.AuthMethod != protocol.AuthKey)
	if unusable(err) {
		return Client{}, protocol.InvalidClient(by.Header)
	}
	if err != nil {
		return Client{}, err
	}
	if c.Disabled || c.ID != by.ClientID || c.AuthMethod != protocol.AuthKey ||
		(c.AuthAlg != "" && c.AuthAlg != by.Assertion.Alg) {
		return Client{}, c.refusal(by)
	}
	signed, err := reg.signed(ctx, &c, by.Assertion)
	if err != nil {
		return Client{}, err
	}
	if !signed {
		return Client{}, c.refusal(by)
	}
	c.proved, c.assertion = true, by.Assertion
	return c, nil
}

// Spend uses the assertion by which a client has authenticated, if it has.
func (reg *Registry) Spend(ctx context.Context, c Client) error {
	if c.assertion.ID == "" {
		return nil
	}
	return reg.use(ctx, c.assertion)
}

// AddSpend is Spend in the transaction of a token. So no second request is needed, and one
// assertion gets one token at most.
func (reg *Registry) AddSpend(tx *table.Tx, c Client) {
	if c.assertion.ID != "" {
		reg.addUse(tx.Covers(reg.p.Handle), c.assertion)
	}
}

// unusable reports whether the error says that the client's document is missing
// or wrong, or that the client was disabled.
func unusable(err error) bool {
	bad := new(DocumentError)
	return errors.Is(err, ErrUnknown) || errors.As(err, &bad)
}

// Recognizes reports whether the credentials contain no assertion, or one that
// a stored or cached key of the client signed. It fetches nothing, and does not
// check a secret.
func (reg *Registry) Recognizes(c Client, by protocol.Credentials) bool {
	if by.Method != protocol.AuthKey {
		return true
	}
	if c.KeysURI != "" {
		return by.Assertion.Verify(reg.keySets.get(cachedAs(c)).usable(reg.now()))
	}
	keys, err := signing.ParseClientKeys(c.Keys)
	return err == nil && by.Assertion.Verify(keys)
}

var errUsed = &protocol.Error{Status: http.StatusUnauthorized, Code: "invalid_client",
	Description: "The client assertion was used before. Send a new one with another jti."}

var _ = table.Kind[any]{Type: "assertion", Personal: "nothing",
	Once: "a jti is used once; one that is over may be replaced, whatever it holds"}

// use records the assertion until it expires. A second use is rejected. The caller has
// verified the signature, so that nobody else can use up a jti. Each assertion has its own
// partition, so that no key is hot.
func (reg *Registry) use(ctx context.Context, a signing.Assertion) error {
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := reg.p.Write()
		reg.addUse(tx, a)
		return tx.Commit(ctx)
	})
	if err != nil {
		return fmt.Errorf("using a client assertion: %w", err)
	}
	return nil
}

func (reg *Registry) addUse(tx *table.Tx, a signing.Assertion) {
	used := table.Item{Key: reg.p.Key("CLIENT", "ASSERTION", ids.Hash(a.Client+" "+a.ID), "ASSERTION"), Type: "assertion",
		Expires: a.Expires}
	tx.Put(used).If("attribute_not_exists(pk) OR 'expiresAt' <= ?", reg.now().Unix()).Else(errUsed)
}

// signed reports whether a key of the client signed the assertion. If none did,
// signed fetches the keys and then the document again, each at most once in
// retryAfter, because the client may have changed its keys. It updates c if the
// document now has other keys.
func (reg *Registry) signed(ctx context.Context, c *Client, a signing.Assertion) (bool, error) {
	if ok, err := reg.signedAtURI(ctx, *c, a, false); ok || err != nil {
		return ok, err
	}
	if keys, err := signing.ParseClientKeys(c.Keys); err == nil && a.Verify(keys) {
		return true, nil
	}
	if ok, err := reg.signedAtURI(ctx, *c, a, true); ok || err != nil {
		return ok, err
	}
	had := *c
	next, err := reg.renewed(ctx, had, true)
	if unusable(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if next.AuthMethod != protocol.AuthKey || (next.KeysURI == had.KeysURI && slices.Equal(next.Keys, had.Keys)) {
		return false, nil
	}
	*c = next
	if c.KeysURI != "" {
		return reg.signedAtURI(ctx, *c, a, false)
	}
	keys, err := signing.ParseClientKeys(c.Keys)
	return err == nil && a.Verify(keys), nil
}

// signedAtURI reports whether a key at the client's jwks_uri signed the
// assertion, and marks the cached set as proven if so. again asks for keys that
// are newer than the cached ones.
func (reg *Registry) signedAtURI(ctx context.Context, c Client, a signing.Assertion, again bool) (bool, error) {
	if c.KeysURI == "" {
		return false, nil
	}
	keys, err := reg.fetchedKeys(ctx, c, again)
	if !a.Verify(keys) {
		return false, err
	}
	reg.keySets.prove(cachedAs(c))
	return true, nil
}
