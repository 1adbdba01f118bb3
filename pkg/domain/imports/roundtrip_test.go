package imports_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/base/ids"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/export"
	"svc/pkg/domain/external"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/trip"
)

// exported returns the file of an export.
func (c company) exported(t *testing.T, kind, format string, bom bool, columns []string) []byte {
	t.Helper()
	now := time.Now().Add(time.Hour)
	job, err := export.New(kind, format, columns, "", "", time.UTC, now)
	testkit.Must(t, err)
	job, err = job.Marked(bom)
	testkit.Must(t, err)
	s := export.Scope{Tenant: c.Tenant, To: now, Shards: 1, Zone: c.target.Zone, Currency: c.target.Terms.Currency}
	slice, err := job.Next(t.Context(), s, "", true, func(int) bool { return false })
	testkit.Must(t, err)
	return slice.Content
}

// oddNames are texts that spreadsheets and readers of CSV change, or take for something
// else.
var oddNames = []string{"Ann", "=1+1", "'=1+1", "''=1+1", "+1 A", "'+1 A", "-1", "'-1", "-x", "@SUM(A1)", "'@x",
	"'Ann", "'7",
	"a;=1", "a;'=1", "x; @y", "＝1＋1", "'＝1", "O'Neil-Smith", "Novak, Iris", "Hotel Adler, Rezeption", "Smith, Jones & Co",
	`a"b`, `"a"`, `="0612"`, "#x", "6.4E+12x", "007", "null", "山田 太郎", "Nagy János", "Dr. No", "van der Berg", "a\u00a0b"}

// oddPhones are phones as people type them.
var oddPhones = []string{"030 1234567", "+49 30 1234567", "(030) 1234567", "+49301234567", "030 1234567 ext. 12",
	"0049 30 1234567", "+49 30 1234567;ext=5", "112", "030/1234567"}

// lived fills a company with people and trips of all kinds. A text that a record does not
// take is left out.
func (c company) lived(t *testing.T) {
	t.Helper()
	text := func(s string) *string { return &s }
	people := 0
	for n, name := range oddNames {
		number := text(oddPhones[n%len(oddPhones)])
		for which, r := range []customer.Customer{{FirstName: name, LastName: "One", Phone: number},
			{FirstName: "Ann", LastName: name}, {FirstName: "Ann", LastName: "One", Name: name, Phone: number}} {
			if r.Email = fmt.Sprintf("p%d-%d@metro.example", n, which); which == 2 {
				r.Email = "" // found by no mail address
			}
			if which > 0 {
				r.Members = external.Members{ExternalID: fmt.Sprintf("%d/%d %s", n, which, name), Metadata: map[string]string{
					"k": name + "\n" + name, name + "x": ""}}
			}
			if _, err := customer.Store.Create(t.Context(), c.Tenant, c.target.By, customer.Record{Customer: r,
				Number: c.target.Phones(*number, c.target.Country)}, ""); err == nil {
				people++
			}
		}
		for which, r := range []driver.Driver{{FirstName: name, LastName: "One", Phone: number},
			{FirstName: "Dan", LastName: name, VehiclePlate: text(name), VehicleModel: text(name), VehicleColor: text(name)}} {
			r.Email, r.Status = fmt.Sprintf("d%d-%d@metro.example", n, which), driver.Offline
			r.Members = external.Members{ExternalID: fmt.Sprintf("%d-%d", n, which), Metadata: map[string]string{"k": name}}
			if _, err := driver.Create(t.Context(), c.Tenant, c.target.By, driver.Record{Driver: r}, ""); err == nil {
				people++
			}
		}
	}
	if people < 4*len(oddNames) {
		t.Fatalf("only %d people were added", people)
	}
	c.rider(t, "ann@metro.example")
	file := "email,tripId,requestedAt,completedAt,originAddress,originLat,originLng,fare\n" +
		"ann@metro.example,1,2024-10-27T00:50:00Z,2024-10-27T01:10:00Z,A,1,1,5\n"
	if rec, faults := c.imports(t, imports.Options{Kind: "trips"}, []byte(file)); tally(rec) != "1/0/0/0" {
		t.Fatalf("%s %v", tally(rec), faults)
	}
	tr := c.ride(t, "1")
	for n, status := range trip.Statuses {
		one := tr
		one.ID, one.Status, one.Imported = ids.New(ids.Trip, time.Now()), status, n%2 == 0
		one.PaymentType = []string{"CASH", "CARD", "WALLET"}[n%3]
		one.OriginAddress, one.Notes = oddNames[n], text(oddNames[n]+"\r\n=x\n'=y")
		one.Members = external.Members{ExternalID: oddNames[n], Metadata: map[string]string{"k": oddNames[n]}}
		if status != trip.Completed {
			one.FinalFare, one.CompletedAt = nil, nil
		}
		testkit.Must(t, c.Load(t.Context(), one.Item(c.Tenant, 1)))
	}
}

// TestExportThenImportChangesNothing: for every kind of export, each column alone and all
// together, in every form, the import of the file changes nothing, as the next export
// shows. Kinds that cannot be imported are refused whatever they are taken for.
func TestExportThenImportChangesNothing(t *testing.T) {
	t.Parallel()
	c := newCompany(t, testkit.Table(t), "DE", "EUR", "Europe/Berlin")
	c.lived(t)
	before := map[string]string{}
	for _, kind := range []string{"customers", "drivers", "trips"} {
		before[kind] = string(c.exported(t, kind, "ndjson", false, nil))
	}
	for _, kind := range export.Kinds() {
		job, err := export.New(kind, "csv", nil, time.Now().AddDate(-1, 0, 0).Format("2006-01-02"), "", time.UTC,
			time.Now())
		testkit.Must(t, err)
		if before[kind] == "" {
			c.refuses(t, kind, job.Columns)
			continue
		}
		rows := strings.Count(before[kind], "\n")
		key, leads := "email", "id"
		if kind == "trips" {
			key, leads = "externalId", "customerId"
		}
		for n, columns := range append([][]string{nil}, alone(job.Columns, "id", leads)...) {
			for _, form := range []string{"csv", "ndjson", "bom"} {
				if n > 0 && form == "bom" {
					continue
				}
				file := c.exported(t, kind, strings.Replace(form, "bom", "csv", 1), form == "bom", columns)
				o := imports.Options{Kind: kind, Key: key, Format: strings.Replace(form, "bom", "csv", 1)}
				rec, faults := c.imports(t, o, file)
				if rec.Created+rec.Updated+rec.Failed != 0 || rec.Unchanged != rows {
					t.Errorf("%s %v as %s: %s of %d, %v", kind, columns, form, tally(rec), rows, faults)
				}
			}
		}
	}
	for kind, was := range before {
		if now := string(c.exported(t, kind, "ndjson", false, nil)); now != was {
			for i, line := range strings.Split(was, "\n") {
				if other := strings.Split(now, "\n"); i < len(other) && other[i] != line {
					t.Errorf("%s became\n%s", line, other[i])
				}
			}
		}
	}
}

// alone returns each column beside those that say whose row it is.
func alone(columns []string, keys ...string) (out [][]string) {
	for _, name := range columns {
		if !slices.Contains(keys, name) {
			out = append(out, append(slices.Compact(slices.Clone(keys)), name))
		}
	}
	return out
}

// refuses imports a row of an export that is no kind of import.
func (c company) refuses(t *testing.T, kind string, columns []string) {
	t.Helper()
	var trips []trip.Trip
	for line := range strings.Lines(string(c.exported(t, "trips", "ndjson", false, nil))) {
		var tr trip.Trip
		testkit.Must(t, json.Unmarshal([]byte(line), &tr))
		trips = append(trips, tr)
	}
	cells := make([]string, len(columns))
	for i, name := range columns {
		cells[i] = map[string]string{"id": ids.New(ids.Order, time.Now()), "tripId": trips[0].ID,
			"email":      "new@metro.example",
			"customerId": trips[0].CustomerID, "actorId": trips[0].CustomerID, "currency": "EUR", "name": "New"}[name]
	}
	file := []byte(strings.Join(columns, ",") + "\r\n" + strings.Join(cells, ",") + "\r\n")
	for _, as := range imports.Kinds() {
		for _, key := range []string{"email", "phone", "externalId"} {
			rec, faults := c.imports(t, imports.Options{Kind: as, Key: key}, file)
			if rec.Created+rec.Updated > 0 || len(faults) == 0 && rec.Unchanged == 0 {
				t.Errorf("%s as %s by %s: %s %v", kind, as, key, tally(rec), faults)
			}
		}
	}
}
