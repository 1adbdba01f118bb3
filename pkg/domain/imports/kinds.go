package imports

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/codec"
	"svc/pkg/base/email"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/panics"
	"svc/pkg/base/phone"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/external"
	"svc/pkg/domain/trip"
)

// kind is one kind of file.
type kind struct {
	columns  []string
	policy   authz.Policy // for the same change in the API
	audience authz.Audience
}

var kinds = map[string]kind{
	"customers": {[]string{"id", "email", "phone", "externalId", "name", "familyFirst", "firstName", "lastName",
		"metadata"},
		authz.Operators("tenant.customers:write", "CREATE_CUSTOMERS"), authz.Rider},
	"drivers": {[]string{"id", "email", "phone", "externalId", "name", "familyFirst", "firstName", "lastName",
		"vehiclePlate", "vehicleModel", "vehicleColor", "metadata"},
		authz.Operators("tenant.drivers:write", "CREATE_DRIVERS"), authz.Driver},
	"addresses": {[]string{"email", "phone", "externalId", "address", "lat", "lng", "label", "notes"},
		authz.Operators("tenant.customers:write", "CREATE_CUSTOMERS"), authz.Rider},
	"trips": {[]string{"email", "phone", "externalId", "tripId", "driverEmail", "driverExternalId", "status",
		"requestedAt", "completedAt", "originAddress", "originLat", "originLng", "destAddress", "destLat", "destLng", "fare",
		"currency", "paymentType", "notes"}, authz.Operators("tenant.trips:write", "CREATE_TRIPS"), authz.Rider},
}

// Kinds returns the names of the kinds, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// Needs returns what the operator needs for a job, as long as it runs.
func (j Import) Needs() []authz.Policy { return []authz.Policy{Policy, kinds[j.Kind].policy} }

// Phones reads a phone number as people of a country write it. It returns nil if
// there is no such number.
type Phones func(typed, country string) *phone.Number

// Target is where the rows go.
type Target struct {
	// MovesLogins lets a row change the mail address with which a person signs in. That
	// reads the hash of the password, so only svc may.
	MovesLogins bool

	Tenant  table.Tenant
	By      audit.By
	Shards  int
	Country string         // of phone numbers without a country code
	Phones  Phones         // nil: a phone number stays as it is typed
	Terms   trip.Terms     // of the company, for trips
	Zone    *time.Location // of the company, for trips

	drivers *numbered // of a run
}

// number returns the number of a row's phone, nil if there is none.
func (g Target) number(typed string) *phone.Number {
	if g.Phones == nil || typed == "" {
		return nil
	}
	return g.Phones(typed, g.Country)
}

// read checks the cells of a row. A panic is a fault of the row.
func (o Options) read(g Target, row Row) (f *Fault) {
	if row.Fault != nil {
		return row.Fault
	}
	if err := panics.Try(func() error { f = o.check(g, row); return nil }); err != nil {
		return panicked(g, row, err)
	}
	return f
}

// panicked returns the fault of a row whose work has panicked.
func panicked(g Target, row Row, err error) *Fault {
	slog.Error("import row", "tenant", g.Tenant.ID(), "row", row.N, "line", row.Line, "error", err)
	return &Fault{Code: "invalid", Message: "The service failed at this row, and logged why. Compare the row with " +
		"others, and import it again without the cell that is unlike them."}
}

func (o Options) check(g Target, row Row) *Fault {
	key := o.keyOf(g, row.Cells)
	id := row.Cells["externalId"]
	typed, extension := row.Cells["phone"], phone.Extension(row.Cells["phone"])
	switch {
	case row.Cells[o.Key] == "" && o.own(row.Cells) == "":
		return &Fault{Column: o.Key, Code: "required", Message: "The key is missing."}
	case phone.Several(typed):
		return &Fault{Column: "phone", Code: "invalid", Message: "Expected one phone number; this looks like several. " +
			"Keep one of them."}
	case o.Key == "phone" && extension != "":
		return &Fault{Column: "phone", Code: "invalid", Message: "A number with an extension is not one person's. Name " +
			"another column as the key, or leave the extension out."}
	case o.Key == "email" && row.Cells["email"] != "" && email.Fault(row.Cells["email"]) != "":
		return &Fault{Column: "email", Code: "invalid", Message: email.Fault(row.Cells["email"])}
	case key == "" && typed != "" && o.Key == "phone":
		return &Fault{Column: "phone", Code: "invalid", Message: "This is not a phone number of the company's country, nor " +
			"one with a country code. A spreadsheet may have shortened it: format the column as text."}
	case id != "" && (o.Kind == "customers" || o.Kind == "drivers") && !external.Valid(id):
		return &Fault{Column: "externalId", Code: "invalid", Message: "Expected " + external.Rule + "."}
	case o.Kind == "trips" && ids.Valid(ids.Trip, row.Cells["tripId"]):
		return nil // of an export: what it says is compared with the trip
	case o.Kind == "trips":
		_, f := o.former(g, row.Cells, "", nil)
		return f
	case o.Kind == "addresses":
		_, f := o.save(row.Cells)
		return f
	}
	return o.person(g, row.Cells)
}

// person checks what a row says of a person, also of one who exists already and
// whose other values are unknown here.
func (o Options) person(g Target, cells map[string]string) *Fault {
	named := cells["name"]+cells["firstName"]+cells["lastName"] != ""
	var err error
	if o.Kind == "drivers" {
		r := driver.Record{Driver: driver.Driver{Status: driver.Offline}}
		err = cmp.Or(o.setDriver(g, &r, cells), driver.Store.Prepare(&r, g.By))
	} else {
		r := customer.Record{}
		err = cmp.Or(o.setCustomer(g, &r, cells), customer.Store.Prepare(&r, g.By))
	}
	return personFault(err, cells, func(field string) bool {
		return field == "firstName" && !named || field == "email" && cells["email"] == ""
	})
}

// personFault is faultOf for a row of a person, which may have the name in one column.
func personFault(err error, cells map[string]string, skip func(field string) bool) *Fault {
	f := faultOf(err, skip)
	if _, has := cells["firstName"]; f != nil && f.Column == "firstName" && !has {
		f.Column = "name"
	}
	return f
}

// faultOf returns the first fault of an error's details that is not to be skipped.
func faultOf(err error, skip func(field string) bool) *Fault {
	if err == nil {
		return nil
	}
	for _, d := range fault.Of(err).Details {
		if skip == nil || !skip(d.Field) {
			return &Fault{Column: strings.TrimPrefix(d.Field, "body."), Code: "invalid", Message: d.Message}
		}
	}
	return nil
}

// keyOf returns the folded key of a row, "" if it has none.
func (o Options) keyOf(g Target, cells map[string]string) string {
	text := cells[o.Key]
	if o.Key == "phone" && text != "" {
		n := g.number(text)
		if n == nil {
			return ""
		}
		return n.E164
	}
	if o.Key == "email" {
		return strings.ToLower(text)
	}
	return text
}

// Forget deletes the rows by which an import finds a person: the row of the external id
// and the row of the phone number (the digits of E.164).
func Forget(ctx context.Context, t table.Tenant, audience authz.Audience, id, outside, number string) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		rows, err := t.Batch(ctx, external.RowKey(t, string(audience), "externalId", outside),
			external.RowKey(t, string(audience), "phone", number))
		if err != nil {
			return err
		}
		tx := t.Write()
		for _, row := range rows {
			external.Free(tx, row, id) // it may lead to somebody else by now
		}
		return tx.Commit(ctx)
	})
}

// setMembers changes what other systems store with a record. The cell metadata is a JSON
// object, merged as in a change by the API.
func setMembers(m *external.Members, cells map[string]string) error {
	set(&m.ExternalID, cells["externalId"])
	text := cells["metadata"]
	if text == "" {
		return nil
	}
	e := m.Edit()
	if err := codec.Unmarshal([]byte(text), &e.Metadata); err != nil {
		return fault.Field("metadata", "expected a JSON object with texts")
	}
	return m.Set(e)
}

func set(to *string, text string) {
	if text != "" {
		*to = text
	}
}

func setPtr(to **string, text string) {
	if text != "" {
		*to = &text
	}
}

// setNames sets the two names of a person, and returns how to show the whole name, "" to
// leave it. A whole name that the person has already changes neither.
func setNames(first, last *string, whole string, cells map[string]string) (shown string) {
	f, l := cells["firstName"], cells["lastName"]
	name := cmp.Or(cells["familyFirst"], cells["name"])
	if shown = name; f+l == "" && name != "" && name != whole {
		f, l, shown = split(name, cells["familyFirst"] != "")
		*last = "" // a name that has no parts
	}
	set(first, f)
	set(last, l)
	return shown
}

// setCustomer changes a customer as the cells say. An empty cell changes nothing.
func (o Options) setCustomer(g Target, r *customer.Record, cells map[string]string) error {
	was := customer.FullName(r.FirstName, r.LastName)
	shown := setNames(&r.FirstName, &r.LastName, r.Name, cells)
	switch {
	case shown != "":
		r.Name = shown
	case r.Name == was:
		r.Name = customer.FullName(r.FirstName, r.LastName)
	}
	set(&r.Email, cells["email"])
	if typed := cells["phone"]; typed != "" && (r.Phone == nil || strings.TrimSpace(*r.Phone) != typed) {
		r.Phone, r.Number = &typed, g.number(typed)
	}
	return setMembers(&r.Members, cells)
}

func (o Options) setDriver(g Target, r *driver.Record, cells map[string]string) error {
	setNames(&r.FirstName, &r.LastName, customer.FullName(r.FirstName, r.LastName), cells)
	set(&r.Email, cells["email"])
	setPtr(&r.VehiclePlate, cells["vehiclePlate"])
	setPtr(&r.VehicleModel, cells["vehicleModel"])
	setPtr(&r.VehicleColor, cells["vehicleColor"])
	typed := cells["phone"]
	n := g.number(typed)
	switch has := phoneOf(g, r.Phone); {
	case r.Phone != nil && (strings.TrimSpace(*r.Phone) == typed || n != nil && has == n.E164):
		typed = "" // another way of writing is no change
	case n != nil:
		typed = "+" + n.E164 + phone.Extension(typed) // a rider may call from another country
	}
	setPtr(&r.Phone, typed)
	return setMembers(&r.Members, cells)
}

// TargetOf returns the target of a job.
func (r Record) TargetOf(t table.Tenant, shards int, country string, phones Phones, now time.Time) Target {
	return Target{Tenant: t, By: audit.By{Who: r.By.Actor, At: now, Client: r.By.Client}, Shards: shards,
		Country: country, Phones: phones}
}
