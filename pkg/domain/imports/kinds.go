package imports

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/phone"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/trip"
)

// kind is one kind of file.
type kind struct {
	columns  []string
	policy   authz.Policy // for the same change in the API
	audience authz.Audience
}

var kinds = map[string]kind{
	"customers": {[]string{"email", "phone", "externalId", "name", "firstName", "lastName"},
		authz.Operators("tenant.customers:write", "CREATE_CUSTOMERS"), authz.Rider},
	"drivers": {[]string{"email", "phone", "externalId", "name", "firstName", "lastName", "vehiclePlate", "vehicleModel",
		"vehicleColor"}, authz.Operators("tenant.drivers:write", "CREATE_DRIVERS"), authz.Driver},
	"addresses": {[]string{"email", "phone", "externalId", "address", "lat", "lng", "label", "notes"},
		authz.Operators("tenant.customers:write", "CREATE_CUSTOMERS"), authz.Rider},
	"trips": {[]string{"email", "phone", "externalId", "tripId", "driverEmail", "driverExternalId", "status",
		"requestedAt", "completedAt", "originAddress", "originLat", "originLng", "destAddress", "destLat", "destLng", "fare",
		"paymentType", "notes"}, authz.Operators("tenant.trips:write", "CREATE_TRIPS"), authz.Rider},
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

// read checks the cells of a row.
func (o Options) read(g Target, row Row) *Fault {
	if row.Fault != nil {
		return row.Fault
	}
	key := o.keyOf(g, row.Cells)
	id := row.Cells["externalId"]
	switch {
	case row.Cells[o.Key] == "":
		return &Fault{Column: o.Key, Code: "required", Message: "The key is missing."}
	case key == "":
		return &Fault{Column: "phone", Code: "invalid", Message: "This is not a phone number of the company's country, nor " +
			"one with a country code. A spreadsheet may have shortened it: format the column as text."}
	case !plaintext.IsOptional(id, 100):
		return &Fault{Column: "externalId", Code: "invalid", Message: "Expected at most 100 characters, none of them a " +
			"control character."}
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
		o.setDriver(g, &r, cells)
		err = driver.Prepare(&r, g.By)
	} else {
		r := customer.Record{}
		o.setCustomer(g, &r, cells)
		err = customer.Prepare(&r, g.By)
	}
	return faultOf(err, func(field string) bool {
		return field == "name" && !named || field == "email" && cells["email"] == "" && o.Key != "email"
	})
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

// indexKey returns the key of the row that leads from a phone number or an external
// id to a person. It has a hash, because a key of the table must not show who is
// in it.
func indexKey(t table.Tenant, audience authz.Audience, key, value string) table.Key {
	return t.Key("IMPORTED", string(audience), key, ids.Hash(t.ID()+"\x00"+value), "IMPORTED")
}

// Forget deletes the rows by which an import finds a person: the row of the external id
// and the row of the phone number (the digits of E.164).
func Forget(ctx context.Context, t table.Tenant, audience authz.Audience, id, external, number string) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		rows, err := t.Batch(ctx, indexKey(t, audience, "externalId", external), indexKey(t, audience, "phone", number))
		if err != nil {
			return err
		}
		tx := t.Write()
		for _, row := range rows {
			if row.Found() && row.Text("actor") == id { // it may lead to somebody else by now
				tx.Delete(row.Key).If("'actor' = ?", id).Else(table.ErrConflict)
			}
		}
		return tx.Commit(ctx)
	})
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

func names(first, last *string, cells map[string]string) {
	f, l := cells["firstName"], cells["lastName"]
	if f+l == "" && cells["name"] != "" {
		*first, *last = split(cells["name"])
	}
	set(first, f)
	set(last, l)
}

// setCustomer changes a customer as the cells say. An empty cell changes nothing.
func (o Options) setCustomer(g Target, r *customer.Record, cells map[string]string) {
	was := customer.FullName(r.FirstName, r.LastName)
	names(&r.FirstName, &r.LastName, cells)
	switch whole := cells["name"]; {
	case whole != "" && strings.Contains(whole, ","):
		r.Name = customer.FullName(r.FirstName, r.LastName)
	case whole != "":
		r.Name = whole
	case r.Name == was:
		r.Name = customer.FullName(r.FirstName, r.LastName)
	}
	set(&r.Email, cells["email"])
	set(&r.ExternalID, cells["externalId"])
	if typed := cells["phone"]; typed != "" {
		r.Phone, r.Number = &typed, g.number(typed)
	}
}

func (o Options) setDriver(g Target, r *driver.Record, cells map[string]string) {
	names(&r.FirstName, &r.LastName, cells)
	set(&r.Email, cells["email"])
	set(&r.ExternalID, cells["externalId"])
	setPtr(&r.VehiclePlate, cells["vehiclePlate"])
	setPtr(&r.VehicleModel, cells["vehicleModel"])
	setPtr(&r.VehicleColor, cells["vehicleColor"])
	typed := cells["phone"]
	if n := g.number(typed); n != nil {
		typed = "+" + n.E164 // a rider may call from another country
	}
	setPtr(&r.Phone, typed)
}

// degrees returns a number with a decimal point.
func (o Options) degrees(cells map[string]string, column string) (json.Number, *Fault) {
	text := cells[column]
	if o.Decimal == "comma" {
		text = strings.Replace(text, ",", ".", 1)
	} else if strings.Contains(text, ",") {
		return "", &Fault{Column: column, Code: "invalid",
			Message: "The number has a comma. If it separates the decimals, name it: decimal is comma."}
	}
	if text == "" {
		return "", &Fault{Column: column, Code: "required", Message: "Expected degrees."}
	}
	return json.Number(text), nil
}

// TargetOf returns the target of a job.
func (r Record) TargetOf(t table.Tenant, shards int, country string, phones Phones, now time.Time) Target {
	return Target{Tenant: t, By: audit.By{Who: r.By.Actor, At: now, Client: r.By.Client}, Shards: shards,
		Country: country, Phones: phones}
}
