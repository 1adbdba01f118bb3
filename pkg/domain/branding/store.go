package branding

import (
	"context"

	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// Change applies the patch to the tenant's branding, adds an audit entry and returns the
// new branding. It writes nothing if no field differs. The write requires that the
// branding has not changed since the read, and Change starts again after a conflict.
// Therefore two concurrent patches of different fields both take effect. commit commits
// the transaction.
func Change(
	ctx context.Context, t table.Tenant, by audit.By, p Patch, commit func(context.Context, *table.Tx, Branding) error,
) (Branding, error) {
	return ChangeRead(ctx, t, t.Get, by, p, commit)
}

// ChangeRead is Change with a function, read, that reads the branding for each attempt.
func ChangeRead(
	ctx context.Context, t table.Tenant, read audit.Reader, by audit.By, p Patch,
	commit func(context.Context, *table.Tx, Branding) error,
) (Branding, error) {
	return audit.Change[Branding]{Tenant: t, By: by, What: "branding.set", Subject: t.ID(),
		Key: Key(t), Kind: &Kind, Read: read, Differing: differing,
		Edit: func(b *Branding) (err error) {
			*b, err = b.Apply(p)
			return err
		},
		Commit: func(ctx context.Context, tx *table.Tx, _, now Branding) error { return commit(ctx, tx, now) }}.Run(ctx)
}

// differing returns what the audit entry of a change shows: by name, the fields that differ
// in the brandings was (old) and now (new), with their old and new values. The complete
// brandings could be kilobytes, because a logo may be a data URI.
func differing(was, now Branding) (before, after any) {
	a, b := map[string]*string{}, map[string]*string{}
	old, all := fields(&Patch{}, &was), fields(&Patch{}, &now)
	for i, f := range all {
		if x, y := *old[i].value, *f.value; (x == nil) != (y == nil) || (x != nil && *x != *y) {
			a[f.name], b[f.name] = x, y
		}
	}
	return a, b
}
