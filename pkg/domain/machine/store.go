package machine

import (
	"context"
	"fmt"
	"time"

	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// List reads one page of a tenant's machines, oldest first. after is next of the previous
// page, "" for the first one.
//
// Access pattern: by-g1 T#t#MACHINES.
func List(ctx context.Context, t table.Tenant, after string, limit int) (found []Record, next string, err error) {
	page, err := t.Query(ctx, partition(t), table.Query{Index: 1, After: after, Limit: limit})
	if err != nil {
		return nil, "", fmt.Errorf("machines: %w", err)
	}
	if page.More {
		next = page.Last
	}
	found, err = table.DecodeAll(page.Items, Kind.FromItem)
	return found, next, err
}

// Disable disables a machine.
func Disable(ctx context.Context, t table.Tenant, by audit.By, id string) error {
	change := editing(t, by, "update", id, func(r *Record) error {
		off := false
		r.Enabled = &off
		return nil
	})
	change.Check = func(was Record, now *Record) error {
		now.endTokens(was, by.At)
		return nil
	}
	_, err := change.Run(ctx)
	return err
}

// editing is a change of a machine.
func editing(t table.Tenant, by audit.By, what, id string, edit func(*Record) error) audit.Change[Record] {
	return audit.Change[Record]{Tenant: t, By: by, What: "machine." + what, Subject: id, Key: Key(t, id), Kind: &Kind,
		Edit: edit, Shown: func(r Record) any { return r.shown(t) }}
}

// endTokens ends the tokens of a machine that a change disables, or whose end has passed and
// is put off. They do not come back.
func (r *Record) endTokens(was Record, now time.Time) {
	if !*r.Enabled && *was.Enabled || ended(was.EndsAt, now) && !ended(r.EndsAt, now) {
		r.Epoch++
	}
}
