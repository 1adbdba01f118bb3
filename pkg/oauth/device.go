package oauth

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"svc/pkg/authz"
	"svc/pkg/email"
	"svc/pkg/ids"
	"svc/pkg/login"
	"svc/pkg/table"
)

const (
	deviceCookie = "svc-device"
	// DeviceLife is for how long a browser is known after a sign-in.
	DeviceLife = 180 * 24 * time.Hour
	// mostAccounts is how many accounts know one browser; one more forgets the oldest.
	mostAccounts = 8
)

// device is a browser with which people signed in before (OWASP, "Slow down
// online guessing attacks with device cookies"). It lets nobody in: its failed
// sign-ins to an account that knows it are counted apart from everybody else's, so
// that nobody can lock it out. The zero one is a browser that is not known.
type device struct {
	Accounts map[string]knownFor `json:"accounts"` // by hash of the account

	secret string // the cookie's value
}

// knownFor is how an account knows a browser.
type knownFor struct {
	At    int64  `json:"at"`    // of the last sign-in, Unix seconds
	Since string `json:"since"` // of the password that was used: a new one forgets the browser
}

// account names an account for counters and devices.
func account(audience authz.Audience, tenantID, address string) string {
	return strings.Join([]string{string(audience), tenantOf(audience, tenantID), email.Fold(address)}, "\n")
}

func (s *Server) deviceKey(secret string) table.Key {
	return s.p.Key("DEVICE", "SESSION", ids.Hash(secret))
}

// device reads the browser of the request's cookie.
func (s *Server) device(ctx context.Context, r *http.Request) (device, error) {
	secret := s.cookie(r, deviceCookie)
	if secret == "" {
		return device{}, nil
	}
	it, err := s.p.Get(ctx, s.deviceKey(secret))
	if err != nil {
		return device{}, fmt.Errorf("device: %w", err)
	}
	if !it.Live(s.now()) {
		return device{}, nil
	}
	d := device{secret: secret}
	return d, it.Decode(&d)
}

// knows says whether the account, with the password that it has, knows the
// browser.
func (s *Server) knows(name string, l login.Login, d device) bool {
	k, ok := d.Accounts[ids.Hash(name)]
	return ok && l.Hash != "" && k.Since == l.Since && s.now().Before(time.Unix(k.At, 0).Add(DeviceLife))
}

// remember makes the browser one that the account knows, in the caller's
// transaction, under a new secret: one that was planted or copied before is
// worth nothing after.
func (s *Server) remember(tx *table.Tx, d device, name, since string) (secret string) {
	now := s.now()
	next := device{Accounts: map[string]knownFor{ids.Hash(name): {At: now.Unix(), Since: since}}}
	others := slices.SortedFunc(maps.Keys(d.Accounts), func(a, b string) int { return int(d.Accounts[b].At - d.Accounts[a].At) })
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
