package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/person"
	"svc/pkg/oauth/session"
)

// LinkLife is how long a link that NewLink returns is valid.
const LinkLife = 24 * time.Hour

// link is the stored content of a one-time link.
type link struct {
	Audience authz.Audience `json:"audience"`
	TenantID string         `json:"tenant,omitempty"` // "" for an operator
	Actor    string         `json:"actor"`
	Email    string         `json:"email"`
	Since    string         `json:"since"` // login.Login.Since; the link is void once the account has another value
}

// links stores one-time links.
type links struct {
	p        table.Platform
	accounts session.Accounts
	now      func() time.Time
}

func newLinks(db *table.DB, now func() time.Time) *links {
	return &links{p: db.Platform("LINK", "PERSON", "EMAIL"), accounts: session.Accounts{DB: db}, now: now}
}

// NewLink returns a one-time link with which a person sets the password of the
// account with the mail address. NewLink ignores tenantID for an operator. The
// error is fault.NotFound if the account does not exist or is disabled. The link
// is a credential: never log it.
func NewLink(ctx context.Context, db *table.DB, baseURL string, audience authz.Audience, tenantID, address string,
	now time.Time) (string, error) {
	k := newLinks(db, func() time.Time { return now })
	l, err := k.accounts.Login(ctx, audience, tenantID, address)
	if err != nil {
		return "", err
	}
	if l.Actor == "" || l.Disabled {
		return "", fault.NotFound()
	}
	at, err := companies{db, baseURL}.byID(ctx, session.TenantOf(audience, tenantID))
	if err != nil {
		return "", err
	}
	return k.create(ctx, baseURL, linkHints(audience, at.tenant.Slug), link{Audience: audience,
		TenantID: session.TenantOf(audience, tenantID), Actor: l.Actor, Email: address, Since: l.Since}, now.Add(LinkLife))
}

// linkHints returns what the address of a link says of its account. When the link
// is used up or has expired, nothing else is left to offer a new one by. An
// operator's account belongs to no company.
func linkHints(audience authz.Audience, slug string) url.Values {
	hints := url.Values{"audience": {string(audience)}}
	if audience != authz.Dashboard {
		hints.Set("tenant_hint", slug)
	}
	return hints
}

// create stores a link that is valid once, until it expires, and returns its
// address, which contains the hints.
func (k *links) create(ctx context.Context, baseURL string, hints url.Values, n link,
	expires time.Time) (string, error) {
	secret := ids.Secret()
	tx := k.p.Write()
	tx.Create(table.Item{Key: k.key(secret), Type: "link", Expires: expires, Doc: n})
	if err := table.Retry(ctx, tx.Commit); err != nil {
		return "", fmt.Errorf("one-time link: %w", err)
	}
	hints.Set("link", secret)
	return baseURL + "/oauth/password?" + hints.Encode(), nil
}

func (k *links) key(secret string) table.Key { return k.p.Key("LINK", "LINK", ids.Hash(secret)) }

var errLink = badRequest("link", "")

// open returns the content of a usable link and its account. If the link is not
// usable, the error is errLink. Reading does not use up the link, because mail
// programs open links before people do.
func (k *links) open(ctx context.Context, secret string) (link, login.Login, error) {
	if !s256.MatchString(secret) {
		return link{}, login.Login{}, errLink
	}
	it, err := k.p.Get(ctx, k.key(secret))
	if err != nil {
		return link{}, login.Login{}, fmt.Errorf("one-time link: %w", err)
	}
	if !it.Live(k.now()) {
		return link{}, login.Login{}, errLink
	}
	var n link
	if err := it.Decode(&n); err != nil {
		return link{}, login.Login{}, err
	}
	l, err := k.accounts.Login(ctx, n.Audience, n.TenantID, n.Email)
	if err != nil {
		return link{}, login.Login{}, err
	}
	if l.Actor != n.Actor || l.Disabled || l.Since != n.Since {
		return link{}, login.Login{}, errLink
	}
	return n, l, nil
}

// use uses up the link and sets the hash of the new password. The error is
// errLink if somebody used the link in the meantime, or if Login.Since of the
// account has changed, for example by another new password. Every session and
// token of the account ends.
func (k *links) use(ctx context.Context, secret string, n link, hash string) error {
	by := audit.By{Who: n.Actor, At: k.now()}
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := k.p.Write()
		tx.Delete(k.key(secret)).If("attribute_exists(pk)").Else(errLink)
		if n.Audience == authz.Dashboard {
			people := person.Store{DB: k.accounts.DB}
			p, err := people.ByID(ctx, n.Actor)
			if err != nil {
				return err
			}
			people.SetPassword(tx, by, p, n.Since, hash)
			return tx.Commit(ctx)
		}
		t := k.accounts.DB.Tenant(n.TenantID)
		login.SetPassword(tx.Covers(t.Handle), login.Key(t, n.Audience, n.Email), n.Actor, n.Since, hash, by)
		login.EndTokens(tx, t, n.Audience, n.Actor, by)
		audit.Append(tx, t, by, "person.password", n.Actor, nil, nil)
		return tx.Commit(ctx)
	})
	if errors.Is(err, fault.NotFound()) {
		return errLink
	}
	return err
}
