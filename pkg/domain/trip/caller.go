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

// errCaller means that what was read of a caller is no longer true.
var errCaller = errors.New("the customer of the phone number is another one now")

// shortest is how many digits the shortest numbers have, with the country's code. An
// area's code alone, or an emergency call's number, is no caller's number.
const shortest = 7

// caller is the rider of a booking by phone.
type caller struct {
	id string
	// add adds to the transaction of the booking what makes the rider, or what must be
	// true of the rider. If it is not, the transaction fails with errCaller.
	add func(tx *table.Tx)
}

// bookCaller makes a trip for the customer with the booking's phone number, or for a
// new one. Two bookings of a new number at once make one customer: both write the
// number's row, so one fails and looks again.
func (d Desk) bookCaller(ctx context.Context, b Booking, at *string) (out *Trip, err error) {
	it, err := d.Item(ctx, tenant.Key(d.Tenant))
	if err != nil {
		return nil, err
	}
	company, err := tenant.FromItem(it)
	if err != nil {
		return nil, err
	}
	read := func(typed string) *phone.Number { return d.Phones(typed, company.Country) }
	n := read(b.Phone)
	switch readable := n != nil && phone.Is(b.Phone) && len(n.E164) >= shortest; {
	case !readable && company.Country == "":
		return nil, fault.Field("body.phone", "expected a phone number with a country code, as in +1 212 555 0181, because "+
			"the company has no country (svc tenant set SLUG --country)")
	case !readable:
		return nil, fault.Field("body.phone", "expected a phone number of the company's country, or one with a country "+
			"code, as in +1 212 555 0181")
	}
	row, err := d.Item(ctx, customer.CallerKey(d.Tenant, n.E164))
	if err != nil {
		return nil, err
	}
	who := d.known(row, *n)
	err = table.Retry(ctx, func(ctx context.Context) error {
		if who.id == "" {
			if who, err = d.lookUp(ctx, b, row, *n, read); err != nil {
				return err
			}
		}
		if out, err = d.with(who).bookFor(ctx, b, who.id, at); !errors.Is(err, errCaller) {
			return err
		}
		who.id = ""
		if row, err = d.Tenant.Get(ctx, row.Key); err != nil {
			return err
		}
		return table.ErrConflict
	})
	return out, err
}

// with returns the desk whose next trip is of the caller.
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

// known returns the caller of a number for whom a booking was made before. It reads
// nothing: the transaction checks that the customer still has the number.
func (d Desk) known(row table.Item, n phone.Number) caller {
	id := customer.Only(row)
	return caller{id, func(tx *table.Tx) { customer.HasNumber(tx, d.Tenant, id, n.E164, errCaller) }}
}

// lookUp finds the customers who have the number. One who is disabled counts only if
// all are. Errors: 409 if several have it, or one who is disabled.
func (d Desk) lookUp(ctx context.Context, b Booking, row table.Item, n phone.Number,
	read func(string) *phone.Number) (caller, error) {
	all, err := customer.WithNumber(ctx, d.Tenant, row, n, read)
	if err != nil {
		return caller{}, err
	}
	enabled := slices.DeleteFunc(slices.Clone(all), func(r customer.Record) bool { return r.Disabled })
	switch {
	case len(all) == 0:
		return d.newcomer(b, row, n)
	case len(enabled) == 0:
		return caller{}, named("The customer with this phone number is disabled. Enable the customer first.", all)
	case len(enabled) > 1:
		return caller{}, named("Several customers have this phone number. Book with the customerId of one of them.", enabled)
	}
	id := enabled[0].ID
	return caller{id, func(tx *table.Tx) {
		customer.Enabled(tx, d.Tenant, id, errCaller)
		customer.Claim(tx, row, id, errCaller)
	}}, nil
}

// named returns a 409 that names customers.
func named(message string, customers []customer.Record) error {
	f := fault.InvalidState("%s", message)
	for _, r := range customers {
		f.Details = append(f.Details, fault.Detail{Field: "body.customerId", Message: r.ID})
	}
	return f
}

// newcomer returns a new customer, who has no mail address and cannot sign in.
func (d Desk) newcomer(b Booking, row table.Item, n phone.Number) (caller, error) {
	typed := strings.TrimSpace(b.Phone)
	r := customer.Record{Customer: customer.Customer{Name: strings.TrimSpace(b.Name), Phone: &typed}, Number: &n}
	if r.Number.Typed = typed; r.Name == "" {
		r.Name = "+" + n.E164
	}
	if err := customer.Prepare(&r, d.By); err != nil {
		return caller{}, api.InBody(err)
	}
	return caller{r.ID, func(tx *table.Tx) {
		customer.Add(tx, d.Tenant, d.By, r, d.WriteShards)
		customer.Claim(tx, row, r.ID, errCaller)
	}}, nil
}
