package person

import (
	"context"
	"crypto/subtle"
	"fmt"
	"strings"
	"time"

	"svc/pkg/access/login"
	"svc/pkg/base/email"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// Invitation is what an operator offers to the owner of a mail address: a membership. It
// becomes one when that person accepts by the link.
type Invitation struct {
	ID          string   `json:"id"`              // InvitationID
	Email       string   `json:"email,omitempty"` // the audit log does not have it
	Role        string   `json:"role"`
	Permissions []string `json:"permissions"` // sorted
	InvitedBy   string   `json:"invitedBy"`
	InvitedAt   string   `json:"invitedAt"`
	EndsAt      *string  `json:"endsAt"`         // when the link ends; nil if none was made
	Link        string   `json:"link,omitempty"` // hash of the link's secret
}

// InvitationKind stores invitations. They are in the list of memberships. An invitation is
// one item with the hash of its link: whatever removes or replaces it ends the link.
var InvitationKind = table.Kind[Invitation]{Type: "invitation", Personal: "nothing",
	Row: func(t table.Tenant, _ string, n Invitation) table.Item {
		return table.Item{Key: InvitationKey(t, n.ID), Version: 1, G: [4]string{MembersPartition(t)}, R: n.ID}
	}}

// InvitationKey returns the key of an invitation.
func InvitationKey(t table.Tenant, id string) table.Key { return t.Key("PERSON", id, "INVITATION") }

// InvitationID returns the id of the invitation of a mail address. An address has one
// invitation of a tenant. The person who accepts has another id.
func InvitationID(t table.Tenant, address string) string {
	return ids.Derived(ids.Person, time.UnixMilli(0), t.ID()+"\n"+email.Fold(address))
}

// Logged returns what the audit log shows of the invitation.
func (n Invitation) Logged() Invitation {
	n.Email, n.Link = "", ""
	return n
}

// NewLink gives the invitation a link that is valid until ends, and returns its path. The
// link before it is void. The path has a secret: never log it.
func (n *Invitation) NewLink(t table.Tenant, ends time.Time) string {
	secret := ids.Secret()
	n.Link, n.EndsAt = ids.Hash(secret), timestamp.Ptr(ends)
	return "/oauth/join?link=" + t.ID() + "." + n.ID + "." + secret
}

// Opened is an invitation whose link was opened.
type Opened struct {
	Invitation
	TenantID string
	item     table.Item
}

// Open returns the invitation of a link. It returns fault.NotFound if the link is not valid.
func (s Store) Open(ctx context.Context, link string, now time.Time) (Opened, error) {
	parts := strings.Split(link, ".")
	if len(parts) != 3 || !ids.Valid(ids.Tenant, parts[0]) || !ids.Valid(ids.Person, parts[1]) {
		return Opened{}, fault.NotFound()
	}
	t := s.DB.Tenant(parts[0])
	it, err := t.Get(ctx, InvitationKey(t, parts[1]))
	if err != nil {
		return Opened{}, fmt.Errorf("invitation: %w", err)
	}
	n, err := InvitationKind.FromItem(it)
	if err != nil {
		return Opened{}, err
	}
	if n.EndsAt == nil || subtle.ConstantTimeCompare([]byte(n.Link), []byte(ids.Hash(parts[2]))) != 1 {
		return Opened{}, fault.NotFound()
	}
	if ends, err := timestamp.Parse(*n.EndsAt); err != nil || !now.Before(ends) {
		return Opened{}, fault.NotFound()
	}
	return Opened{n, t.ID(), it}, nil
}

// Accept makes the invited person a member, in one transaction with the end of the
// invitation. l is the account of the address, zero if there is none: then first and last
// are the names of a new person. hash is the hash of a first password, "" for an account
// that has one. Errors: fault.NotFound if the invitation was taken back, replaced or
// accepted, or the account changed meanwhile; a 400 for faulty names; ErrMember.
func (s Store) Accept(
	ctx context.Context, n Opened, l login.Login, first, last, hash string, at time.Time,
) (Membership, error) {
	t, now := s.DB.Tenant(n.TenantID), timestamp.Format(at)
	by := audit.By{Who: l.Actor, At: at}
	newcomer := Person{ID: ids.New(ids.Person, at), Email: n.Email, FirstName: first, LastName: last, CreatedAt: now}
	if l.Actor == "" {
		if err := newcomer.normalize(); err != nil {
			return Membership{}, err
		}
		by.Who = newcomer.ID
	}
	m := Membership{TenantID: t.ID(), PersonID: by.Who, Role: n.Role, Permissions: n.Permissions, CreatedAt: now}
	accept := func(tx *table.Tx, p *Person) error {
		tx.Covers(t.Handle).Delete(n.item.Key).If("'version' = ?", n.item.Version).Else(fault.NotFound())
		err := p.join(tx, t, &m)
		audit.Append(tx, t, by, "member.accept", m.PersonID, n.Logged(), m)
		return err
	}
	if l.Actor != "" {
		return m, s.change(ctx, l.Actor, func(_ context.Context, p *Person, tx *table.Tx) (Membership, error) {
			if hash != "" {
				s.SetPassword(tx, by, *p, l.Since, hash)
			}
			return m, accept(tx, p)
		})
	}
	p := s.platform()
	return m, table.Retry(ctx, func(ctx context.Context) error {
		one, tx := newcomer, p.Write()
		if err := accept(tx, &one); err != nil {
			return err
		}
		tx.Create(record(p, one))
		login.Put(tx, EmailKey(p, one.Email), "email", login.Login{Actor: one.ID, Hash: hash, Since: now}, fault.NotFound())
		return tx.Commit(ctx)
	})
}

// Invitations reads one page of a tenant's invitations, ordered by id.
//
// Access pattern: by-g1 T#t#MEMBERS.
func (s Store) Invitations(
	ctx context.Context, t table.Tenant, after string, limit int,
) (found []Invitation, next string, err error) {
	return listed(ctx, t, &InvitationKind, after, limit)
}

// TakeBack deletes an invitation, which ends its link. The error is fault.NotFound if there
// is none.
func (s Store) TakeBack(ctx context.Context, t table.Tenant, by audit.By, id string) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		it, err := t.Get(ctx, InvitationKey(t, id))
		if err != nil {
			return err
		}
		n, err := InvitationKind.FromItem(it)
		if err != nil {
			return err
		}
		tx := t.Write()
		n.End(tx, t, by, it)
		return tx.Commit(ctx)
	})
}

// End adds the deletion of an invitation that was read to the transaction.
func (n Invitation) End(tx *table.Tx, t table.Tenant, by audit.By, read table.Item) {
	tx.Delete(read.Key).If("'version' = ?", read.Version).Else(table.ErrConflict)
	audit.Append(tx, t, by, "member.uninvite", n.ID, n.Logged(), nil)
}
