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
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/person"
	"svc/pkg/oauth/session"
)

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
	return k.create(ctx, baseURL, login.LinkHints(audience, at.tenant.Slug), login.Link{Audience: audience,
		TenantID: session.TenantOf(audience, tenantID), Actor: l.Actor, Email: address, Since: l.Since},
		now.Add(login.LinkLife))
}

// create stores a link that is valid once, until it expires, and returns its
// address, which contains the hints.
func (k *links) create(ctx context.Context, baseURL string, hints url.Values, n login.Link,
	expires time.Time) (string, error) {
	tx := k.p.Write()
	path := login.AddLink(tx, k.p, n, hints, expires)
	if err := table.Retry(ctx, tx.Commit); err != nil {
		return "", fmt.Errorf("one-time link: %w", err)
	}
	return baseURL + path, nil
}

var errLink = badRequest("link", "")

// open returns the content of a usable link and its account. If the link is not
// usable, the error is errLink. Reading does not use up the link, because mail
// programs open links before people do.
func (k *links) open(ctx context.Context, secret string) (login.Link, login.Login, error) {
	if !s256.MatchString(secret) {
		return login.Link{}, login.Login{}, errLink
	}
	it, err := k.p.Get(ctx, login.LinkKey(k.p, secret))
	if err != nil {
		return login.Link{}, login.Login{}, fmt.Errorf("one-time link: %w", err)
	}
	if !it.Live(k.now()) {
		return login.Link{}, login.Login{}, errLink
	}
	var n login.Link
	if err := it.Decode(&n); err != nil {
		return login.Link{}, login.Login{}, err
	}
	l, err := k.accounts.Login(ctx, n.Audience, n.TenantID, n.Email)
	if err != nil {
		return login.Link{}, login.Login{}, err
	}
	if l.Actor != n.Actor || l.Disabled || l.Since != n.Since {
		return login.Link{}, login.Login{}, errLink
	}
	return n, l, nil
}

// use uses up the link and sets the hash of the new password. The error is
// errLink if somebody used the link in the meantime, or if Login.Since of the
// account has changed, for example by another new password. Every session and
// token of the account ends.
func (k *links) use(ctx context.Context, secret string, n login.Link, hash string) error {
	by := audit.By{Who: n.Actor, At: k.now()}
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := k.p.Write()
		tx.Delete(login.LinkKey(k.p, secret)).If("attribute_exists(pk)").Else(errLink)
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
