package trip

import (
	"context"
	"errors"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/phone"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/estimate"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/wallet"
	"svc/pkg/edge/api"
)

// Desk makes new trips, for riders who request them and for operators who book them.
type Desk struct {
	Store
	Item  audit.Reader // reads the items that a trip needs, strongly consistent
	By    audit.By
	Early Early // the zero value if nothing was read early
	// Phones parses a phone number as people in a country write it. It returns nil if
	// the text is no such number.
	Phones func(typed, country string) *phone.Number
}

// deskOf returns the Desk, which makes new trips, for the caller's request.
func deskOf(ctx context.Context, c *api.Caller) (Desk, error) {
	s, err := storeOf(ctx, c)
	return Desk{Store: s, Item: c.Item, By: c.By(), Phones: c.Phone}, err
}

// person checks that id names a rider or driver of this tenant who is not disabled.
// Errors: a 400 that names member, the body's member with the id. kind is the prefix of the
// id, and key the function that returns the person's key.
func (d Desk) person(ctx context.Context, member, kind, id string,
	key func(table.Tenant, string) table.Key) error {
	var it table.Item
	var err error
	if ids.Valid(kind, id) {
		it, err = d.Item(ctx, key(d.Tenant, id))
	}
	if err == nil && (!it.Found() || it.Flag("disabled")) {
		err = fault.Field("body."+member, "expected the identifier of somebody of this company who is not disabled")
	}
	return err
}

// errPoor means that the rider's wallet does not hold what the ride needs.
var errPoor = errors.New("the wallet is not enough for the ride")

// create stores a new trip. If the rider pays from the wallet, the estimated fare must
// not take the balance below the company's floor. Without an estimate, the balance must
// be above the floor. The transaction checks this. The wallet is read only if the check
// fails.
func (d Desk) create(ctx context.Context, t Trip) (*Trip, error) {
	floor, ok := wallet.Floor(d.Flags)
	if !ok || t.PaymentType != "WALLET" {
		return d.Create(ctx, t, d.Flags)
	}
	least, above := floor, t.EstimatedFare == nil
	if !above {
		least = floor.Add(t.EstimatedFare.Decimal())
	}
	also := d.Also
	d.Also = func(tx *table.Tx, was, next Trip, answer any) {
		wallet.Holds(tx, d.Tenant, wallet.Customer, t.CustomerID, least, above, errPoor)
		if also != nil {
			also(tx, was, next, answer)
		}
	}
	var out *Trip
	return out, table.Retry(ctx, func(ctx context.Context) (err error) {
		if out, err = d.Create(ctx, t, d.Flags); !errors.Is(err, errPoor) {
			return err
		}
		it, err := d.Tenant.Get(ctx, wallet.Key(d.Tenant, wallet.Customer, t.CustomerID))
		if err != nil {
			return err
		}
		balance := it.Number("balance").Decimal()
		if balance.GreaterThan(least) || balance.Equal(least) && !above {
			return table.ErrConflict // the wallet got money meanwhile: try again
		}
		return &fault.Error{Kind: fault.KindBalance, Message: "The wallet has " + balance.String() + " " +
			t.Currency + ", which is not enough for this ride. Pay in first, or choose another payment type."}
	})
}

// terms reads what the tenant offers for the ride r of the rider. If r names an estimate,
// terms sets the estimate's service type in r.
func (d Desk) terms(ctx context.Context, rider string, r *Ride) (Terms, error) {
	var err error
	out := Terms{Currency: d.Flags.Text("currency"), MaxFare: d.Flags.Amount("maxFare")}
	if out.Settings, err = settings.Kind.Get(ctx, d.Item, settings.Key(d.Tenant)); err != nil {
		return out, err
	}
	if r.EstimateID != nil {
		f, err := d.estimated(ctx, rider, *r)
		if err != nil {
			return out, err
		}
		out.Fare, r.ServiceTypeID = &f.Fare, &f.ServiceTypeID
	}
	if id := r.ServiceTypeID; id != nil && ids.Valid(ids.Service, *id) {
		out.Service, err = d.Item(ctx, settings.ServiceKey(d.Tenant, *id))
	}
	return out, err
}

// estimated returns the fare of the estimate that the ride r names. rider is the rider's
// id. Errors: estimate.ErrExpired if there is no such estimate.
func (d Desk) estimated(ctx context.Context, rider string, r Ride) (estimate.Fare, error) {
	key, ok := estimate.Key(d.Tenant, rider, *r.EstimateID)
	if !ok {
		return estimate.Fare{}, estimate.ErrExpired
	}
	it, err := d.Item(ctx, key)
	if err != nil {
		return estimate.Fare{}, err
	}
	j, err := estimate.JourneyOf(r.OriginLat, r.OriginLng, r.DestLat, r.DestLng)
	if err != nil {
		return estimate.Fare{}, err
	}
	service := ""
	if r.ServiceTypeID != nil {
		service = *r.ServiceTypeID
	}
	return estimate.FromItem(it, *r.EstimateID, j, service, d.Now)
}
