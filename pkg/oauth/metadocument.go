package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"svc/pkg/authz"
	"svc/pkg/ids"
	"svc/pkg/table"
)

// A client may be named by an https address at which its metadata is published
// (OAuth Client ID Metadata Document): nobody registers it. The document is
// fetched when a person is sent to authorize, kept for a while in memory, and
// stored like a registered client once somebody let the client in. From then on
// the token endpoint and the checks of every request know it.

const (
	longestDocumentURL = 400              // characters: it stands in keys
	leastDocumentLife  = 5 * time.Minute  // a sign-in takes several requests
	usualDocumentLife  = time.Hour        // where the answer says nothing
	mostDocumentLife   = 24 * time.Hour   // whatever the answer says
	mostDocuments      = 256              // kept in memory
	documentsAtOnce    = 8                // fetched by one process
	documentsOfAHost   = 600              // fetched an hour, whoever asks
	documentWait       = 2 * documentTime // for another fetch of the same document
	documentKey        = "document"       // the kinds of throttle
	documentHostKey    = "document-host"  //
)

// documentURL reads a client_id that is the address of a document. The host is
// a name, the port that of https; there is one way to write an address only.
func documentURL(id string) (*url.URL, bool) {
	if len(id) > longestDocumentURL || !strings.HasPrefix(id, "https://") || strings.ContainsAny(id, "?#%") {
		return nil, false
	}
	u, err := parseURI(id)
	if err != nil || u.User != nil || u.Opaque != "" || u.Path == "" || u.Path == "/" || u.Port() != "" || strings.Contains(u.Host, ":") || dotted(u) {
		return nil, false
	}
	if !domainName(u.Host) || u.String() != id {
		return nil, false
	}
	return u, true
}

// domainName says whether a host is a name of at least two labels, in lower
// case, whose last one is not a number: no way to write an IP address.
func domainName(host string) bool {
	labels := strings.Split(host, ".")
	if len(host) > 253 || len(labels) < 2 {
		return false
	}
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	top := labels[len(labels)-1]
	return strings.Trim(top, "0123456789") != "" && !strings.HasPrefix(top, "0x")
}

// clientID says whether a text can name a client: only then is it part of a key.
func clientID(id string) bool {
	if ids.Valid(ids.Client, id) {
		return true
	}
	_, ok := documentURL(id)
	return ok
}

// parseDocument reads the document that was found at the address.
func parseDocument(body []byte, at *url.URL) (Client, error) {
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
	case m.AuthMethod != nil && *m.AuthMethod != authNone:
		return Client{}, badMetadata("token_endpoint_auth_method must be none.")
	}
	none := authNone
	m.AuthMethod = &none
	if m.Name == nil {
		name := at.Host
		m.Name = &name
	}
	m.knownScopes()
	c, err := m.client()
	c.ID = at.String()
	return c, err
}

// knownScopes leaves out of a document the scopes that the catalog does not
// have, and lets it have every audience unless it names some: it was not
// written for this server alone.
func (m *metadata) knownScopes() {
	named := len(m.Audiences) > 0
	if m.Scope != nil {
		var known []string
		for _, scope := range authz.Split(*m.Scope) {
			if rule, ok := authz.RuleOf(scope); ok {
				known, named = append(known, scope), named || rule.Audience != ""
			}
		}
		if len(known) > 0 { // else it is told what is wrong with the first
			text := strings.Join(known, " ")
			m.Scope = &text
		}
	}
	if !named {
		for _, audience := range authz.Audiences {
			m.Audiences = append(m.Audiences, string(audience))
		}
	}
}

// documents fetches and keeps clients' documents.
type documents struct {
	transport http.RoundTripper
	turns     chan struct{}

	mu    sync.Mutex
	kept  map[string]Client
	under map[string]chan struct{} // being fetched; closed at the end
}

func newDocuments(transport http.RoundTripper) *documents {
	if transport == nil {
		transport = onInternet()
	}
	return &documents{transport: transport, turns: make(chan struct{}, documentsAtOnce), kept: map[string]Client{}, under: map[string]chan struct{}{}}
}

// get gives what is kept of the document, if it is fresh.
func (d *documents) get(id string, now time.Time) (Client, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, ok := d.kept[id]
	return c, ok && now.Before(c.DocumentUntil)
}

// put keeps a document, in place of the one that ends first when there are
// too many.
func (d *documents) put(c Client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, had := d.kept[c.ID]; !had && len(d.kept) >= mostDocuments {
		first := ""
		for id, one := range d.kept {
			if first == "" || one.DocumentUntil.Before(d.kept[first].DocumentUntil) {
				first = id
			}
		}
		delete(d.kept, first)
	}
	d.kept[c.ID] = c
}

// alone waits until nobody else fetches the document and one of the turns is
// free; done gives both back.
func (d *documents) alone(ctx context.Context, id string) (done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, documentWait)
	defer cancel()
	mine := make(chan struct{})
	for {
		d.mu.Lock()
		other, busy := d.under[id]
		if !busy {
			d.under[id] = mine
		}
		d.mu.Unlock()
		if !busy {
			break
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, &documentError{ctx.Err()}
		}
	}
	free := func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.under, id)
		close(mine)
	}
	select {
	case d.turns <- struct{}{}:
		return func() { <-d.turns; free() }, nil
	case <-ctx.Done():
		free()
		return nil, &documentError{ctx.Err()}
	}
}

// document gives the client that the address names, else errNoClient, a
// *pageError that says what is wrong with the document, or a throttle's 429.
func (s *Server) document(ctx context.Context, at *url.URL) (Client, error) {
	id := at.String()
	it, err := s.p.Get(ctx, s.clientKey(id))
	if err != nil {
		return Client{}, fmt.Errorf("reading a client: %w", err)
	}
	stored, err := clientOf(it, s.now())
	switch {
	case err != nil && !errors.Is(err, errNoClient):
		return Client{}, err
	case err == nil && stored.Disabled:
		return Client{}, errNoClient
	case err == nil && s.now().Before(stored.DocumentUntil):
		return stored, nil
	}
	if c, ok := s.documents.get(id, s.now()); ok {
		return c, nil
	}
	c, err := s.fetch(ctx, at)
	var failed *documentError
	if errors.As(err, &failed) {
		s.log.InfoContext(ctx, "a client's document could not be had", "host", at.Host, "error", failed.cause)
		return Client{}, badRequest("client", "the document at client_id could not be fetched")
	}
	var bad *Error
	if errors.As(err, &bad) && bad.Status == http.StatusBadRequest {
		return Client{}, badRequest("client", "the document at client_id is not good: "+bad.Description)
	}
	return c, err
}

// fetch fetches, judges and keeps the document. What failed is never kept.
func (s *Server) fetch(ctx context.Context, at *url.URL) (Client, error) {
	if own, err := url.Parse(s.base(ctx)); err == nil && own.Hostname() == at.Hostname() {
		return Client{}, &documentError{errors.New("our own address")}
	}
	done, err := s.documents.alone(ctx, at.String())
	if err != nil {
		return Client{}, err
	}
	defer done()
	if c, ok := s.documents.get(at.String(), s.now()); ok { // by whom we waited for
		return c, nil
	}
	limit := s.config.Limits.Documents
	if err := s.throttle(ctx, counter{documentKey, s.address(ctx), limit, time.Hour}); err != nil {
		return Client{}, err
	}
	if limit >= 0 {
		if err := s.throttle(ctx, counter{documentHostKey, at.Host, documentsOfAHost, time.Hour}); err != nil {
			return Client{}, err
		}
	}
	body, life, err := fetchDocument(ctx, s.documents.transport, at.String())
	if err != nil {
		return Client{}, err
	}
	c, err := parseDocument(body, at)
	if err != nil {
		return Client{}, err
	}
	if life == 0 {
		life = usualDocumentLife
	}
	c.CreatedAt = s.now().Truncate(time.Second)
	c.DocumentUntil = s.now().Add(min(max(life, leastDocumentLife), mostDocumentLife))
	s.documents.put(c)
	return c, nil
}

// Host is that of the address which names a client of a document, "" for a
// registered one: all that is known for sure of who it is.
func (c Client) Host() string {
	if u, ok := documentURL(c.ID); ok {
		return u.Host
	}
	return ""
}

// keep stores a client of a document that a person just let in, with the
// copies of its state, or what is new of it. One that an operator of the
// platform switched off stays so.
func (s *Server) keep(ctx context.Context, c Client) error {
	if c.Host() == "" {
		return nil
	}
	return table.Retry(ctx, func(ctx context.Context) error {
		it, err := s.p.Get(ctx, s.clientKey(c.ID))
		if err != nil {
			return fmt.Errorf("keeping a client: %w", err)
		}
		now := s.now()
		was, err := clientOf(it, now)
		tx := s.p.Write()
		switch {
		case errors.Is(err, errNoClient):
			c.Expires, c.version = now.Add(UnusedLife), 1
			tx.Put(s.clientItem(c)).If("attribute_not_exists(pk) OR 'expiresAt' <= ?", now.Unix()).Else(table.ErrConflict)
			for n := range authz.Copies {
				tx.Put(table.Item{Key: authz.ClientKey(s.p, c.ID, n), Type: "state", Attrs: map[string]any{"disabled": false}, Expires: c.Expires})
			}
		case err != nil:
			return err
		case was.Disabled:
			return badRequest("client", "client_id is not known")
		case !was.DocumentUntil.Before(c.DocumentUntil):
			return nil
		default:
			next := c
			next.CreatedAt, next.Expires, next.version = was.CreatedAt, was.Expires, was.version
			tx.Replace(s.clientItem(next)).Else(table.ErrConflict)
		}
		return tx.Commit(ctx)
	})
}
