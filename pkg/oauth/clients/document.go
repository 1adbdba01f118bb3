package clients

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"svc/pkg/access/throttle"
	"svc/pkg/data/table"
	"svc/pkg/oauth/protocol"
)

// A client_id may be an https address that publishes the client's metadata
// (OAuth Client ID Metadata Document). Such a client needs no registration. The
// server fetches the document when a request needs the client and there is no
// fresh copy, and caches it in memory. When the first person consents, the
// server stores the client like a registered one. From then on the token
// endpoint and the checks of every request can read it.

const (
	leastDocumentLife = 5 * time.Minute    // lower limit of max-age, because a sign-in takes several requests
	usualDocumentLife = time.Hour          // cache time without max-age, or with max-age=0, no-store or no-cache
	mostDocumentLife  = 24 * time.Hour     // upper limit of max-age
	staleLife         = 7 * 24 * time.Hour // use of a stored client after DocumentUntil, while fetches fail
	retryAfter        = time.Minute        // minimum time between two fetches of keys, or of a stored client's document
	mostDocuments     = 256                // entries of each cache in memory
	documentsAtOnce   = 8                  // concurrent fetches of one process
	documentsOfAHost  = 600                // fetches per hour by all callers, of one host or of one stored client
	documentWait      = 2 * documentTime   // longest wait for another fetch of the document, and for a free slot
	documentKey       = "document"         // throttle.Counter.Kind of fetches by one caller's address
	documentHostKey   = "document-host"    // throttle.Counter.Kind of fetches of one host or stored client
)

// parseDocument parses the metadata document that was fetched from the address at. was is
// the stored client, zero if none is stored.
func parseDocument(body []byte, at *url.URL, was Client) (Client, error) {
	m, err := parseMetadata(body)
	if err != nil {
		return Client{}, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return Client{}, badMetadata("The body is not a JSON object.")
	}
	switch {
	case m.ClientID == nil || *m.ClientID != at.String():
		return Client{}, badMetadata("client_id must be the document's own address.")
	case m.ClientSecret != nil || members["client_secret_expires_at"] != nil:
		return Client{}, badMetadata("A document that anybody can read must not hold a secret.")
	}
	method, public, err := m.documentMethod()
	if err != nil {
		return Client{}, err
	}
	m.AuthMethod, m.alsoPublic, m.was = &method, public, was
	if m.Name == nil {
		name := at.Host
		m.Name = &name
	}
	c, err := m.client()
	c.ID = at.String()
	return c, err
}

// DocumentError reports a metadata document that cannot be used. Its text is
// safe to show.
type DocumentError struct{ Reason string }

func (e *DocumentError) Error() string { return e.Reason }

// document returns the client whose metadata document is at the address: the stored or the
// cached one while it is fresh, otherwise a fetched one. If the document is
// unreachable, the stored client stays usable for staleLife. The error is
// ErrUnknown, a *DocumentError, a throttle's 429, or an error of the table.
func (reg *Registry) document(ctx context.Context, at *url.URL) (Client, error) {
	id := at.String()
	it, err := reg.p.Get(ctx, reg.Key(id))
	if err != nil {
		return Client{}, fmt.Errorf("reading a client: %w", err)
	}
	stored, err := FromItem(it, reg.now())
	switch {
	case err != nil && !errors.Is(err, ErrUnknown):
		return Client{}, err
	case err == nil && stored.Disabled:
		return Client{}, ErrUnknown
	case err == nil && reg.now().Before(stored.DocumentUntil):
		return stored, nil
	}
	if c, ok := reg.documents.get(id, reg.now(), reg.fetchedAt(stored)); ok {
		return c, nil
	}
	stale := err == nil && reg.now().Before(stored.DocumentUntil.Add(staleLife))
	if stale && reg.documents.triedRecently(id, reg.now()) {
		return stored, nil
	}
	c, err := reg.fetch(ctx, at, stored)
	if stale && unreachable(err) {
		reg.documents.noteTry(id, reg.now())
		return stored, nil
	}
	var failed *fetchError
	if errors.As(err, &failed) {
		reg.log.InfoContext(ctx, "a client's document could not be fetched", "host", at.Host, "error", failed.cause)
		return Client{}, &DocumentError{"the document at client_id could not be fetched"}
	}
	var bad *protocol.Error
	if errors.As(err, &bad) && bad.Status == http.StatusBadRequest {
		return Client{}, &DocumentError{"the document at client_id is not valid: " + bad.Description}
	}
	return c, err
}

// unreachable reports whether the error means that a document could not be
// fetched, or that a throttle prevented the fetch. A response with a wrong
// status, type or size counts as unreachable. A fetched document with invalid
// content does not.
func unreachable(err error) bool {
	var failed *fetchError
	_, throttled := throttle.Refused(err)
	return throttled || errors.As(err, &failed)
}

// fetch fetches, validates and caches the document. If the cache has a fresh document that
// is not older than the stored client, fetch returns that. It does not cache failures.
// Each fetch is charged to the hourly budget of the caller's address. It is also charged to
// the budget of the document's host or, if somebody has consented to the client and it is
// stored, to that of the client. So requests for invented addresses of the same host cannot
// use up the budget of a stored client.
func (reg *Registry) fetch(ctx context.Context, at *url.URL, stored Client) (Client, error) {
	if reg.ours(at) {
		return Client{}, errOurs
	}
	done, err := reg.documents.alone(ctx, at.String())
	if err != nil {
		return Client{}, err
	}
	defer done()
	if c, ok := reg.documents.get(at.String(), reg.now(), reg.fetchedAt(stored)); ok { // another request fetched it
		return c, nil
	}
	if err := reg.spendOfAddress(ctx); err != nil {
		return Client{}, err
	}
	budget := at.Host
	if stored.ID != "" {
		budget = at.String()
	}
	if err := reg.spend(ctx, budget); err != nil {
		return Client{}, err
	}
	asked := reg.now()
	body, life, err := fetchDocument(ctx, reg.documents.transport, at.String())
	if err != nil {
		return Client{}, err
	}
	c, err := parseDocument(body, at, stored)
	if err != nil {
		return Client{}, err
	}
	c.CreatedAt = reg.now().Truncate(time.Second)
	c.DocumentUntil, c.FetchedAt = reg.now().Add(lifeOf(life)), asked
	reg.documents.put(c)
	return c, nil
}

// lifeOf returns how long to cache a response with this max-age. A maxAge of 0,
// as freshness returns it, gives usualDocumentLife.
func lifeOf(maxAge time.Duration) time.Duration {
	return min(max(cmp.Or(maxAge, usualDocumentLife), leastDocumentLife), mostDocumentLife)
}

// errOurs is the error for an address at this server's own host, which fetch does not
// request.
var errOurs = &fetchError{errors.New("the address is at this server's own host")}

// ours reports whether an address is at the server's own host.
func (reg *Registry) ours(at *url.URL) bool {
	own, err := url.Parse(reg.baseURL)
	return err == nil && own.Hostname() == at.Hostname()
}

// spendOfAddress charges a fetch to the budget of the caller's address. If the
// budget is used up, the error is a throttle's 429.
func (reg *Registry) spendOfAddress(ctx context.Context) error {
	return reg.throttle.Count(ctx, throttle.Counter{Kind: documentKey, Key: reg.throttle.Address(ctx),
		Limit: reg.limits.Documents, Window: time.Hour})
}

// spend charges a fetch to the budget of a host or of a client. If the budget is
// used up, the error is a throttle's 429.
func (reg *Registry) spend(ctx context.Context, budget string) error {
	if reg.limits.Documents < 0 {
		return nil
	}
	return reg.throttle.Count(ctx, throttle.Counter{Kind: documentHostKey, Key: budget, Limit: documentsOfAHost,
		Window: time.Hour})
}

// fetchedAt returns when a stored client's document was requested. A time more
// than a minute in the future comes from a machine whose clock is fast.
// fetchedAt then returns the zero time, so that a document that is fetched now
// can replace the stored one.
func (reg *Registry) fetchedAt(c Client) time.Time {
	if c.FetchedAt.After(reg.now().Add(time.Minute)) {
		return time.Time{}
	}
	return c.FetchedAt
}

// Keep stores the client of a metadata document or CommandLine, with the copies of its state,
// or updates the stored client. It returns the stored client. It returns a registered client
// unchanged. Documents are ordered by FetchedAt. An earlier document never
// replaces a later one, because it could bring back a key that the client has
// removed. If an operator of the platform disabled the client, Keep changes
// nothing and returns ErrUnknown.
func (reg *Registry) Keep(ctx context.Context, c Client) (kept Client, err error) {
	if c.Host() == "" && c.ID != CommandLine {
		return c, nil
	}
	err = table.Retry(ctx, func(ctx context.Context) error {
		it, err := reg.p.Get(ctx, reg.Key(c.ID))
		if err != nil {
			return fmt.Errorf("keeping a client: %w", err)
		}
		now := reg.now()
		was, err := FromItem(it, now)
		tx := reg.p.Write()
		switch {
		case errors.Is(err, ErrUnknown):
			kept = c
			kept.Expires, kept.version = now.Add(UnusedLife), 1
			tx.Put(reg.Item(kept)).If("attribute_not_exists(pk) OR 'expiresAt' <= ?", now.Unix()).Else(table.ErrConflict)
			for _, it := range reg.stateItems(kept) {
				tx.Put(it)
			}
		case err != nil:
			return err
		case was.Disabled:
			return ErrUnknown
		case c.FetchedAt.Before(reg.fetchedAt(was)), c.FetchedAt.Equal(was.FetchedAt) && slices.Equal(was.Keys, c.Keys) &&
			was.KeysURI == c.KeysURI:
			kept = was
			return nil
		default:
			kept = c.after(was)
			tx.Replace(reg.Item(kept)).Else(table.ErrConflict)
			reg.setScopes(tx, was, kept)
		}
		return tx.Commit(ctx)
	})
	return kept, err
}

// renewed fetches the client's document again if the stored one is too old, and
// returns the updated client. With force it fetches the document in any case, but at most
// once in retryAfter. If a forced fetch fails, renewed returns the stored client. It
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
		if next, err = reg.fetch(ctx, at, c); err != nil {
			return c, nil // the stored client is used while its document cannot be fetched
		}
	}
	kept, err := reg.Keep(ctx, next)
	if err != nil {
		reg.documents.noteTry(c.ID, time.Time{}) // so that a retry of this request may fetch again
	}
	return kept, err
}

// after returns the client c, which replaces was, with those fields of was that belong to
// the server's record and not to the document.
func (c Client) after(was Client) Client {
	c.CreatedAt, c.Expires, c.version, c.unknown = was.CreatedAt, was.Expires, was.version, was.unknown
	return c
}
