package export

import (
	"context"
	"fmt"

	"svc/pkg/base/sheet"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
)

// Slice is a piece of an export's file: what one step of the job writes.
type Slice struct {
	Content  []byte
	Rows     int64
	Position string // position of the last row; the next slice begins after it
	End      bool   // the file has no further rows
}

// Next returns the slice with the rows after the position after, "" for the first row.
// begins says that the slice begins the file, with the byte order mark and the header. The
// slice ends when full, called after each row with the slice's size in bytes, returns true.
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

// ScopeOf returns the Scope of an export: the tenant and the window from which its rows are
// taken. It reads the tenant's record and flags.
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
