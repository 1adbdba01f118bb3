package tokens

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/machine"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/protocol"
)

// clientItem is the stored record of who authenticates: a registered client or a machine.
type clientItem struct {
	by     protocol.Credentials
	tenant table.Tenant // of a machine
	item   table.Item
}

// addGet adds the record to the batch. It returns false if the client_id is neither's.
func (i *clientItem) addGet(s *Issuer, b *table.BatchGet) bool {
	if tenant, id, ok := machine.ParseClientID(i.by.ClientID); ok {
		i.tenant = s.db.Tenant(tenant)
		b.Add(i.tenant.Handle, machine.Key(i.tenant, id), &i.item)
		return true
	}
	if !clients.ValidID(i.by.ClientID) {
		return false
	}
	b.Add(s.Clients.Handle(), s.Clients.Key(i.by.ClientID), &i.item)
	return true
}

func (i *clientItem) decode(now time.Time) (clients.Client, error) {
	if i.tenant.ID() != "" {
		return clients.FromMachine(i.tenant, i.item, i.by, now)
	}
	return clients.Decode(i.by.ClientID, i.item, now)
}

// MachineLife is how long an access token of a machine lives. It can ask for another at any
// time, so it gets no refresh token (RFC 6749 section 4.4.3).
const MachineLife = 15 * time.Minute

// machineGrant is the client_credentials grant (RFC 6749 section 4.4). Only machines have
// it: a registered client acts for persons, and nobody has said what it may do without one.
type machineGrant struct {
	form   url.Values
	tenant table.Tenant
	flags  table.Item
}

func (g *machineGrant) addGets(s *Issuer, b *table.BatchGet, clientID string) {
	if tenant, _, ok := machine.ParseClientID(clientID); ok {
		g.tenant = s.db.Tenant(tenant)
		b.Add(g.tenant.Handle, authz.FlagsKey(g.tenant, ids.Pick(clientID, authz.Copies)), &g.flags)
	}
}

func (g *machineGrant) redeem(ctx context.Context, s *Issuer, c clients.Client) (tokens, error) {
	m := c.Machine
	if m == nil {
		return tokens{}, protocol.Refuse("unauthorized_client", "Only a machine of a company may use client_credentials. "+
			"An operator makes one.")
	}
	held := standingItems{flags: g.flags}
	if !held.flags.Found() || held.flags.Flag("disabled") {
		return tokens{}, badGrant("The company is disabled or does not exist any more.")
	}
	asked := c.Scopes
	if g.form.Has("scope") {
		asked = authz.Split(g.form.Get("scope"))
	}
	scopes, err := grantable(c, authz.Dashboard, asked, authz.Have{Permissions: m.Permissions})
	if err != nil {
		return tokens{}, err
	}
	resource := ""
	if g.form.Has("resource") {
		if resource, err = s.narrowed(g.form, authz.API+" "+authz.AgentsPath(authz.Dashboard, "")); err != nil {
			return tokens{}, err
		}
	}
	now := s.now()
	i := issue{tenant: g.tenant, client: c, scopes: scopes, resource: resource, id: ids.New(ids.Token, now), at: now,
		life: MachineLife, secret: c.SecretID(), shards: max(1, int(g.flags.Int("writeShards"))),
		// Nobody consents for a machine, so its agents may do what the company lets them now.
		family: family{Actor: m.ID, Audience: authz.Dashboard, Epoch: m.Epoch, Resource: resource,
			Agents: authz.AgentMode(g.flags)}}
	out, err := s.sign(ctx, i, "")
	if err != nil {
		return tokens{}, err
	}
	tx := g.tenant.Write()
	tx.Create(i.record())
	m.NoteUse(tx, g.tenant, i.secret, now)
	s.Clients.AddSpend(tx, c)
	if err := tx.Commit(ctx); err != nil {
		return tokens{}, fmt.Errorf("issuing a token to a machine: %w", err)
	}
	return out, nil
}
