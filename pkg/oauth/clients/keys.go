package clients

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"svc/pkg/access/signing"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/oauth/protocol"
)

// A client may authenticate with a JWT that its private key signed (RFC 7523).
// The client's metadata has the public keys in jwks, or their address in
// jwks_uri. The server fetches that address with the same transport, time and
// size limit as a metadata document, and caches the keys in memory.

// staleKeys is how long cached keys may be used after their cache time, if
// newer ones cannot be fetched.
const staleKeys = time.Hour

// mostProven is the maximum number of proven key sets. It leaves room in a full
// cache for the sets that are not proven yet.
const mostProven = mostDocuments - documentsAtOnce

// keySet is the cached key set of a jwks_uri.
type keySet struct {
	keys   signing.ClientKeys
	until  time.Time // when it must be fetched again
	tried  time.Time // time of the last fetch, successful or not
	proven bool      // a key of the set has verified an assertion in this process
	order  uint64    // of its insertion or, once it is proven, of the last assertion that it verified
}

// usable returns the keys to accept if the process cannot fetch newer ones now.
func (s keySet) usable(now time.Time) signing.ClientKeys {
	if now.Before(s.until.Add(staleKeys)) {
		return s.keys
	}
	return nil
}

// keySets caches key sets by client and address: at most mostDocuments, of which
// at most mostProven are proven. Anybody can register clients and make the
// server fetch their keys, but only the holder of a key can prove a set. So
// unproven sets never evict a proven one.
type keySets struct {
	mu    sync.Mutex
	byURI map[string]keySet
	last  uint64 // order of the last insertion or use
}

func (k *keySets) get(uri string) keySet {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.byURI[uri]
}

// put caches a key set. If the cache is full, put evicts the unproven set that
// was inserted first.
func (k *keySets) put(uri string, s keySet) {
	k.mu.Lock()
	defer k.mu.Unlock()
	was, had := k.byURI[uri]
	if !had {
		if len(k.byURI) >= mostDocuments {
			k.evict(false)
		}
		k.last++
		was.order = k.last
	}
	s.proven, s.order = was.proven, was.order // they may have changed during the fetch
	k.byURI[uri] = s
}

// prove marks a cached key set as proven, and as the one used last. If there
// would be more than mostProven proven sets, prove evicts the least recently
// used of them.
func (k *keySets) prove(uri string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, had := k.byURI[uri]
	if !had {
		return
	}
	if !s.proven && k.proven() >= mostProven {
		k.evict(true)
	}
	k.last++
	s.proven, s.order = true, k.last
	k.byURI[uri] = s
}

// proven returns the number of proven sets. The caller holds the lock.
func (k *keySets) proven() (n int) {
	for _, s := range k.byURI {
		if s.proven {
			n++
		}
	}
	return n
}

// evict removes the first set, in order, of the proven or of the unproven ones.
// The caller holds the lock.
func (k *keySets) evict(proven bool) {
	first := ""
	for uri, s := range k.byURI {
		if s.proven == proven && (first == "" || s.order < k.byURI[first].order) {
			first = uri
		}
	}
	delete(k.byURI, first)
}

// Authenticate returns the client if the credentials are the client's own, and
// of a method that the client registered or its document lists. For an
// assertion, it may fetch the client's document and keys again. Each client
// assertion is accepted once. The error is invalid_client, a throttle's 429, or
// an error of the table.
func (reg *Registry) Authenticate(ctx context.Context, c Client, by protocol.Credentials) (Client, error) {
	if by.Method != protocol.AuthKey {
		if !c.authenticates(by) {
			return Client{}, c.refusal(by)
		}
		return c, nil
	}
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
	c.AlsoPublic = false // the client has authenticated in this request
	return c, reg.use(ctx, by.Assertion)
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

var _ = table.Kind{Type: "assertion", Personal: "nothing",
	Once: "a jti is used once; one that is over may be replaced, whatever it holds"}

// use records the assertion until it expires. A second use is rejected. Each
// assertion has its own partition, so that no key is hot.
func (reg *Registry) use(ctx context.Context, a signing.Assertion) error {
	used := table.Item{Key: reg.p.Key("CLIENT", "ASSERTION", ids.Hash(a.Client+" "+a.ID), "ASSERTION"), Type: "assertion",
		Expires: a.Expires}
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := reg.p.Write()
		tx.Put(used).If("attribute_not_exists(pk) OR 'expiresAt' <= ?", reg.now().Unix()).Else(errUsed)
		return tx.Commit(ctx)
	})
	if err != nil {
		return fmt.Errorf("using a client assertion: %w", err)
	}
	return nil
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

// cachedAs is the name of the client's cached key set. Clients with the same
// jwks_uri share neither keys nor failures.
func cachedAs(c Client) string { return c.ID + " " + c.KeysURI }

// fetchedKeys returns the keys at the client's jwks_uri. again asks for keys
// that are newer than the cached ones. If a fetch is not possible, fetchedKeys
// returns the cached keys while they are usable, otherwise none. The fetch
// counts for the caller's address, unless the client was used before or the
// cached set is proven. The error, which may come with older keys, is the
// throttle's 429 or one of the table.
func (reg *Registry) fetchedKeys(ctx context.Context, c Client, again bool) (signing.ClientKeys, error) {
	uri := cachedAs(c)
	if s := reg.keySets.get(uri); !again && reg.now().Before(s.until) {
		return s.keys, nil
	}
	done, err := reg.documents.alone(ctx, uri)
	if err != nil {
		return reg.keySets.get(uri).usable(reg.now()), nil
	}
	defer done()
	s, now := reg.keySets.get(uri), reg.now()
	if now.Before(s.tried.Add(retryAfter)) {
		return s.usable(now), nil
	}
	if !s.proven && !c.Expires.IsZero() { // Expires is zero after the first token
		if err := reg.spendOfAddress(ctx); err != nil {
			return s.usable(now), err // tried is unchanged: a request from another address may fetch
		}
	}
	keys, life, err := reg.fetchKeys(ctx, c, again)
	s.tried = now
	if err == nil {
		s.keys, s.until = keys, now.Add(life)
	} else {
		reg.log.InfoContext(ctx, "a client's keys could not be fetched", "client", c.ID, "error", err)
	}
	reg.keySets.put(uri, s)
	return s.usable(now), nil
}

func (reg *Registry) fetchKeys(ctx context.Context, c Client, again bool) (signing.ClientKeys, time.Duration, error) {
	at, err := url.Parse(c.KeysURI)
	if err != nil || reg.ours(at) {
		return nil, 0, errOurs
	}
	budget := at.Host
	if c.Expires.IsZero() { // a used client has its own budget
		budget = c.ID
	}
	if again { // anybody can cause this fetch by a false assertion, so it has a separate budget
		budget += " again"
	}
	if err := reg.spend(ctx, budget); err != nil {
		return nil, 0, err
	}
	body, life, err := fetchDocument(ctx, reg.documents.transport, c.KeysURI)
	if err != nil {
		return nil, 0, err
	}
	keys, err := signing.ParseClientKeys(body)
	return keys, lifeOf(life), err
}

// renewed fetches the client's document again if the stored one is too old, and
// returns the updated client. force fetches it in any case, but at most once in
// retryAfter. If a forced fetch fails, renewed returns the stored client. It
// returns a registered or a disabled client unchanged.
func (reg *Registry) renewed(ctx context.Context, c Client, force bool) (Client, error) {
	at, ok := documentURL(c.ID)
	if !ok || c.Disabled {
		return c, nil
	}
	var next Client
	var err error
	switch now := reg.now(); {
	case !now.Before(c.DocumentUntil):
		if next, err = reg.document(ctx, at); err != nil {
			return Client{}, err
		}
	case !force || reg.documents.triedRecently(c.ID, now):
		return c, nil
	default:
		reg.documents.noteTry(c.ID, now)
		reg.documents.drop(c.ID)
		if next, err = reg.fetch(ctx, at, true, reg.fetchedAt(c)); err != nil {
			return c, nil // the stored document counts while its address cannot be reached
		}
	}
	kept, err := reg.Keep(ctx, next)
	if err != nil {
		reg.documents.noteTry(c.ID, time.Time{}) // so that a retry of this request may fetch again
	}
	return kept, err
}

// after returns the client with the fields that the server keeps from the stored
// record.
func (c Client) after(was Client) Client {
	c.CreatedAt, c.Expires, c.version, c.unknown = was.CreatedAt, was.Expires, was.version, was.unknown
	return c
}

// setKeys sets the keys and the algorithm with which the client authenticates by
// private_key_jwt (RFC 7591 section 2, OpenID Connect Registration section 2).
func (c *Client) setKeys(m metadata) error {
	if c.AuthMethod != protocol.AuthKey {
		return nil
	}
	c.AuthAlg = or(m.AuthAlg, "")
	switch {
	case c.AuthAlg != "" && !slices.Contains(signing.AssertionAlgorithms, c.AuthAlg):
		return badMetadata("token_endpoint_auth_signing_alg must be ES256, RS256, PS256 or EdDSA.")
	case m.hasKeys() == (m.KeysURI != ""):
		return badMetadata("private_key_jwt needs jwks or jwks_uri, and not both.")
	case m.KeysURI == "":
		if _, err := signing.ParseClientKeys(m.Keys); err != nil {
			return badMetadata("jwks: %s.", err.Error())
		}
		c.Keys = m.Keys
		return nil
	}
	u, err := parseURI(m.KeysURI)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Fragment != "" || !domainName(u.Host) {
		return badMetadata("jwks_uri must be an https address of a domain name, without a port.")
	}
	c.KeysURI = m.KeysURI
	return nil
}

func (m metadata) hasKeys() bool { return len(m.Keys) > 0 && string(m.Keys) != "null" }

// documentMethod returns how the client of a document authenticates. A document
// may list several methods, for several servers. The server takes
// private_key_jwt if the document lists it and its keys can be used. public then
// reports whether a request without credentials is valid too: the document also
// lists none. A document that does not list none never becomes public.
func (m metadata) documentMethod() (method string, public bool, err error) {
	methods := m.AuthMethods
	if m.AuthMethod != nil {
		methods = append(slices.Clip(methods), *m.AuthMethod)
	}
	public = len(methods) == 0 || slices.Contains(methods, protocol.AuthNone)
	err = badMetadata("token_endpoint_auth_method must be none, or private_key_jwt with jwks or jwks_uri.")
	if slices.Contains(methods, protocol.AuthKey) {
		keyed := Client{AuthMethod: protocol.AuthKey}
		if err = keyed.setKeys(m); err == nil {
			return protocol.AuthKey, public, nil
		}
	}
	if public {
		return protocol.AuthNone, false, nil
	}
	return "", false, err
}
