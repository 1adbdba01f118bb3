package export

import (
	"context"
	"fmt"

	"svc/pkg/base/sheet"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
)

// Slice is a part of a file.
type Slice struct {
	Content  []byte
	Rows     int64
	Position string // where the next slice begins
	End      bool   // the file has no further rows
}

// Next returns the part of the file after a position, "" for the file's beginning.
// The part ends when full returns true for its size, at the next row at which
// another part may begin.
func (j Job) Next(ctx context.Context, s Scope, after string, begins bool, full func(size int) bool) (Slice, error) {
	e, out := sheet.New(j.Format, j.Columns), Slice{Position: after}
	if begins {
		if j.BOM {
			e.Buf.WriteString("\ufeff")
		}
		e.Header()
	}
	for row, err := range kinds[j.Kind].rows(ctx, s, after) {
		if err == nil && row.Value != nil {
			out.Rows++
			err = e.Row(row.Value)
		}
		if err != nil {
			return out, fmt.Errorf("export of %s: %w", j.Kind, err)
		}
		if out.Position = row.Position; full(e.Buf.Len()) {
			out.Content = e.Buf.Bytes()
			return out, nil
		}
	}
	out.Content, out.End = e.Buf.Bytes(), true
	return out, nil
}

// ScopeOf reads what the rows of a job are taken from.
func ScopeOf(ctx context.Context, t table.Tenant, j Job) (s Scope, err error) {
	s.Tenant = t
	flags, err := tenant.Flags(ctx, t)
	if err != nil {
		return s, err
	}
	s.Shards, s.Currency = max(1, int(flags.Int("readShards"))), flags.Text("currency")
	it, err := t.Get(ctx, tenant.Key(t))
	if err != nil {
		return s, err
	}
	if s.Zone, err = tenant.Zone(it); err != nil {
		return s, err
	}
	if j.From != nil {
		if s.From, err = timestamp.Parse(*j.From); err != nil {
			return s, err
		}
	}
	s.To, err = timestamp.Parse(j.To)
	return s, err
}
