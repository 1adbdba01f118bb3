package member

import (
	"context"
	"errors"
	"slices"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/person"
	"svc/pkg/edge/api"
)

// errLast refuses to end the access of the last member who can give access.
var errLast = fault.InvalidState("Nobody else could manage the members: the company needs an enabled member with " +
	authz.ManageMembers + ". Give another member this permission first.")

// changer is a caller who changes a member.
type changer struct {
	*api.Caller
	read audit.Reader
}

// holds returns nil if the caller holds all of the permissions at this moment, and
// MANAGE_MEMBERS. The transaction fails with a conflict if the caller's membership changes
// meanwhile; the next attempt reads it again. The platform's operator holds everything. The
// membership of the caller that changes itself is own, else nil: its item has a condition
// already.
func (c changer) holds(ctx context.Context, tx *table.Tx, own *person.Membership, permissions ...string) error {
	if c.Operated() {
		return nil
	}
	m := own
	if own == nil {
		it, err := c.read(ctx, authz.ActorKey(c.Tenant, authz.Dashboard, c.Actor.Subject))
		if err != nil {
			return err
		}
		read, err := person.MemberKind.FromItem(it)
		if err != nil {
			return gone(err)
		}
		tx.Check(it.Key).If("'version' = ?", it.Version).Else(table.ErrConflict)
		m = &read
	}
	if m.Disabled {
		return gone(fault.NotFound())
	}
	for _, one := range append(permissions, authz.ManageMembers) {
		if !slices.Contains(m.Permissions, one) {
			return fault.Forbidden(one)
		}
	}
	return nil
}

// gone returns the error of the checks for a caller whose membership has ended meanwhile.
func gone(err error) error {
	if errors.Is(err, fault.NotFound()) {
		return fault.Unauthorized("The token is no longer valid.", true)
	}
	return err
}

// guard lets the caller change a membership only if he holds what it has, before and after.
// The company keeps a member who manages members. Whoever changes another is such a member,
// and the transaction checks that. Whoever changes himself needs another one. So of two
// changes at once that would leave none, one fails.
func (c changer) guard(ctx context.Context, tx *table.Tx, read table.Item, was, now person.Membership) error {
	if err := c.Match(read.Version); err != nil {
		return err
	}
	var own *person.Membership
	if was.PersonID == c.Actor.Subject {
		own = &was
	}
	if err := c.holds(ctx, tx, own, append(slices.Clone(was.Permissions), now.Permissions...)...); err != nil {
		return err
	}
	if own == nil || !manages(was) || manages(now) {
		return nil
	}
	for after := ""; ; {
		page, err := c.Tenant.Query(ctx, person.MembersPartition(c.Tenant), table.Query{Index: 1, After: after, Limit: 200})
		if err != nil {
			return err
		}
		for _, it := range page.Items {
			if it.Key != read.Key && managing(it) {
				tx.Check(it.Key).If("'version' = ?", it.Version).Else(table.ErrConflict)
				return nil
			}
		}
		if after = page.Last; !page.More {
			return errLast
		}
	}
}

// manages reports whether a member may manage members.
func manages(m person.Membership) bool {
	return !m.Disabled && slices.Contains(m.Permissions, authz.ManageMembers)
}

// managing is manages for an item of the list of members.
func managing(it table.Item) bool {
	m, err := person.MemberKind.FromItem(it)
	return err == nil && it.Type == person.MemberKind.Type && manages(m)
}
