package imports_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/imports"
)

// TestImportDoesNotGrow: the rows of a file cost the same requests and no more memory,
// however many were applied before them: one read of the keys and one transaction for
// each 18 new people.
func TestImportDoesNotGrow(t *testing.T) {
	testkit.Long(t)
	const rows, warm = 2_160, 360
	wire := &testkit.Wire{}
	tn := testkit.TableOnWire(t, wire).Tenant(ids.New(ids.Tenant, time.Now()))
	for n := range authz.Copies {
		testkit.Must(t, tn.Load(t.Context(), table.Item{Key: authz.FlagsKey(tn, n), Type: "flags",
			Attrs: map[string]any{"readShards": 1, "writeShards": 1}}))
	}
	var file strings.Builder
	file.WriteString("email;name\r\n")
	for n := range rows {
		fmt.Fprintf(&file, "p%06d@metro.example;Person %06d\r\n", n, n)
	}
	text := file.String()
	open := func(from int64) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text[from:])), nil }
	job, err := imports.New(imports.Options{Kind: "customers"}, time.Now())
	testkit.Must(t, err)
	g := imports.Target{Tenant: tn, By: audit.By{Who: "svc:test", At: time.Now()}, Shards: 1}
	rec := imports.Record{Import: job}
	rec.Shape, rec.Rows, rec.Failed, err = rec.Check(g, open, func(imports.Row, imports.Fault) error { return nil })
	testkit.Must(t, err)
	var used uint64
	var sent int
	testkit.Must(t, rec.Run(t.Context(), g, open, nil, func(ctx context.Context, tx *table.Tx, s imports.Step) (bool,
		error) {
		err := tx.Commit(ctx)
		if rec.Add(s); rec.Place.Row == warm {
			used, sent = live(), wire.Sent()
		}
		return true, err
	}))
	if rec.Created != rows {
		t.Fatalf("%d of %d rows were created", rec.Created, rows)
	}
	if n, most := wire.Sent()-sent, 2*(rows-warm)/18+20; n > most { // a few are repeated
		t.Errorf("%d requests for %d rows, want at most %d", n, rows-warm, most)
	}
	if now := live(); now > used+2<<20 {
		t.Errorf("%d bytes are in use, after %d rows %d", now, warm, used)
	}
}
