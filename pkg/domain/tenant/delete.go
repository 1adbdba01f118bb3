package tenant

import (
	"context"
	"fmt"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// ErrDeleting reports that the tenant is being deleted, so it cannot change.
var ErrDeleting = fault.InvalidState("The tenant is being deleted; svc tenant delete SLUG --yes finishes it.")

// deleting is the attribute of a tenant's flags that says that the tenant is being deleted.
const deleting = "deleting"

// marked returns the value of an optional attribute: true, or nil, which the table stores
// as an absent attribute.
func marked(yes bool) any {
	if yes {
		return true
	}
	return nil
}

// Gone reports, from a copy of the tenant's flags, whether the tenant is deleted or is
// being deleted. Nothing may be written for such a tenant, because the deletion
// might miss it.
func Gone(flags table.Item) bool { return !flags.Found() || flags.Flag(deleting) }

// BeginDelete disables the tenant permanently and marks it as being deleted, in
// one transaction. From then on its tokens and sign-ins are invalid, and the
// stream functions write nothing for it. If the deletion has already begun,
// BeginDelete only returns the record.
func (s Store) BeginDelete(ctx context.Context, id string, by audit.By) (Tenant, error) {
	now, err := s.ByID(ctx, id)
	if err != nil || now.DeletingAt != "" {
		return now, err
	}
	return s.Change(ctx, id, by, func(n *Tenant) error {
		n.Disabled, n.DeletingAt = true, timestamp.Format(by.At)
		return nil
	})
}

// Last reports whether the deletion of the tenant keeps the item with the key until
// EndDelete. The deletion keeps the tenant's record and flags, because they say that the
// tenant is being deleted.
func Last(t table.Tenant, key table.Key) bool {
	if key == Key(t) {
		return true
	}
	for i := range authz.Copies {
		if key == authz.FlagsKey(t, i) {
			return true
		}
	}
	return false
}

// Deleted records that a tenant existed, and when and by whom it was deleted.
type Deleted struct {
	ID        string `json:"id"`
	Slug      string `json:"slug"`
	CreatedAt string `json:"createdAt"`
	DeletedAt string `json:"deletedAt"`
	Who       string `json:"who"`
}

var _ = table.Kind[any]{Type: "deleted", Personal: "nothing", Once: "an entry of a list, like that of a log"}

// EndDelete removes the last items of a tenant in one transaction: record,
// flags and slug. The transaction also releases the domain and writes the entry
// that ListDeleted reads.
func (s Store) EndDelete(ctx context.Context, n Tenant, by audit.By) error {
	if n.DeletingAt == "" {
		return fmt.Errorf("the deletion of %s has not begun", n.ID)
	}
	t, p, gone := s.DB.Tenant(n.ID), s.platform(), s.DB.Platform("DELETED")
	return table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write().Covers(p.Handle).Covers(gone.Handle)
		at := timestamp.Format(by.At)
		tx.Create(table.Item{Key: gone.Key("DELETED", at+"#"+n.ID), Type: "deleted",
			Doc: Deleted{n.ID, n.Slug, n.CreatedAt, at, by.Who}})
		tx.Delete(Key(t)).If("attribute_exists(pk)").Else(fault.NotFound())
		tx.Delete(slugKey(p, n.Slug))
		if n.CustomDomain != "" {
			release(tx, p, n)
		}
		for i := range authz.Copies {
			tx.Delete(authz.FlagsKey(t, i))
		}
		return tx.Commit(ctx)
	})
}

// ListDeleted returns up to limit deleted tenants (1…1000), newest first. after
// and next are as in audit.List.
//
// Access pattern: DELETED# backward, strongly consistent.
func (s Store) ListDeleted(ctx context.Context, after string, limit int) (out []Deleted, next string, err error) {
	p := s.DB.Platform("DELETED")
	page, err := p.Query(ctx, p.Partition("DELETED"), table.Query{Backward: true, After: after, Limit: limit,
		Consistent: true})
	if err != nil {
		return nil, "", fmt.Errorf("deleted tenants: %w", err)
	}
	if page.More {
		next = page.Last
	}
	out, err = table.DecodeAll(page.Items, table.DecodeDoc[Deleted])
	return out, next, err
}
