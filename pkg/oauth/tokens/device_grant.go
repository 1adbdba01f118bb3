package tokens

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/protocol"
)

// DeviceGrant is the grant_type of a device (RFC 8628 section 3.4).
const DeviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// The pace of a device that waits (RFC 8628 section 3.5).
const (
	pollInterval    = 5 * time.Second
	slowDown        = 5 * time.Second
	longestInterval = time.Minute
)

// deviceGrant is the grant of a device: it polls until the person has answered.
type deviceGrant struct {
	form  url.Values
	user  string // the user code in the device code, "" if the device code is malformed
	item  table.Item
	trust table.Item
}

func newDeviceGrant(form url.Values) *deviceGrant {
	g := &deviceGrant{form: form}
	user, secret, _ := strings.Cut(form.Get("device_code"), ".")
	if code, ok := ParseUserCode(user); ok && code == user && len(secret) == secretSize {
		g.user = user
	}
	return g
}

func (g *deviceGrant) addGets(s *Issuer, b *table.BatchGet, clientID string) {
	if g.user != "" {
		b.Add(s.p.Handle, s.deviceKey(g.user), &g.item)
		b.Add(s.Clients.Handle(), s.Clients.TrustKey(clientID), &g.trust)
	}
}

// The errors of RFC 8628 section 3.5.
var (
	errBadDevice = badGrant("The device code is unknown or used, or it belongs to another client.")
	errPending   = protocol.Refuse("authorization_pending", "The person has not answered yet. Ask again after the interval.")
	errSlowDown  = protocol.Refuse("slow_down", "The request came too early. The interval is 5 seconds longer now.")
	errDenied    = protocol.Refuse("access_denied", "The person did not allow access.")
	errLate      = protocol.Refuse("expired_token", "The device code has expired. Begin again.")
)

// redeem exchanges the device code for tokens, or says why not yet. The states that end the
// request have no pace: an approval is redeemed by a poll that comes too early, too.
func (g *deviceGrant) redeem(ctx context.Context, s *Issuer, c clients.Client) (tokens, error) {
	if !g.form.Has("device_code") {
		return tokens{}, protocol.Refuse("invalid_request", "device_code is missing.")
	}
	now := s.now()
	if !g.item.Live(now) {
		return tokens{}, errBadDevice
	}
	d, err := deviceFrom(g.item)
	if err != nil {
		return tokens{}, err
	}
	state := g.item.Text("status")
	if d.ClientID != c.ID || !protocol.Equal(ids.Hash(g.form.Get("device_code")), d.CodeHash) || state == deviceUsed {
		return tokens{}, errBadDevice
	}
	if err := d.mayUse(c, g.trust); err != nil {
		return tokens{}, err
	}
	switch {
	case !now.Before(d.Expires):
		return tokens{}, errLate
	case state == DeviceDenied:
		return tokens{}, errDenied
	case state == DeviceApproved && d.Approval != nil:
		return g.exchange(ctx, s, c, *d.Approval)
	}
	return tokens{}, g.wait(ctx, s, now)
}

// wait notes the poll. One that comes too early makes the interval longer, and does not count
// as a poll: else a device that keeps its pace would come too early for ever.
func (g *deviceGrant) wait(ctx context.Context, s *Issuer, now time.Time) error {
	interval := time.Duration(g.item.Int("interval")) * time.Second
	change, answer := table.Change{Set: map[string]any{"polledAt": now.UnixMilli()}}, errPending
	if now.Before(time.UnixMilli(g.item.Int("polledAt")).Add(interval)) {
		if answer = errSlowDown; interval >= longestInterval {
			return answer
		}
		change.Set = map[string]any{"interval": int64((interval + slowDown).Seconds())}
	}
	tx := s.p.Write()
	tx.Update(g.item.Key, change).If("'status' = ?", DevicePending).Else(table.ErrConflict)
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("noting a poll: %w", err)
	}
	return answer
}

// exchange marks the device code as used and issues the tokens, in one transaction. It reads
// nothing more: conditions of the transaction check that actor, company and grant are as they
// were when the person answered. Where a permission was taken meanwhile, each request
// is refused, and the next refresh drops the scope.
func (g *deviceGrant) exchange(ctx context.Context, s *Issuer, c clients.Client, code AuthorizationCode) (tokens, error) {
	scopes := slices.DeleteFunc(slices.Clone(code.Scopes), func(scope string) bool {
		return !slices.Contains(c.Scopes, scope)
	})
	if len(scopes) == 0 || !slices.Contains(c.Audiences, code.Audience) {
		return tokens{}, errNoScopes
	}
	resource, err := s.narrowed(g.form, code.Resource)
	if err != nil {
		return tokens{}, err
	}
	t := s.db.Tenant(code.TenantID)
	begun, err := s.begin(ctx, t, c, code, issue{scopes: scopes, resource: resource})
	if err != nil {
		return tokens{}, err
	}
	tx := t.Write().Covers(s.p.Handle).Covers(s.Clients.Handle())
	tx.Update(g.item.Key, table.Change{Set: map[string]any{"status": deviceUsed}}).
		If("'status' = ?", DeviceApproved).Else(table.ErrConflict)
	requireStanding(tx, t, c.ID, code, g.item.PK)
	s.store(tx, begun)
	if err := tx.Commit(ctx); err != nil {
		return tokens{}, fmt.Errorf("redeeming a device code: %w", err)
	}
	return begun.tokens, nil
}

// requireStanding adds to a transaction what standingItems checks of items that were read, and
// creates the grant if there is none.
func requireStanding(tx *table.Tx, t table.Tenant, clientID string, code AuthorizationCode, copyOf string) {
	const enabled = "attribute_exists(pk) AND (attribute_not_exists('disabled') OR 'disabled' = ?)"
	tx.Check(authz.FlagsKey(t, ids.Pick(copyOf, authz.Copies))).If(enabled, false).Else(errNoStanding)
	actor := tx.Check(authz.ActorKey(t, code.Audience, code.Actor)).If(enabled, false).Else(errNoStanding)
	if code.Since == "" {
		actor.If("attribute_not_exists('since')")
	} else {
		actor.If("'since' = ?", code.Since)
	}
	grant := tx.Update(authz.GrantKey(t, clientID, code.Actor), table.Change{Set: map[string]any{"type": "grant",
		"client": clientID, "actor": code.Actor}, Default: map[string]any{"epoch": 0}}).Else(errBadDevice)
	if code.Epoch == 0 {
		grant.If("attribute_not_exists('epoch') OR 'epoch' = ?", 0)
	} else {
		grant.If("'epoch' = ?", code.Epoch)
	}
}
