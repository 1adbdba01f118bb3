// Package tokens issues, rotates, revokes and describes tokens. It serves the
// token, revocation, introspection and userinfo endpoints, and the token
// operations for operators of the platform. It also issues the authorization
// codes that the authorization endpoint requests. It shows no pages.
package tokens

import (
	"time"

	"svc/pkg/access/signing"
	"svc/pkg/access/throttle"
	"svc/pkg/data/table"
	"svc/pkg/oauth/clients"
)

// Lifetimes.
const (
	CodeLife        = 60 * time.Second    // of an authorization code
	AccessLife      = time.Hour           // of an access token and an id_token
	RefreshLife     = 90 * 24 * time.Hour // of a refresh token, from its own issue
	MaxRefreshGrace = 30 * time.Second    // the highest Options.RefreshGrace
	retention       = 10 * time.Minute    // how long an unused code or an audit record is kept after its expiry
)

// Issuer issues tokens.
type Issuer struct {
	Options
	db *table.DB
	p  table.Platform // codes
}

// Options configure an Issuer.
type Options struct {
	BaseURL       string // the issuer
	Now           func() time.Time
	Keys          *signing.Keys // must be able to sign
	Clients       *clients.Registry
	Throttle      *throttle.Throttle
	TokenFailures int           // per minute, of one address or of one confidential client; below 0 no limit
	RefreshGrace  time.Duration // 0 to MaxRefreshGrace
	Devices       int           // requests of devices per address and hour; below 0 no limit
}

// NewIssuer returns an issuer that stores its tokens in db.
func NewIssuer(db *table.DB, o Options) *Issuer {
	o.RefreshGrace = min(max(o.RefreshGrace, 0), MaxRefreshGrace)
	return &Issuer{Options: o, db: db, p: db.Platform("CODE")}
}

func (s *Issuer) now() time.Time { return s.Options.Now().UTC() }
