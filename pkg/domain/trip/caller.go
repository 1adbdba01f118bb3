package trip

import (
	"context"
	"errors"
	"slices"
	"strings"

	"svc/pkg/base/fault"
	"svc/pkg/base/phone"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// errCaller means that something changed after the caller's number was looked up, so it
// must be looked up again.
var errCaller = errors.New("the customer of the phone number is another one now")

// shortest is the smallest number of digits, with the country code, of a caller's number.
// An area code alone or an emergency number is shorter.
const shortest = 7

// caller is the rider of a booking by phone.
type caller struct {
	id string
	// add adds the rider to the transaction of the booking: it creates the rider, or
	// checks that the rider still has the number. If a condition fails, the transaction
	// fails with errCaller.
	add func(tx *table.Tx)
	// known means that the rider is the only one in the number's caller row, the item that
	// lists the customers with a phone number.
	known bool
}

// bookCaller makes a trip for the customer with the booking's phone number, or for a new
// customer. Each number has an item that lists its customers, the caller row
// (customer.CallerKey). Two simultaneous bookings of a new number make one customer: both
// write the caller row, so one fails and looks the number up again. at is the booked
// time, nil for now.
func (d Desk) bookCaller(ctx context.Context, b Booking, at *string) (out *Trip, err error) {
	n, read, err := d.number(ctx, b)
	if err != nil {
		return nil, err
	}
	who, err := d.likely(ctx, b, *n)
	if err != nil {
		return nil, err
	}
	doubted := false
	err = table.Retry(ctx, func(ctx context.Context) error {
		if who.add == nil {
			if who, err = d.lookUp(ctx, b, *n, read, doubted); err != nil {
				return err
			}
		}
		if out, err = d.with(who).bookFor(ctx, b, who.id, at); !errors.Is(err, errCaller) {
			return err
		}
		doubted = doubted || who.known
		who = caller{}
		return table.ErrConflict
	})
	return out, err
}

// number returns the phone number of a booking. It also returns read, which parses a
// phone number as people in the company's country write it. Errors: a 400.
func (d Desk) number(ctx context.Context, b Booking) (*phone.Number, func(string) *phone.Number, error) {
	company, err := tenant.Kind.Get(ctx, d.Item, tenant.Key(d.Tenant))
	if err != nil {
		return nil, nil, err
	}
	read := func(typed string) *phone.Number { return d.Phones(typed, company.Country) }
	n := read(b.Phone)
	switch readable := n != nil && phone.Is(b.Phone) && len(n.E164) >= shortest; {
	case phone.Several(b.Phone):
		err = fault.Field("body.phone", "expected one phone number; this looks like several")
	case !readable && company.Country == "":
		err = fault.Field("body.phone", "expected a phone number with a country code, as in +1 212 555 0181, because "+
			"the company has no country (svc tenant set SLUG --country)")
	case !readable:
		err = fault.Field("body.phone", "expected a phone number of the company's country, or one with a country "+
			"code, as in +1 212 555 0181")
	}
	return n, read, err
}

// with returns a copy of the Desk that adds the caller's writes to the transaction of a
// trip.
func (d Desk) with(who caller) Desk {
	also := d.Also
	d.Also = func(tx *table.Tx, was, next Trip, answer any) {
		who.add(tx)
		if also != nil {
			also(tx, was, next, answer)
		}
	}
	return d
}

// likely finds the caller in what was read while the checks of the request ran. If the
// caller is not certain, it returns the zero caller. The caller's writes check that the
// customer has the number, and that the caller row names nobody else.
func (d Desk) likely(ctx context.Context, b Booking, n phone.Number) (caller, error) {
	var row table.Item
	var err error
	digits, ok := phone.International(b.Phone)
	if ok = ok && digits == n.E164; ok {
		if row, err = d.Item(ctx, customer.CallerKey(d.Tenant, digits)); err != nil || customer.Only(row) != "" {
			return d.known(row, n), err
		}
	}
	claim := func(tx *table.Tx, id string) { customer.Claim(tx, row, id, errCaller) }
	id, certain := d.Early.found.Of(n, row)
	switch {
	case !certain:
		return caller{}, nil
	case id == "" && !ok:
		row.Key = customer.CallerKey(d.Tenant, n.E164) // the transaction checks that the row does not exist
	case !ok:
		claim = func(tx *table.Tx, id string) { customer.ClaimUnread(tx, d.Tenant, n.E164, id, errCaller) }
	}
	if id == "" {
		return d.newcomer(b, n, claim)
	}
	return caller{id: id, add: func(tx *table.Tx) {
		customer.HasNumber(tx, d.Tenant, id, n.E164, errCaller)
		claim(tx, id)
	}}, nil
}

// known returns the only customer of a caller row, or the zero caller if the row does not
// have exactly one. The caller's writes check that the customer still has the number n.
func (d Desk) known(row table.Item, n phone.Number) caller {
	id := customer.Only(row)
	if id == "" {
		return caller{}
	}
	return caller{id, func(tx *table.Tx) { customer.HasNumber(tx, d.Tenant, id, n.E164, errCaller) }, true}
}

// lookUp reads which customers have the number. It uses the only customer of the caller
// row, unless doubted says that this customer no longer has the number. A disabled
// customer counts only if all are disabled. Errors: a 409 if several enabled customers
// have the number, or only disabled ones.
func (d Desk) lookUp(ctx context.Context, b Booking, n phone.Number, read func(string) *phone.Number,
	doubted bool) (caller, error) {
	row, found, err := customer.Listed(ctx, d.Tenant, n)
	if err != nil {
		return caller{}, err
	}
	if who := d.known(row, n); who.known && !doubted {
		return who, nil
	}
	all, err := customer.WithNumber(ctx, d.Tenant, found, n, read)
	if err != nil {
		return caller{}, err
	}
	claim := func(tx *table.Tx, id string) { customer.Claim(tx, row, id, errCaller) }
	enabled := slices.DeleteFunc(slices.Clone(all), func(r customer.Record) bool { return r.Disabled })
	switch {
	case len(all) == 0:
		return d.newcomer(b, n, claim)
	case len(enabled) == 0:
		return caller{}, named("The customer with this phone number is disabled. Enable the customer first.", all)
	case len(enabled) > 1:
		return caller{}, named("Several customers have this phone number. Book with the customerId of one of them.", enabled)
	}
	id := enabled[0].ID
	return caller{id: id, add: func(tx *table.Tx) {
		customer.Enabled(tx, d.Tenant, id, errCaller)
		claim(tx, id)
	}}, nil
}

// named returns a 409 with the message and the ids of the customers.
func named(message string, customers []customer.Record) error {
	f := fault.InvalidState("%s", message)
	for _, r := range customers {
		f.Details = append(f.Details, fault.Detail{Field: "body.customerId", Message: r.ID})
	}
	return f
}

// newcomer returns a caller who is a new customer, without a mail address and so without
// a sign-in. claim adds the customer to the caller row, in the given transaction.
func (d Desk) newcomer(b Booking, n phone.Number, claim func(tx *table.Tx, id string)) (caller, error) {
	typed := strings.TrimSpace(b.Phone)
	r := customer.Record{Customer: customer.Customer{Name: strings.TrimSpace(b.Name), Phone: &typed}, Number: &n}
	if r.Number.Typed = typed; r.Name == "" {
		r.Name = "+" + n.E164
	}
	if err := customer.Store.Prepare(&r, d.By); err != nil {
		return caller{}, api.InBody(err)
	}
	return caller{id: r.ID, add: func(tx *table.Tx) {
		customer.Store.Add(tx, d.Tenant, d.By, r, "", d.WriteShards)
		claim(tx, r.ID)
	}}, nil
}
