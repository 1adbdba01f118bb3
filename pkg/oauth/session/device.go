package session

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"svc/pkg/access/login"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
)

// DeviceLife is how long an account knows a browser after a sign-in.
const DeviceLife = 180 * 24 * time.Hour

// mostAccounts is how many accounts may know one browser. One more replaces the
// oldest.
const mostAccounts = 8

// Device is a browser with which people signed in before (OWASP, "Slow down
// online guessing attacks with device cookies"). It is no credential. An
// account that knows the browser counts its failed sign-ins separately, so
// nobody else can lock the browser out. The zero Device is an unknown browser.
type Device struct {
	Accounts map[string]knownFor `json:"accounts"` // by hash of the account

	secret string // the cookie's value
}

// knownFor is what a browser's record says about one account.
type knownFor struct {
	At    int64  `json:"at"`    // of the last sign-in, Unix seconds
	Since string `json:"since"` // of the account's password; a new password voids the entry
}

// CounterKey returns the key of the counter of an account's sign-ins with this
// browser.
func (d Device) CounterKey(account string) string { return account + "\n" + d.secret }

func (s *Store) deviceKey(secret string) table.Key {
	return s.p.Key("DEVICE", "SESSION", ids.Hash(secret))
}

// Device returns the device of the request's cookie.
func (s *Store) Device(ctx context.Context, r *http.Request) (Device, error) {
	secret := s.get(r, deviceCookie)
	if secret == "" {
		return Device{}, nil
	}
	it, err := s.p.Get(ctx, s.deviceKey(secret))
	if err != nil {
		return Device{}, fmt.Errorf("device: %w", err)
	}
	if !it.Live(s.now()) {
		return Device{}, nil
	}
	d := Device{secret: secret}
	return d, it.Decode(&d)
}

// Knows reports whether the account knows the browser. It does not if the
// password has changed since, or if the last sign-in is older than DeviceLife.
func (s *Store) Knows(account string, l login.Login, d Device) bool {
	k, ok := d.Accounts[ids.Hash(account)]
	return ok && l.Hash != "" && k.Since == l.Since && s.now().Before(time.Unix(k.At, 0).Add(DeviceLife))
}

// remember adds to the transaction that the account knows the browser. The
// device gets a new secret, so a planted or copied cookie becomes useless.
func (s *Store) remember(tx *table.Tx, d Device, account, since string) (secret string) {
	now := s.now()
	next := Device{Accounts: map[string]knownFor{ids.Hash(account): {At: now.Unix(), Since: since}}}
	others := slices.SortedFunc(maps.Keys(d.Accounts), func(a, b string) int {
		return int(d.Accounts[b].At - d.Accounts[a].At)
	})
	for _, other := range others {
		if _, ok := next.Accounts[other]; !ok && len(next.Accounts) < mostAccounts {
			next.Accounts[other] = d.Accounts[other]
		}
	}
	secret = ids.Secret()
	tx.Create(table.Item{Key: s.deviceKey(secret), Type: "device", Doc: next, Expires: now.Add(DeviceLife)})
	if d.secret != "" {
		tx.Delete(s.deviceKey(d.secret))
	}
	return secret
}

// Remember makes the account know the request's browser without a sign-in.
// since is that of the account's password.
func (s *Store) Remember(ctx context.Context, w http.ResponseWriter, r *http.Request, account, since string) error {
	d, err := s.Device(ctx, r)
	if err != nil {
		return err
	}
	tx := s.p.Write()
	known := s.remember(tx, d, account, since)
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("device: %w", err)
	}
	s.set(w, deviceCookie, known, DeviceLife)
	return nil
}
