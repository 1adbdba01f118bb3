package imports_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/external"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/trip"
)

func (c company) invited(t *testing.T, address, outside string) error {
	t.Helper()
	_, err := customer.Store.Create(t.Context(), c.Tenant, c.target.By, customer.Record{Customer: customer.Customer{
		FirstName: "Ann", Email: address, Members: external.Members{ExternalID: outside}}}, "")
	return err
}

// claims fails the test unless the identifier leads to the customer with the address, or
// to nobody for "".
func (c company) claims(t *testing.T, outside, address string) {
	t.Helper()
	row, err := c.Get(t.Context(), customer.Store.External().Claim(c.Tenant, outside))
	testkit.Must(t, err)
	want := ""
	if address != "" {
		r, err := customer.Store.Find(t.Context(), c.Tenant, address) // or identifier
		testkit.Must(t, err)
		want = r.ID
	}
	if row.Text("actor") != want {
		t.Errorf("%q leads to %q, want %q", outside, row.Text("actor"), want)
	}
}

// TestImportsClaimExternalIDs: an identifier that an import gives, whatever its key, has one
// person, and later creations meet it. One that an import takes away is free.
func TestImportsClaimExternalIDs(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"csv", "ndjson"} {
		c := newCompany(t, testkit.Table(t), "DE", "EUR", "Europe/Berlin")
		run := func(key, want, faults string, rows ...string) {
			t.Helper()
			file := "externalId,email,name,metadata\n" + strings.Join(rows, "\n") + "\n"
			if format == "ndjson" {
				file = ""
				for _, row := range rows {
					cells := strings.SplitN(row, ",", 4)
					metadata := strings.ReplaceAll(strings.Trim(cells[3], `"`), `""`, `"`)
					if metadata == "" {
						metadata = "null"
					}
					file += `{"externalId":"` + cells[0] + `","email":"` + cells[1] + `","name":"` + cells[2] + `","metadata":` +
						metadata + "}\n"
				}
			}
			rec, bad := c.imports(t, imports.Options{Kind: "customers", Key: key, Format: format}, []byte(file))
			for i := range bad {
				_, bad[i], _ = strings.Cut(bad[i], " ")
			}
			if tally(rec) != want || strings.Join(bad, ", ") != faults {
				t.Errorf("%s by %s: %s %v, want %s %s", format, key, tally(rec), bad, want, faults)
			}
		}
		run("email", "2/0/0/1", "externalId taken", `1,a@metro.example,Ann,"{""k"":""v""}"`, `1,b@metro.example,Bob,`,
			`2,c@metro.example,Cem,`)
		c.claims(t, "1", "a@metro.example")
		err := c.invited(t, "d@metro.example", "1")
		ann, findErr := customer.Store.Find(t.Context(), c.Tenant, "a@metro.example")
		testkit.Must(t, findErr)
		if f := fault.Of(err); f.Kind != fault.KindState || !strings.Contains(f.Message, ann.ID) {
			t.Errorf("a creation with an imported identifier: %v", err)
		}
		run("email", "0/1/1/1", "externalId taken", `3,a@metro.example,Ann,"{""k"":null,""l"":""w""}"`,
			`2,c@metro.example,Cem,`, `2,e@metro.example,Eva,`)
		if r, err := customer.Store.ByID(t.Context(), c.Tenant, ann.ID); err != nil || len(r.Metadata) != 1 ||
			r.Metadata["l"] != "w" || r.ExternalID != "3" {
			t.Errorf("changed %+v %v", r.Members, err)
		}
		c.claims(t, "1", "")
		c.claims(t, "3", "a@metro.example")
		testkit.Must(t, c.invited(t, "d@metro.example", "1"))
		run("externalId", "1/0/1/1", "externalId duplicate", `1,d@metro.example,,`, `4,f@metro.example,Fay,`,
			`1,c@metro.example,Cem,`)
		run("email", "0/0/0/1", "metadata invalid", `,a@metro.example,Ann,"{""k"":7}"`)
	}
}

// TestOlderIdentifiersStay: an older build stored identifiers without rows, rows of
// identifiers that a person has no more, and long ones. They stay as they are, and what a
// row leads to is taken.
func TestOlderIdentifiersStay(t *testing.T) {
	t.Parallel()
	c := newCompany(t, testkit.Table(t), "DE", "EUR", "Europe/Berlin")
	long := strings.Repeat("x", 300)
	var made []customer.Record
	for _, outside := range []string{"same", "same", long, "new"} {
		r := customer.Record{Customer: customer.Customer{ID: ids.New(ids.Customer, c.target.By.At), FirstName: "Ann",
			Email: strings.ToLower(ids.Code()) + "@metro.example", CreatedAt: "2026-01-01T00:00:00.000Z",
			Members: external.Members{ExternalID: outside}}}
		made = append(made, r)
		testkit.Must(t, c.Load(t.Context(), customer.Item(c.Tenant, r, 1)))
	}
	key := customer.Store.External().Claim
	testkit.Must(t, c.Load(t.Context(), external.Row(key(c.Tenant, long), made[2].ID),
		external.Row(key(c.Tenant, "old"), made[3].ID)))
	for _, r := range made {
		_, err := customer.Store.Change(t.Context(), c.Tenant, c.target.By, r.ID, func(r *customer.Record) error {
			r.LastName = "New"
			return r.Members.Set(r.Members.Edit())
		})
		testkit.Must(t, err)
	}
	for _, outside := range []string{long, "old"} {
		if err := c.invited(t, "new@metro.example", outside); !errors.Is(err, fault.InvalidState("")) {
			t.Errorf("a creation with %.9q: %v", outside, err)
		}
	}
	file := "externalId,name\nold,Ann New\n"
	if rec, faults := c.imports(t, imports.Options{Kind: "customers", Key: "externalId"}, []byte(file)); tally(rec) !=
		"0/1/0/0" {
		t.Errorf("%s %v", tally(rec), faults)
	}
	c.claims(t, "old", made[3].ID)
	_, err := customer.Store.Change(t.Context(), c.Tenant, c.target.By, made[3].ID, func(r *customer.Record) error {
		r.ExternalID = ""
		return nil
	})
	testkit.Must(t, err)
	testkit.Must(t, c.invited(t, "new@metro.example", "old"))
	testkit.Must(t, imports.Forget(t.Context(), c.Tenant, authz.Rider, made[2].ID, long, ""))
	c.claims(t, long, "")
}

// TestFormerRidesHaveExternalIDs: the identifier of a ride in the other system is its
// externalId. A trip that has it already is not made twice.
func TestFormerRidesHaveExternalIDs(t *testing.T) {
	t.Parallel()
	c := newCompany(t, testkit.Table(t), "DE", "EUR", "Europe/Berlin")
	c.rider(t, "ann@metro.example")
	testkit.Must(t, c.Load(t.Context(), external.Row(trip.IDs.Claim(c.Tenant, "R-2"), ids.New(ids.Trip, c.target.By.At))))
	file := "email,tripId,requestedAt,completedAt,originAddress,originLat,originLng,fare\n"
	for _, id := range []string{"R-1", "R-2"} {
		file += "ann@metro.example," + id + ",2024-10-27T00:50:00Z,2024-10-27T01:10:00Z,A,1,1,5\n"
	}
	for _, want := range []string{"1/0/0/1", "0/0/1/1"} {
		rec, faults := c.imports(t, imports.Options{Kind: "trips"}, []byte(file))
		if tally(rec) != want || len(faults) != 1 || !strings.HasSuffix(faults[0], "tripId taken") {
			t.Errorf("%s %v, want %s", tally(rec), faults, want)
		}
	}
	tr := c.ride(t, "R-1")
	row, err := c.Get(t.Context(), trip.IDs.Claim(c.Tenant, "R-1"))
	if testkit.Must(t, err); tr.ExternalID != "R-1" || row.Text("actor") != tr.ID {
		t.Errorf("%q, which leads to %q", tr.ExternalID, row.Text("actor"))
	}
}

// TestOneRuleForIdentifiers: an import takes an identifier if, and only if, the API does: of a
// person, and of a ride.
func TestOneRuleForIdentifiers(t *testing.T) {
	t.Parallel()
	c := newCompany(t, testkit.Table(t), "DE", "EUR", "Europe/Berlin")
	c.rider(t, "ann@metro.example")
	for n, id := range []string{"A", "a/b", "100%", "...", ".", "..", strings.Repeat("x", 128), strings.Repeat("x", 129),
		strings.Repeat("界", 128), "a\u0007", "\u200b", "a\u00a0b"} {
		e := external.Edit{ExternalID: &id}
		want := new(external.Members).Set(e) == nil
		if want != external.Valid(id) {
			t.Errorf("%q: Valid is %t", id, !want)
		}
		for file, kind := range map[string]string{
			fmt.Sprintf("email,externalId,name\nb%d@metro.example,%s,Bob\n", n, id): "customers",
			fmt.Sprintf("email,externalId,name\nd%d@metro.example,%s,Dan\n", n, id): "drivers",
			"email,tripId,requestedAt,completedAt,originAddress,originLat,originLng,fare\nann@metro.example," + id +
				",2024-10-27T00:50:00Z,2024-10-27T01:10:00Z,A,1,1,5\n": "trips",
		} {
			rec, faults := c.imports(t, imports.Options{Kind: kind}, []byte(file))
			if got := rec.Created == 1; got != want {
				t.Errorf("%q of %s: %s %v, want it to be valid: %t", id, kind, tally(rec), faults, want)
			}
		}
	}
}

// TestStepsAreTransactions: a step has at most the operations that a transaction may have, also
// if each row changes whatever a row can change.
func TestStepsAreTransactions(t *testing.T) {
	t.Parallel()
	c := newCompany(t, testkit.Table(t), "DE", "EUR", "Europe/Berlin")
	c.target.MovesLogins = true
	const people = 40
	file := func(n int) []byte {
		text := "phone,email,externalId,name\n"
		for i := range people {
			text += fmt.Sprintf("+4930123%05d,p%d-%d@metro.example,e%d-%d,Ann %d\n", i, n, i, n, i, n)
		}
		return []byte(text)
	}
	for n := range 3 {
		want := fmt.Sprintf("0/%d/0/0", people)
		if n == 0 {
			want = fmt.Sprintf("%d/0/0/0", people)
		}
		if rec, faults := c.imports(t, imports.Options{Kind: "customers", Key: "phone"}, file(n)); tally(rec) != want {
			t.Errorf("%s %v, want %s", tally(rec), faults, want)
		}
	}
}
