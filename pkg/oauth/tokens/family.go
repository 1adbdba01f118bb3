package tokens

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
)

// family is everything that one authorization code produced: refresh tokens,
// one after the other, and access tokens. Each rotation replaces the refresh
// token and raises the version of the family's item. If two rotations run at
// once, only one succeeds.
//
// A refresh token is
//
//	base64url(tenant.audience.actor.family) "." family secret "." secret
//
// The first part is the family's address. With the address, one batch reads all
// items that a refresh needs. The family secret is the same in all refresh
// tokens of the family. It proves that the caller has a token of the family,
// even if that token is no longer current. The last secret is new in each
// token. Both secrets are 256 random bits. The server stores the hash of the
// family secret, and the hash of the complete current token.
type family struct {
	ID           string           `json:"id"`
	Client       string           `json:"client"`
	Actor        string           `json:"actor"`
	Audience     authz.Audience   `json:"audience"`
	Scopes       []string         `json:"scopes"`             // granted; an access token may have fewer
	Resource     string           `json:"resource,omitempty"` // of the code
	AuthTime     time.Time        `json:"authTime"`
	Session      string           `json:"session,omitempty"` // hash of the browser session it began in
	CreatedAt    time.Time        `json:"createdAt"`
	Since        string           `json:"since,omitempty"`  // as AuthorizationCode.Since
	SecretHash   string           `json:"secretHash"`       // of the family secret
	CurrentHash  string           `json:"currentHash"`      // of the complete current token
	AccessTokens map[string]int64 `json:"access"`           // jti → expiry, Unix seconds
	Agents       string           `json:"agents,omitempty"` // as AuthorizationCode.Agents
	Previous     *previous        `json:"previous,omitempty"`
	Device       bool             `json:"device,omitempty"` // as AuthorizationCode.Device

	Epoch   int64     `json:"-"` // the grant's epoch when the family began
	Revoked bool      `json:"-"`
	Expires time.Time `json:"-"` // of the current refresh token
	version int64
	unknown table.Unknown
}

// previous is the last rotated token during its grace period.
type previous struct {
	Hash   string    `json:"hash"`
	Until  time.Time `json:"until"`
	Sealed []byte    `json:"sealed"` // the successor, encrypted with a key derived from this previous token
}

// successor is the result of a rotation: what the server needs to repeat the
// response.
type successor struct {
	Refresh  string   `json:"refresh"`
	ID       string   `json:"jti"`
	IssuedAt int64    `json:"iat"`
	Scopes   []string `json:"scopes,omitempty"`   // nil: the family's
	Resource *string  `json:"resource,omitempty"` // of the access token; nil: the family's
}

// MostAccessTokens is the limit of live access tokens per family. When a new
// token would exceed the limit, a refresh revokes the oldest one. The limit
// bounds the size of the transaction that revokes a family.
const MostAccessTokens = 12

var _ = table.Kind[any]{Type: "family", Personal: "nothing"}

func (f family) item(t table.Tenant) table.Item {
	return table.Item{Key: authz.FamilyKey(t, f.ID), Type: "family", Version: max(f.version, 1), Expires: f.Expires,
		Doc: f, Preserve: f.unknown, Attrs: map[string]any{"revoked": f.Revoked, "epoch": f.Epoch, "client": f.Client,
			"actor": f.Actor}}
}

var errNoFamily = errors.New("no such family")

func familyFrom(it table.Item, now time.Time) (family, error) {
	if !it.Live(now) {
		return family{}, errNoFamily
	}
	var f family
	if err := it.Decode(&f); err != nil {
		return family{}, err
	}
	f.Epoch, f.Revoked, f.Expires, f.version = it.Int("epoch"), it.Flag("revoked"), it.Expires, it.Version
	f.unknown = it.Unknown()
	return f, nil
}

// address is the location of a family, as a refresh token states it. The server
// trusts it only after comparing it with the stored family.
type address struct {
	tenant   string
	audience authz.Audience
	actor    string
	family   string
}

var errForm = errors.New("the text does not have the form of a refresh token")

const secretSize = 43 // characters of ids.Secret

// actorKinds maps an audience to the prefix of its actor ids.
var actorKinds = map[authz.Audience]string{authz.Dashboard: ids.Person, authz.Rider: ids.Customer,
	authz.Driver: ids.Driver}

func (a address) token(familySecret string) string {
	where := strings.Join([]string{a.tenant, string(a.audience), a.actor, a.family}, ".")
	return base64.RawURLEncoding.EncodeToString([]byte(where)) + "." + familySecret + "." + ids.Secret()
}

// parseRefresh parses a refresh token into its family's address and the family
// secret. Each token has exactly one accepted spelling.
func parseRefresh(token string) (a address, familySecret string, err error) {
	parts := strings.Split(token, ".")
	if len(token) > 400 || len(parts) != 3 || len(parts[1]) != secretSize || len(parts[2]) != secretSize {
		return address{}, "", errForm
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(parts[0])
	if err != nil || strings.ContainsAny(parts[0], "\r\n") {
		return address{}, "", errForm
	}
	where := strings.Split(string(raw), ".")
	if len(where) != 4 {
		return address{}, "", errForm
	}
	a = address{where[0], authz.Audience(where[1]), where[2], where[3]}
	kind, known := actorKinds[a.audience]
	if !known || !ids.Valid(ids.Tenant, a.tenant) || !ids.Valid(kind, a.actor) || !ids.Valid(ids.Family, a.family) {
		return address{}, "", errForm
	}
	return a, parts[1], nil
}

// remember adds an access token to the family and removes the expired ones. It
// returns the tokens to revoke so that the family stays within
// MostAccessTokens.
func (f *family) remember(jti string, expires, now time.Time) (end []string) {
	live := map[string]int64{}
	for id, exp := range f.AccessTokens {
		if exp > now.Unix() {
			live[id] = exp
		}
	}
	oldest := func(a, b string) int {
		if live[a] != live[b] {
			return int(live[a] - live[b])
		}
		return strings.Compare(a, b)
	}
	for len(live) >= MostAccessTokens {
		all := make([]string, 0, len(live))
		for id := range live {
			all = append(all, id)
		}
		id := slices.MinFunc(all, oldest)
		delete(live, id)
		end = append(end, id)
	}
	live[jti] = expires.Unix()
	f.AccessTokens = live
	return end
}

// endTokens adds the revocation of access tokens to a transaction.
func endTokens(tx *table.Tx, t table.Tenant, jtis ...string) {
	for _, jti := range jtis {
		tx.Update(authz.TokenKey(t, jti), table.Change{Set: map[string]any{"revoked": true}}).
			If("attribute_exists(pk)").Else(table.ErrConflict)
	}
}

// endToken revokes an access token that has no family, in one transaction with the writes
// that more adds (nil for none).
func (s *Issuer) endToken(ctx context.Context, t table.Tenant, jti string, more func(*table.Tx)) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		endTokens(tx, t, jti)
		if more != nil {
			more(tx)
		}
		return tx.Commit(ctx)
	})
}

// endFamily revokes a family: its refresh token and all of its access tokens.
// It uses one transaction, which also contains the writes that more adds (nil
// for none). After a conflict, it first marks the family as revoked (see seize)
// and then tries again. If the family and its access tokens are already revoked,
// endFamily writes nothing, and does not call more. The error is errNoFamily if
// the family does not exist or has expired.
func (s *Issuer) endFamily(ctx context.Context, t table.Tenant, id string, more func(*table.Tx)) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		it, err := t.Get(ctx, authz.FamilyKey(t, id))
		if err != nil {
			return fmt.Errorf("reading a family: %w", err)
		}
		now := s.now()
		f, err := familyFrom(it, now)
		if err != nil || (f.Revoked && len(f.AccessTokens) == 0) {
			return err
		}
		seized := f.Revoked
		tx := t.Write()
		for jti, exp := range f.AccessTokens {
			if exp > now.Unix() {
				endTokens(tx, t, jti)
			}
		}
		f.Revoked, f.Previous, f.AccessTokens = true, nil, nil
		tx.Replace(f.item(t)).Else(table.ErrConflict)
		if more != nil {
			more(tx)
		}
		err = tx.Commit(ctx)
		if errors.Is(err, table.ErrConflict) && !seized {
			err = errors.Join(err, seize(ctx, t, id))
		}
		return err
	})
}

// seize marks a family as revoked, whatever its version, which stops its
// rotations. Without seize, a client that refreshes continuously could win
// every conflict against endFamily. If seize itself meets a conflict, or the
// family does not exist, it changes nothing and returns nil. In every case the
// caller must still revoke the family's access tokens.
func seize(ctx context.Context, t table.Tenant, id string) error {
	tx := t.Write()
	end := table.Change{Set: map[string]any{"revoked": true}, Add: map[string]any{"version": 1}}
	tx.Update(authz.FamilyKey(t, id), end).
		If("attribute_exists(pk)").Else(errNoFamily)
	if err := tx.Commit(ctx); err != nil && !errors.Is(err, table.ErrConflict) && !errors.Is(err, errNoFamily) {
		return fmt.Errorf("ending a family: %w", err)
	}
	return nil
}

// endGrant raises the epoch of the grant from an actor to a client. This
// revokes every token of that client and actor in the tenant, in all families.
// endGrant does nothing if the epoch is no longer the one that the caller
// has read, seen.
func (s *Issuer) endGrant(ctx context.Context, t table.Tenant, client, actor string, seen int64) error {
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		tx.Update(authz.GrantKey(t, client, actor), table.Change{Add: map[string]any{"epoch": 1}}).If("'epoch' = ?", seen)
		return tx.Commit(ctx)
	})
	if err != nil && !errors.Is(err, table.ErrCondition) {
		return fmt.Errorf("raising a grant's epoch: %w", err)
	}
	return nil
}

// sealTo encrypts a successor so that only a holder of the token can decrypt
// it.
func sealTo(token string, next successor) ([]byte, error) {
	plain, err := json.Marshal(next)
	if err != nil {
		return nil, fmt.Errorf("sealing a successor: %w", err)
	}
	aead, err := sealOf(token)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, plain, nil), nil
}

func openBy(token string, sealed []byte) (successor, error) {
	aead, err := sealOf(token)
	if err != nil {
		return successor{}, err
	}
	plain, err := aead.Open(nil, nil, sealed, nil)
	if err != nil {
		return successor{}, fmt.Errorf("opening a successor: %w", err)
	}
	var next successor
	if err := json.Unmarshal(plain, &next); err != nil {
		return successor{}, fmt.Errorf("opening a successor: %w", err)
	}
	return next, nil
}

// sealOf returns a cipher whose key is derived from a refresh token. The token
// has at least 256 random bits, and its stored hash does not reveal the key.
func sealOf(token string) (cipher.AEAD, error) {
	key := sha256.Sum256([]byte("successor of " + token))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, fmt.Errorf("sealing a successor: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("sealing a successor: %w", err)
	}
	return aead, nil
}
