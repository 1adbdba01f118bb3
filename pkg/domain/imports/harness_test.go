package imports_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/phone/plans"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/trip"
)

// company is a tenant into which files are imported.
type company struct {
	table.Tenant
	target imports.Target
}

func newCompany(t *testing.T, db *table.DB, country, currency, zone string) company {
	t.Helper()
	tn := db.Tenant(ids.New(ids.Tenant, time.Now()))
	for n := range authz.Copies {
		testkit.Must(t, tn.Load(t.Context(), table.Item{Key: authz.FlagsKey(tn, n), Type: "flags",
			Attrs: map[string]any{"readShards": 1, "writeShards": 1}}))
	}
	at, err := time.LoadLocation(zone)
	testkit.Must(t, err)
	return company{tn, imports.Target{Tenant: tn, By: audit.By{Who: "svc:test", At: time.Now()}, Shards: 1,
		Country: country, Phones: plans.Read, Zone: at, Terms: trip.Terms{Currency: currency, MaxFare: "9999999"}}}
}

// imports runs an import. It returns the counts, and of each fault line, column and code.
func (c company) imports(t *testing.T, o imports.Options, file []byte) (rec imports.Record, faults []string) {
	t.Helper()
	job, err := imports.New(o, time.Now())
	testkit.Must(t, err)
	rec = imports.Record{Import: job}
	open := opened(file)
	skip := map[int]bool{}
	note := func(row imports.Row, f imports.Fault) {
		faults = append(faults, fmt.Sprint(row.Line, " ", f.Column, " ", f.Code))
	}
	rec.Shape, rec.Rows, rec.Failed, err = rec.Check(c.target, open, func(row imports.Row, f imports.Fault) error {
		skip[row.N] = true
		note(row, f)
		return nil
	})
	if text := imports.Broken(err); text != "" {
		return rec, []string{text}
	}
	testkit.Must(t, err)
	stored := imports.Kind.Item(c.Tenant, "", rec) // a job is stored between its slices
	testkit.Must(t, c.Load(t.Context(), stored))
	read, err := c.Get(t.Context(), stored.Key)
	testkit.Must(t, err)
	rec, err = imports.Kind.FromItem(read)
	testkit.Must(t, err)
	testkit.Must(t, rec.Run(t.Context(), c.target, open, skip, func(ctx context.Context, tx *table.Tx,
		s imports.Step) (bool, error) {
		err := tx.Commit(ctx)
		rec.Add(s)
		for _, it := range s.Bad {
			row, f, err := imports.BadRow(it)
			testkit.Must(t, err)
			note(row, f)
		}
		return true, err
	}))
	slices.Sort(faults)
	return rec, faults
}

func opened(file []byte) imports.Open {
	return func(from int64) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(file[from:])), nil }
}

func tally(rec imports.Record) string {
	return fmt.Sprintf("%d/%d/%d/%d", rec.Created, rec.Updated, rec.Unchanged, rec.Failed)
}

// person returns what is stored of the customer with a mail address.
func (c company) person(t *testing.T, address string) string {
	t.Helper()
	r, err := customer.Store.Find(t.Context(), c.Tenant, address)
	if err != nil {
		return err.Error()
	}
	number := ""
	if r.Phone != nil {
		number = *r.Phone
	}
	return strings.Join([]string{r.FirstName, r.LastName, r.Name, number, r.ExternalID}, "|")
}
