package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"svc/pkg/access/login"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
)

// DeviceLife is how long an account knows a browser after the last sign-in, or
// after the person last set the password with it.
const DeviceLife = 180 * 24 * time.Hour

// mostAccounts is how many accounts may know one browser. One more replaces the
// account with the oldest sign-in.
const mostAccounts = 8

// Device is a browser with which people signed in before (OWASP, "Slow down
// online guessing attacks with device cookies"). A device is no credential. If
// an account knows the browser, failed sign-ins to the account with this
// browser have a separate counter. So nobody else can lock the browser out. The
// zero Device is an unknown browser.
type Device struct {
	Accounts map[string]knownFor `json:"accounts"` // by the hash of AccountKey
	// Counter is part of the keys of the browser's counters. The secret changes
	// at each sign-in, and Counter does not. So a sign-in with another account
	// gives no new guesses.
	Counter string `json:"counter,omitempty"` // "" in a record of an earlier build, for which the secret is used

	secret string // the cookie's value
}

// knownFor is what a browser's record says about one account.
type knownFor struct {
	At    int64  `json:"at"`    // time of the last sign-in, in Unix seconds
	Since string `json:"since"` // login.Login.Since; another value voids the entry
}

// CounterKey returns the key of the counter of an account's sign-ins with this
// browser.
func (d Device) CounterKey(account string) string {
	return account + "\n" + cmp.Or(d.Counter, d.secret)
}

// deviceKey returns the key of the record of the device with the secret.
func (s *Store) deviceKey(secret string) table.Key {
	return s.p.Key("SESSION", ids.Hash(secret), "DEVICE")
}

// Device returns the device of the request's cookie, or the zero Device if
// there is none.
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

// Knows reports whether the account knows the browser. An account no longer
// knows a browser if Login.Since has changed after the last sign-in with it, for
// example by a new password, or if this sign-in is older than DeviceLife.
func (s *Store) Knows(account string, l login.Login, d Device) bool {
	k, ok := d.Accounts[ids.Hash(account)]
	return ok && l.Hash != "" && k.Since == l.Since && s.now().Before(time.Unix(k.At, 0).Add(DeviceLife))
}

// errReplaced reports that another sign-in has replaced the device's record.
var errReplaced = errors.New("another sign-in has replaced the device's record")

// commitKnown commits the transaction that build returns, together with the
// record that the account knows the browser. It returns the cookie's new value.
// If another sign-in has replaced the record of d, the browser counts as
// unknown: only one browser may continue the record and its counters.
func (s *Store) commitKnown(ctx context.Context, d Device, account, since string,
	build func() *table.Tx) (secret string, err error) {
	commit := func(d Device) (string, error) {
		tx := build()
		secret := s.remember(tx, d, account, since)
		return secret, table.Retry(ctx, tx.Commit)
	}
	secret, err = commit(d)
	if errors.Is(err, errReplaced) {
		secret, err = commit(Device{})
	}
	return secret, err
}

// Declares the personal data in the items of type device.
var _ = table.Kind[any]{Type: "device", Personal: "hashes of accounts that a browser knows", Erasure: "nothing",
	Once: "a new one replaces the cookie, not the item"}

// remember adds to the transaction the record that the account knows the browser, and
// returns the cookie's new value. The device gets a new secret, so a planted or copied
// cookie becomes useless. If the record of d is gone, the transaction fails with
// errReplaced.
func (s *Store) remember(tx *table.Tx, d Device, account, since string) (secret string) {
	now := s.now()
	next := Device{Accounts: map[string]knownFor{ids.Hash(account): {At: now.Unix(), Since: since}},
		Counter: cmp.Or(d.Counter, ids.Secret())}
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
		tx.Delete(s.deviceKey(d.secret)).If("attribute_exists(pk)").Else(errReplaced)
	}
	return secret
}

// Remember makes the account know the request's browser without a sign-in.
// since is Login.Since of the account, which changes with the password.
func (s *Store) Remember(ctx context.Context, w http.ResponseWriter, r *http.Request, account, since string) error {
	d, err := s.Device(ctx, r)
	if err != nil {
		return err
	}
	known, err := s.commitKnown(ctx, d, account, since, s.p.Write)
	if err != nil {
		return fmt.Errorf("device: %w", err)
	}
	s.set(w, deviceCookie, known, DeviceLife)
	return nil
}
