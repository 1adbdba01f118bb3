// Package clients owns the clients of the authorization server. It handles
// dynamic registration and management (RFC 7591, RFC 7592), and clients whose
// client_id is the address of a metadata document. It issues no tokens.
package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/access/throttle"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/machine"
	"svc/pkg/oauth/protocol"
)

// UnusedLife is how long the registry keeps a client that nobody has used.
const UnusedLife = 90 * 24 * time.Hour

// Client is a registered client: the metadata of RFC 7591 section 2 and the
// server's own fields. This JSON is stored.
type Client struct {
	ID              string           `json:"id"`
	Name            string           `json:"name"`
	RedirectURIs    []string         `json:"redirectUris"`
	LogoutURIs      []string         `json:"logoutUris,omitempty"` // post_logout_redirect_uris
	AuthMethod      string           `json:"authMethod"`           // one of protocol.AuthMethods
	AlsoPublic      bool             `json:"alsoPublic,omitempty"` // a document also lists the method none
	SecretHash      string           `json:"secretHash,omitempty"` // SHA-256; "" for a client without a secret
	Keys            json.RawMessage  `json:"jwks,omitempty"`       // of AuthKey; either Keys or KeysURI is set
	KeysURI         string           `json:"jwksUri,omitempty"`
	AuthAlg         string           `json:"authAlg,omitempty"` // of assertions; "" for any that is supported
	Audiences       []authz.Audience `json:"audiences"`
	Scopes          []string         `json:"scopes"`          // registered scopes, in the order given
	ApplicationType string           `json:"applicationType"` // web or native
	IDTokenAlg      string           `json:"idTokenAlg"`      // RS256 or ES256
	LogoURI         string           `json:"logoUri,omitempty"`
	ClientURI       string           `json:"clientUri,omitempty"`
	PolicyURI       string           `json:"policyUri,omitempty"`
	TermsURI        string           `json:"tosUri,omitempty"`
	Contacts        []string         `json:"contacts,omitempty"`
	SoftwareID      string           `json:"softwareId,omitempty"`
	SoftwareVersion string           `json:"softwareVersion,omitempty"`
	ManagementHash  string           `json:"managementHash"`         // SHA-256 of the registration access token
	PreviousHash    string           `json:"previousHash,omitempty"` // see previousHash
	NewSecret       bool             `json:"newSecret,omitempty"`    // the last PUT created the secret
	CreatedAt       time.Time        `json:"createdAt"`
	DocumentUntil   time.Time        `json:"documentUntil,omitzero"` // when the document at ID must be fetched again
	FetchedAt       time.Time        `json:"fetchedAt,omitzero"`     // when the document was requested; orders documents

	Disabled bool      `json:"-"` // stored as an attribute
	Expires  time.Time `json:"-"` // zero: no expiry (see MarkUsed), or not stored
	version  int64
	unknown  table.Unknown // of the stored item
	proved   bool          // it authenticated by a key in this request

	// Machine is the machine as which the client signs in, nil for any other client. It is
	// not registered, so nothing here stores it.
	Machine   *machine.SignIn   `json:"-"`
	assertion signing.Assertion // by which the client has authenticated
	secretID  string            // of the machine's secret in this request; "" if none of them
}

// Public reports whether the client may make requests without credentials. A client
// that has authenticated in this request counts as confidential.
func (c Client) Public() bool { return c.AuthMethod == protocol.AuthNone || c.AlsoPublic && !c.proved }

// Used reports whether the client has got a token. A machine has by its keys.
func (c Client) Used() bool {
	if c.Machine != nil {
		return c.Machine.KeysUsed()
	}
	return c.Expires.IsZero()
}

// AlwaysConfidential reports whether the client can make no request without credentials.
func (c Client) AlwaysConfidential() bool { return c.AuthMethod != protocol.AuthNone && !c.AlsoPublic }

// secret reports whether the client has a secret.
func (c Client) secret() bool {
	return c.AuthMethod == protocol.AuthBasic || c.AuthMethod == protocol.AuthPost
}

// ErrUnknown means that the client is unknown, expired or disabled.
var ErrUnknown = errors.New("no such client")

// Registry stores the clients and serves the registration endpoints.
type Registry struct {
	baseURL   string
	localKeys bool
	p         table.Platform
	now       func() time.Time
	throttle  *throttle.Throttle
	limits    throttle.Limits
	documents *documents
	keySets   keySets
	log       *slog.Logger
}

// Options configure a Registry.
type Options struct {
	BaseURL  string // the issuer
	Now      func() time.Time
	Throttle *throttle.Throttle
	Limits   throttle.Limits
	Log      *slog.Logger
	// Documents fetches metadata documents and the keys at a client's jwks_uri.
	// If nil, a transport that reaches only public addresses is used.
	Documents http.RoundTripper
	// LocalKeys allows a jwks_uri of this machine, with any port. Documents must reach it.
	LocalKeys bool
}

// NewRegistry returns a registry that stores its clients in db.
func NewRegistry(db *table.DB, o Options) *Registry {
	return &Registry{baseURL: o.BaseURL, localKeys: o.LocalKeys, p: db.Platform("CLIENT"), now: o.Now,
		throttle: o.Throttle, limits: o.Limits, documents: newDocuments(o.Documents),
		keySets: keySets{byURI: map[string]keySet{}}, log: o.Log}
}

// Key is the key of a client's record.
func (reg *Registry) Key(id string) table.Key { return reg.p.Key("CLIENT", id, "CLIENT") }

// TrustKey is the key of the platform's trust in a client.
func (reg *Registry) TrustKey(id string) table.Key { return reg.p.Key("CLIENT", id, "TRUST") }

// Handle returns the handle for the keys of all clients.
func (reg *Registry) Handle() table.Handle { return reg.p.Handle }

// Find returns a client that is neither expired nor disabled. If the client_id
// is an address, Find may fetch the metadata document (see document). The error
// is ErrUnknown, a *DocumentError, a 429 of a throttle, or an error of the
// table.
func (reg *Registry) Find(ctx context.Context, id string) (Client, error) {
	if at, ok := documentURL(id); ok {
		return reg.document(ctx, at)
	}
	if !ids.Valid(ids.Client, id) && id != CommandLine {
		return Client{}, ErrUnknown
	}
	it, err := reg.p.Get(ctx, reg.Key(id))
	if err != nil {
		return Client{}, fmt.Errorf("reading a client: %w", err)
	}
	c, err := Decode(id, it, reg.now())
	if err == nil && c.Disabled {
		return Client{}, ErrUnknown
	}
	return c, err
}

// FromItem decodes a client's record. The error is ErrUnknown if the client
// does not exist or has expired. A disabled client is returned with Disabled
// set.
func FromItem(it table.Item, now time.Time) (Client, error) {
	if !it.Live(now) {
		return Client{}, ErrUnknown
	}
	var c Client
	if err := it.Decode(&c); err != nil {
		return Client{}, err
	}
	c.Disabled, c.Expires, c.version = it.Flag("disabled"), it.Expires, it.Version
	c.unknown = it.Unknown()
	return c, nil
}

var _ = table.Kind[any]{Type: "client", Personal: "nothing"}

// Item encodes a client's record.
func (reg *Registry) Item(c Client) table.Item {
	return table.Item{Key: reg.Key(c.ID), Type: "client", Version: max(c.version, 1), Expires: c.Expires,
		G: [4]string{reg.listed(ids.Pick(c.ID, listShards))}, R: timestamp.Format(c.CreatedAt) + "#" + c.ID,
		Attrs: map[string]any{"disabled": c.Disabled}, Doc: c, Preserve: c.unknown}
}

// listShards is how many partitions share the list of all clients. One
// partition could become a hot key, because anybody may register.
const listShards = 4

func (reg *Registry) listed(shard int) string {
	return reg.p.Partition("CLIENT", "LIST", strconv.Itoa(shard))
}

// List returns the clients, newest first, disabled ones too, at most limit
// (1…1000). after is the position at which the previous page ended, or "". next
// is "" on the last page. A page may be short, because List omits expired
// clients.
//
// Access pattern: by-g1, CLIENT#LIST#shard backward, shards merged.
func (reg *Registry) List(ctx context.Context, after string, limit int) (found []Client, next string, err error) {
	var partitions []string
	for n := range listShards {
		partitions = append(partitions, reg.listed(n))
	}
	page, err := reg.p.Merge(ctx, partitions, table.Query{Index: 1, Backward: true, After: after, Limit: limit})
	if err != nil {
		return nil, "", fmt.Errorf("listing clients: %w", err)
	}
	for _, it := range page.Items {
		c, err := FromItem(it, reg.now())
		if errors.Is(err, ErrUnknown) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		found = append(found, c)
	}
	if page.More {
		next = page.Last
	}
	return found, next, nil
}

var _ = table.Kind[any]{Type: "state", Personal: "nothing", Once: "only updated"}

// stateItems returns the copies of a new client's state. Every API request
// reads one copy.
func (reg *Registry) stateItems(c Client) []table.Item {
	items := make([]table.Item, authz.Copies)
	for n := range items {
		items[n] = table.Item{Key: authz.ClientKey(reg.p, c.ID, n), Type: "state", Attrs: map[string]any{"disabled": false},
			Expires: c.Expires}
	}
	return items
}

// setScopes adds the client's new scopes and audiences to a transaction, if
// they changed. It writes all copies of the client's state, which the access
// checks read.
func (reg *Registry) setScopes(tx *table.Tx, was, now Client) {
	if slices.Equal(was.Scopes, now.Scopes) && slices.Equal(was.Audiences, now.Audiences) {
		return
	}
	var audiences []string
	for _, audience := range now.Audiences {
		audiences = append(audiences, string(audience))
	}
	change := table.Change{Set: map[string]any{"scopes": strings.Join(now.Scopes, " "),
		"audiences": strings.Join(audiences, " ")}}
	for n := range authz.Copies {
		tx.Update(authz.ClientKey(reg.p, now.ID, n), change).If("attribute_exists(pk)").Else(table.ErrConflict)
	}
}

// Disable disables a client or enables it again. While a client is disabled,
// its tokens and requests are rejected. The error is fault.NotFound if the
// client is unknown.
func (reg *Registry) Disable(ctx context.Context, id string, disabled bool) error {
	if !ValidID(id) {
		return fault.NotFound()
	}
	if id == CommandLine {
		if _, err := reg.Keep(ctx, commandLine()); err != nil && !errors.Is(err, ErrUnknown) {
			return err
		}
	}
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := reg.p.Write()
		change := table.Change{Set: map[string]any{"disabled": disabled}}
		// Without its record, a client that has not registered would be enabled again.
		if _, ok := documentURL(id); ok || id == CommandLine {
			change.Remove = []string{"expiresAt"}
		}
		record := change
		record.Add = map[string]any{"version": 1}
		tx.Update(reg.Key(id), record).If("attribute_exists(pk)").Else(fault.NotFound())
		for n := range authz.Copies {
			tx.Update(authz.ClientKey(reg.p, id, n), change).If("attribute_exists(pk)").Else(fault.NotFound())
		}
		return tx.Commit(ctx)
	})
	if err != nil {
		return fmt.Errorf("disabling or enabling a client: %w", err)
	}
	return nil
}

// MarkUsed adds the client's first use to a transaction. A used client does not
// expire. MarkUsed adds nothing if the record already has no expiry.
func (reg *Registry) MarkUsed(tx *table.Tx, c Client) {
	if c.Expires.IsZero() {
		return
	}
	forever := table.Change{Remove: []string{"expiresAt"}}
	for n := range authz.Copies {
		tx.Update(authz.ClientKey(reg.p, c.ID, n), forever).If("attribute_exists(pk)").Else(table.ErrConflict)
	}
	forever.Add = map[string]any{"version": 1}
	tx.Update(reg.Key(c.ID), forever).If("attribute_exists(pk)").Else(table.ErrConflict)
}
