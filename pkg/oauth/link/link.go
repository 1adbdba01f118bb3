// Package link stores the one-time links with which a person sets a password. The
// person gets a link by mail. It leads to the page on which the password is typed.
package link

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
	"svc/pkg/oauth/company"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/request"
	"svc/pkg/oauth/session"
)

// Store stores one-time links.
type Store struct {
	p        table.Platform
	accounts session.Accounts
	Now      func() time.Time
}

// NewStore returns the store of links.
func NewStore(db *table.DB, now func() time.Time) *Store {
	return &Store{p: db.Platform("LINK", "PERSON", "EMAIL"), accounts: session.Accounts{DB: db}, Now: now}
}

// New returns a one-time link with which a person sets the password of the
// account with the mail address. New ignores tenantID for an operator. The
// error is fault.NotFound if the account does not exist or is disabled. The link
// is a credential: never log it.
func New(ctx context.Context, db *table.DB, baseURL string, audience authz.Audience, tenantID, address string,
	now time.Time) (string, error) {
	k := NewStore(db, func() time.Time { return now })
	l, err := k.accounts.Login(ctx, audience, tenantID, address)
	if err != nil {
		return "", err
	}
	if l.Actor == "" || l.Disabled {
		return "", fault.NotFound()
	}
	at, err := company.Companies{DB: db, BaseURL: baseURL}.ByID(ctx, session.TenantOf(audience, tenantID))
	if err != nil {
		return "", err
	}
	return k.Create(ctx, baseURL, login.LinkHints(audience, at.Tenant.Slug), login.Link{Audience: audience,
		TenantID: session.TenantOf(audience, tenantID), Actor: l.Actor, Email: address, Since: l.Since},
		now.Add(login.LinkLife))
}

// Create stores a link that is valid once, until it expires, and returns its
// address, which contains the hints.
func (k *Store) Create(ctx context.Context, baseURL string, hints url.Values, n login.Link,
	expires time.Time) (string, error) {
	tx := k.p.Write()
	path := login.AddLink(tx, k.p, n, hints, expires)
	if err := table.Retry(ctx, tx.Commit); err != nil {
		return "", fmt.Errorf("one-time link: %w", err)
	}
	return baseURL + path, nil
}

// ErrGone is the error of a link that is not usable: it is unknown, used or expired, or its
// account has changed since.
var ErrGone = protocol.RefuseOnPage("link", "")

// Open returns the content of a usable link and its account. If the link is not
// usable, the error is ErrGone. Reading does not use up the link, because mail
// programs open links before people do.
func (k *Store) Open(ctx context.Context, secret string) (login.Link, login.Login, error) {
	if !request.Secret256.MatchString(secret) {
		return login.Link{}, login.Login{}, ErrGone
	}
	it, err := k.p.Get(ctx, login.LinkKey(k.p, secret))
	if err != nil {
		return login.Link{}, login.Login{}, fmt.Errorf("one-time link: %w", err)
	}
	if !it.Live(k.Now()) {
		return login.Link{}, login.Login{}, ErrGone
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
		return login.Link{}, login.Login{}, ErrGone
	}
	return n, l, nil
}

// Use uses up the link and sets the hash of the new password. The error is
// ErrGone if somebody used the link in the meantime, or if Login.Since of the
// account has changed, for example by another new password. Every session and
// token of the account ends.
func (k *Store) Use(ctx context.Context, secret string, n login.Link, hash string) error {
	by := audit.By{Who: n.Actor, At: k.Now()}
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := k.p.Write()
		tx.Delete(login.LinkKey(k.p, secret)).If("attribute_exists(pk)").Else(ErrGone)
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
		return ErrGone
	}
	return err
}
