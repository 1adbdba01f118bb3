package session

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
)

// Life is how long a person stays signed in.
const Life = login.SessionLife

// freshLife is how long a sign-in counts as new for the request that asked for
// it. It is long enough to choose a company and read the consent page. It is
// too short for somebody who finds the browser later.
const freshLife = 10 * time.Minute

// Session is one person signed in with one browser. The session of a rider or
// driver is bound to a tenant. The session of an operator is valid in all of
// the operator's tenants.
type Session struct {
	Audience authz.Audience `json:"audience"`
	TenantID string         `json:"tenant,omitempty"` // "" for an operator
	Actor    string         `json:"actor"`
	Email    string         `json:"email"`
	AuthTime time.Time      `json:"authTime"`
	Host     string         `json:"host"`  // host of the sign-in; the session is valid only there
	Since    string         `json:"since"` // login.Login.Since; another value ends the session
	// Fresh names the request for which the person signed in. Until this
	// request ends, and at most for freshLife, the sign-in satisfies the
	// request's max_age, prompt=login and prompt=select_account.
	Fresh string `json:"fresh,omitempty"`
	// Picks are the tenants that the operator chose, by the name of the
	// request. Several tabs may have requests at the same time. A pick is
	// removed when its request ends.
	Picks map[string]string `json:"picks,omitempty"`

	secret  string // the cookie's value
	expires time.Time
}

// FreshFor reports whether the person has just signed in for the request of
// this name.
func (n *Session) FreshFor(request string, now time.Time) bool {
	return n.Fresh == request && now.Before(n.AuthTime.Add(freshLife))
}

// Store stores the sessions and devices. The cookies contain their secrets.
type Store struct {
	Cookies
	Accounts
	p   table.Platform
	now func() time.Time
}

// NewStore returns a store in db.
func NewStore(db *table.DB, cookies Cookies, now func() time.Time) *Store {
	return &Store{Cookies: cookies, Accounts: Accounts{DB: db}, p: db.Platform("SESSION"), now: now}
}

// key returns the key of the session with the secret.
func (s *Store) key(secret string) table.Key {
	return login.SessionKey(s.p, ids.Hash(secret))
}

// Hash returns the stored form of the session's secret. The records of authorization codes
// identify the session by it.
func (n *Session) Hash() string { return ids.Hash(n.secret) }

// Find returns the session of the request's cookie. It returns nil if there is
// none, or if the session has expired. It also returns nil if the account is
// gone or disabled, or if Login.Since of the account has changed, for example by
// a new password. A session is valid only at the host where it began. So a
// session of the platform's host is never valid at a tenant's domain.
func (s *Store) Find(ctx context.Context, r *http.Request) (*Session, error) {
	secret := s.get(r, sessionCookie)
	if secret == "" {
		return nil, nil
	}
	it, err := s.p.Get(ctx, s.key(secret))
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	if !it.Live(s.now()) {
		return nil, nil
	}
	n := &Session{secret: secret, expires: it.Expires}
	if err := it.Decode(n); err != nil {
		return nil, err
	}
	if n.Host != HostOf(r) {
		return nil, nil
	}
	l, err := s.Login(ctx, n.Audience, n.TenantID, n.Email)
	if err != nil {
		return nil, err
	}
	if l.Actor != n.Actor || l.Disabled || l.Since != n.Since || l.Hash == "" {
		return nil, nil
	}
	return n, nil
}

// Begin stores a new session and sets its cookie. From now on the account knows
// the browser. The secret is new at every sign-in and the browser's previous
// session ends, which prevents session fixation.
func (s *Store) Begin(ctx context.Context, w http.ResponseWriter, r *http.Request, n Session, d Device) error {
	n.secret, n.expires, n.Host = ids.Secret(), s.now().Add(Life), HostOf(r)
	account := AccountKey(n.Audience, n.TenantID, n.Email)
	known, err := s.commitKnown(ctx, d, account, n.Since, func() *table.Tx {
		tx := s.p.Write()
		tx.Create(s.item(&n))
		if old := s.get(r, sessionCookie); old != "" {
			tx.Delete(s.key(old))
		}
		return tx
	})
	if err != nil {
		return fmt.Errorf("new session: %w", err)
	}
	s.set(w, sessionCookie, n.secret, Life)
	s.set(w, deviceCookie, known, DeviceLife)
	return nil
}

// mostPicks limits the picks in one session.
const mostPicks = 8

// Pick stores the tenant for a request. If there are mostPicks already, it
// first drops another request's pick.
func (n *Session) Pick(request, tenantID string) {
	for other := range n.Picks {
		if len(n.Picks) >= mostPicks && other != request {
			delete(n.Picks, other)
		}
	}
	if n.Picks == nil {
		n.Picks = map[string]string{}
	}
	n.Picks[request] = tenantID
}

// Change applies a change to the stored session, unless the session has ended.
// Change does not modify n. Other tabs may change the session at the same time. So
// apply gets the latest version, and may run more than once.
func (s *Store) Change(ctx context.Context, n *Session, apply func(*Session)) error {
	err := table.Retry(ctx, func(ctx context.Context) error {
		it, err := s.p.Get(ctx, s.key(n.secret))
		if err != nil || !it.Live(s.now()) {
			return err
		}
		stored := &Session{secret: n.secret, expires: it.Expires}
		if err := it.Decode(stored); err != nil {
			return err
		}
		apply(stored)
		next := s.item(stored)
		next.Version, next.Preserve = it.Version+1, it.Unknown()
		tx := s.p.Write()
		tx.Put(next).If("attribute_exists(pk) AND (attribute_not_exists('version') OR 'version' = ?)", it.Version).
			Else(table.ErrConflict)
		return tx.Commit(ctx)
	})
	if err != nil {
		return fmt.Errorf("session: %w", err)
	}
	return nil
}

// End removes the browser's session and its cookie.
func (s *Store) End(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	if secret := s.get(r, sessionCookie); secret != "" {
		tx := s.p.Write()
		tx.Delete(s.key(secret))
		if err := table.Retry(ctx, tx.Commit); err != nil {
			return fmt.Errorf("end of a session: %w", err)
		}
	}
	s.set(w, sessionCookie, "", -time.Second)
	s.set(w, operatorCookie, "", -time.Second)
	return nil
}

// Declares the personal data in the items of type session.
var _ = table.Kind[any]{Type: "session", Personal: "e-mail address, applications, sign-ups not finished",
	Erasure: "deletes"}

// item returns the stored form of a session.
func (s *Store) item(n *Session) table.Item {
	it := table.Item{Key: s.key(n.secret), Type: "session", Doc: n, Expires: n.expires}
	if n.TenantID != "" { // an erasure looks for the sessions of riders and drivers
		it.G[0], it.R = login.SessionsOf(s.p, n.Actor), ids.Hash(n.secret)
	}
	return it
}
