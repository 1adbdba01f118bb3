package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/domain/dispatch"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

const measuredZone = `{"name":"Measured","area":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}`

// made prepares a request that creates something of an operator's collection.
func made(collection, body string) func(context.Context, *world) (string, string, error) {
	return func(context.Context, *world) (string, string, error) { return "/api/v1/" + collection, body, nil }
}

// one prepares a request with the body for something that it creates first.
func one(collection, create, body string) func(context.Context, *world) (string, string, error) {
	return func(ctx context.Context, w *world) (string, string, error) {
		got, err := w.call(ctx, op, "POST", "/api/v1/"+collection, create)
		if err != nil {
			return "", "", err
		}
		var made struct{ ID string }
		err = json.Unmarshal(got, &made)
		return "/api/v1/" + collection + "/" + made.ID, body, err
	}
}

const measuredCard = `{"token":"pm_1","brand":"visa","last4":"4242","expMonth":4,"expYear":2031}`

// mine prepares a rider's request, with the body, about something that it creates first.
// It removes the payment methods of earlier requests before that.
func mine(collection, create, body string) func(context.Context, *world) (string, string, error) {
	return func(ctx context.Context, w *world) (string, string, error) {
		path := "/api/v1/me/" + collection
		var have struct {
			Items []struct{ ID, Brand string }
			ID    string
		}
		got, err := w.call(ctx, rider, "GET", path, "")
		if err == nil {
			err = json.Unmarshal(got, &have)
		}
		for _, m := range have.Items {
			if err == nil && m.Brand == "visa" {
				_, err = w.call(ctx, rider, "DELETE", path+"/"+m.ID, "")
			}
		}
		if err == nil {
			got, err = w.call(ctx, rider, "POST", path, create)
		}
		if err == nil {
			err = json.Unmarshal(got, &have)
		}
		return path + "/" + have.ID, body, err
	}
}

// person prepares an invitation of a new person.
func person(collection string) func(context.Context, *world) (string, string, error) {
	return func(_ context.Context, w *world) (string, string, error) {
		return "/api/v1/" + collection, fmt.Sprintf(`{"email":"m%d-%s@metro.example","firstName":"Measured"}`, w.next(),
			strings.ToLower(ids.Code())), nil
	}
}

// onePerson prepares a request with the body for a new person.
func onePerson(collection, rest, body string) func(context.Context, *world) (string, string, error) {
	return func(ctx context.Context, w *world) (string, string, error) {
		_, invitation, err := person(collection)(ctx, w)
		if err != nil {
			return "", "", err
		}
		path, _, err := one(collection, invitation, "")(ctx, w)
		return path + rest, body, err
	}
}

const (
	measuredBusiness = `{"name":"Measured","category":"restaurant","address":"1 Street","lat":40.7,"lng":-74}`
	measuredDish     = `{"name":"Measured","price":15.5}`
)

// onMenu prepares a request to the menu of a new business.
func onMenu(body string) func(context.Context, *world) (string, string, error) {
	return func(ctx context.Context, w *world) (string, string, error) {
		path, _, err := one("businesses", measuredBusiness, "")(ctx, w)
		return path + "/menu", body, err
	}
}

// order returns the body of an order from a new menu.
func (w *world) order(ctx context.Context) (string, error) {
	path, dish, err := onMenu(measuredDish)(ctx, w)
	if err != nil {
		return "", err
	}
	id, err := w.create(ctx, op, path, dish)
	return fmt.Sprintf(`{"businessId":%q,"items":[{"menuItemId":%q,"quantity":2}],"deliveryAddress":"1 Street"}`,
		strings.Split(path, "/")[4], id), err
}

// ordered prepares a request about a new order.
func ordered(prefix, suffix, body string) func(context.Context, *world) (string, string, error) {
	return func(ctx context.Context, w *world) (string, string, error) {
		order, err := w.order(ctx)
		if err != nil {
			return "", "", err
		}
		id, err := w.create(ctx, rider, "/api/v1/me/orders", order)
		return "/api/v1" + prefix + id + suffix, body, err
	}
}

// next returns the next number in the world.
func (w *world) next() int {
	w.made++
	return w.made
}

func (w *world) ride() string {
	return fmt.Sprintf(`{"originAddress":"350 5th Ave","originLat":40.7484,"originLng":-73.9857,"destAddress":"JFK Airport, Terminal 4","destLat":40.6441,"destLng":-73.7821,"paymentType":"CARD","serviceTypeId":%q}`, w.ids["service"])
}

// after prepares a trip and performs the actions on it, in order. The returned
// target ends with a slash; request appends the endpoint's own action.
func after(actions ...string) func(ctx context.Context, w *world) (string, string, error) {
	return func(ctx context.Context, w *world) (string, string, error) {
		target, err := w.drives(ctx, nil, actions...)
		return target, "", err
	}
}

// offer gives the driver an offer of the trip.
func (w *world) offer(ctx context.Context, tripID string) error {
	n, err := tenant.Store{DB: w.db}.BySlug(ctx, slug)
	if err != nil {
		return err
	}
	tn := w.db.Tenant(n.ID)
	it, err := tn.Get(ctx, trip.Key(tn, tripID))
	if err != nil {
		return err
	}
	tr, err := trip.FromItem(it)
	if err != nil {
		return err
	}
	return tn.Load(ctx, dispatch.NewOffer(tr, 1.35, w.now().Add(time.Hour)).Item(tn, w.ids["driver"]))
}

// operated is after for an operator's action.
func operated(actions ...string) func(ctx context.Context, w *world) (string, string, error) {
	return func(ctx context.Context, w *world) (string, string, error) {
		target, err := w.drives(ctx, nil, actions...)
		return operators(target), "", err
	}
}

// operatorsReceipt is settledTrip for an operator.
func operatorsReceipt(ctx context.Context, w *world) (string, string, error) {
	target, body, err := settledTrip(ctx, w)
	return operators(target), body, err
}

// statementOf prepares the driver's statement of the month before this one.
func statementOf(own bool) func(context.Context, *world) (string, string, error) {
	return func(_ context.Context, w *world) (string, string, error) {
		now := time.Now().UTC()
		path, month := "/api/v1/drivers/"+w.ids["driver"], time.Date(now.Year(), now.Month(), 0, 0, 0, 0, 0, time.UTC)
		if own {
			path = "/api/v1/me"
		}
		return path + "/statements/" + month.Format("2006-01"), "", nil
	}
}

// settledTrip prepares a trip with a receipt, for an operator or a rider.
func settledTrip(ctx context.Context, w *world) (string, string, error) {
	target, err := w.drives(ctx, nil, "accept", "arrived", "start", "complete")
	if err == nil {
		_, err = w.call(ctx, op, "POST", operators(target)+"fare", `{"finalFare":20,"reason":"Measured"}`)
	}
	return target, "", err
}

// withdrawal prepares a withdrawal that is asked for.
func withdrawal(path, body string) func(ctx context.Context, w *world) (string, string, error) {
	return func(ctx context.Context, w *world) (string, string, error) {
		_, err := w.call(ctx, op, "POST", "/api/v1/wallets/postings", fmt.Sprintf(
			`{"driverId":%q,"type":"TOP_UP","amount":5,"description":"Measured"}`, w.ids["driver"]))
		if err != nil {
			return "", "", err
		}
		id, err := w.create(ctx, driver, "/api/v1/me/wallet/withdrawals", `{"amount":5}`)
		return "/api/v1" + path + id + "/", body, err
	}
}

// exported is the body of a request for an export.
const exported = `{"kind":"trips","from":"2026-05-01","to":"2026-05-31"}`

// create sends a POST and returns the id in the answer.
func (w *world) create(ctx context.Context, audience authz.Audience, target, body string) (string, error) {
	answer, err := w.call(ctx, audience, "POST", target, body)
	var made struct{ ID string }
	if err == nil {
		err = json.Unmarshal(answer, &made)
	}
	return made.ID, err
}

// operators returns the operator's address of a trip.
func operators(target string) string { return strings.Replace(target, "/me/", "/", 1) }

// request returns target and body of the endpoint's next request. To a target that
// ends with a slash, it appends the last segment of the endpoint's name.
func (e endpoint) request(ctx context.Context, w *world) (target, body string, err error) {
	if e.prepare == nil {
		return w.replacer.Replace(e.target), "", nil
	}
	target, body, err = e.prepare(ctx, w)
	if strings.HasSuffix(target, "/") {
		target += e.name[strings.LastIndexByte(e.name, '/')+1:]
	}
	return target, body, err
}

// drives requests a ride and performs the actions on it, in order. between, if
// not nil, runs before each action. The returned target of the trip ends with a
// slash.
func (w *world) drives(ctx context.Context, between func() error, actions ...string) (target string, err error) {
	answer, err := w.call(ctx, rider, "POST", "/api/v1/me/trips", w.ride())
	if err != nil {
		return "", err
	}
	var trip struct{ ID string }
	if err := json.Unmarshal(answer, &trip); err != nil {
		return "", err
	}
	target = "/api/v1/me/trips/" + trip.ID + "/"
	for _, action := range actions {
		if between != nil {
			if err := between(); err != nil {
				return "", err
			}
		}
		if _, err := w.call(ctx, driver, "POST", target+action, ""); err != nil {
			return "", err
		}
	}
	return target, nil
}
