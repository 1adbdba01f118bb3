package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"svc/pkg/authz"
)

// endpoint is one thing that is measured.
type endpoint struct {
	name     string // method and path, as the table shows it
	audience authz.Audience
	target   string // path and query; {trip}, {rider}, … stand for ids
	lists    bool   // measured in the tenant with lists alone too
	// prepare makes what one request needs and gives target and body; nil for
	// the target as it is, without a body.
	prepare func(ctx context.Context, w *world) (target, body string, err error)
}

func (e endpoint) method() string {
	method, _, _ := strings.Cut(e.name, " ")
	return method
}

func (e endpoint) reads() bool { return e.method() == "GET" }

func read(audience authz.Audience, target string) endpoint {
	return endpoint{name: "GET /" + target, audience: audience, target: "/api/v1/" + target}
}

func list(audience authz.Audience, target string) endpoint {
	e := read(audience, target)
	e.lists = true
	return e
}

func write(audience authz.Audience, name string, prepare func(ctx context.Context, w *world) (string, string, error)) endpoint {
	return endpoint{name: name, audience: audience, prepare: prepare}
}

const (
	op     = authz.Dashboard
	rider  = authz.Rider
	driver = authz.Driver
)

// endpoints are all of /api/v1, lists with each of their indexes and filters.
var endpoints = []endpoint{
	list(op, "trips?limit=20"),
	list(op, "trips?limit=200"),
	list(op, "trips?limit=20&status=CANCELLED"),
	list(op, "trips?limit=20&driverId={driver}"),
	list(op, "trips?limit=20&customerId={rider}"),
	list(op, "trips?limit=20&customerId={rider}&status=CANCELLED"),
	list(op, "trips?limit=20&from={from}&to={to}"),
	read(op, "trips/{trip}"),
	list(op, "drivers?limit=20"),
	list(op, "drivers?limit=20&status=ONLINE"),
	list(op, "customers?limit=20"),
	read(op, "customers?limit=20&q=an"),
	read(op, "settings"),
	read(op, "services"),
	read(op, "zones"),
	read(op, "branding"),
	read(op, "reports/summary"),
	read(op, "reports/summary?from={from}&to={to}"),
	read(op, "wallets"),
	list(op, "wallets?type=driver&detail=1&limit=20"),
	list(op, "businesses?limit=20"),
	list(op, "orders?limit=20"),
	list(op, "orders?limit=20&status=DELIVERED"),
	read(op, "feedback?limit=20"),
	read(op, "feedback?limit=20&q=theme"),
	read(op, "feedback/{post}"),
	read(op, "me"),
	read(rider, "me"),
	read(driver, "me"),
	list(rider, "me/trips?limit=20"),
	list(driver, "me/trips?limit=20"),
	read(rider, "me/addresses"),
	read(rider, "me/wallet"),
	read(driver, "me/wallet"),
	read(rider, "me/payment-methods"),
	list(rider, "me/orders?limit=20"),

	write(rider, "POST /me/trips", func(_ context.Context, w *world) (string, string, error) { return "/api/v1/me/trips", w.ride(), nil }),
	write(driver, "POST /me/trips/{id}/accept", after()),
	write(driver, "POST /me/trips/{id}/arrived", after("accept")),
	write(driver, "POST /me/trips/{id}/start", after("accept", "arrived")),
	write(driver, "POST /me/trips/{id}/complete", after("accept", "arrived", "start")),
	write(rider, "POST /me/trips/{id}/cancel", after()),
	write(driver, "PATCH /me/status", func(_ context.Context, w *world) (string, string, error) {
		return "/api/v1/me/status", fmt.Sprintf(`{"online":%t}`, w.next()%2 == 0), nil
	}),
	write(rider, "POST /me/addresses", func(_ context.Context, w *world) (string, string, error) {
		return "/api/v1/me/addresses", fmt.Sprintf(`{"address":"12 Harbour Street","lat":40.7%03d,"lng":-74.006,"label":"Home"}`, w.next()%50), nil
	}),
	write(op, "PATCH /branding", func(_ context.Context, w *world) (string, string, error) {
		return "/api/v1/branding", fmt.Sprintf(`{"primaryColor":"#0b%04x"}`, w.next()), nil
	}),
	write(op, "POST /feedback", func(_ context.Context, w *world) (string, string, error) {
		return "/api/v1/feedback", fmt.Sprintf(`{"title":"Measured %d","body":"Nothing but a measurement."}`, w.next()), nil
	}),
	write(op, "POST /feedback/{id}/vote", func(ctx context.Context, w *world) (string, string, error) {
		path := "/api/v1/feedback/" + w.ids["post"] + "/vote"
		_, err := w.call(ctx, op, "DELETE", path, "")
		return path, "", err
	}),
	write(op, "DELETE /feedback/{id}/vote", func(ctx context.Context, w *world) (string, string, error) {
		path := "/api/v1/feedback/" + w.ids["post"] + "/vote"
		_, err := w.call(ctx, op, "POST", path, "")
		return path, "", err
	}),
	write(op, "POST /feedback/{id}/comments", func(_ context.Context, w *world) (string, string, error) {
		return "/api/v1/feedback/" + w.ids["post"] + "/comments", `{"body":"Nothing but a measurement."}`, nil
	}),
}

// next counts what was made in the world.
func (w *world) next() int {
	w.made++
	return w.made
}

func (w *world) ride() string {
	return fmt.Sprintf(`{"originAddress":"350 5th Ave","originLat":40.7484,"originLng":-73.9857,"destAddress":"JFK Airport, Terminal 4","destLat":40.6441,"destLng":-73.7821,"paymentType":"CARD","serviceTypeId":%q}`, w.ids["service"])
}

// after prepares a trip that went through some actions; the endpoint's own is
// the last word of its name.
func after(actions ...string) func(ctx context.Context, w *world) (string, string, error) {
	return func(ctx context.Context, w *world) (string, string, error) {
		answer, err := w.call(ctx, rider, "POST", "/api/v1/me/trips", w.ride())
		if err != nil {
			return "", "", err
		}
		var trip struct{ ID string }
		if err := json.Unmarshal(answer, &trip); err != nil {
			return "", "", err
		}
		for _, action := range actions {
			if _, err := w.call(ctx, driver, "POST", "/api/v1/me/trips/"+trip.ID+"/"+action, ""); err != nil {
				return "", "", err
			}
		}
		return "/api/v1/me/trips/" + trip.ID + "/", "", nil
	}
}

// request gives target and body of the endpoint's next request.
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
