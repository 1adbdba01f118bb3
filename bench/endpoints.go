package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/base/ids"
	"svc/pkg/domain/dispatch"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
	"svc/pkg/edge/api"
)

// endpoint is one request to measure.
type endpoint struct {
	name     string // method and path, as the table shows it
	audience authz.Audience
	target   string // path and query; {trip}, {rider}, … are replaced by ids
	// prepare creates the data that one request needs, and returns the
	// request's target and body. If prepare is nil, the request uses the field
	// target and has no body.
	prepare func(ctx context.Context, w *world) (target, body string, err error)
	// form prepares the form of a request to the token endpoint. It is nil for
	// a request to the API.
	form func(ctx context.Context, w *world) (url.Values, error)
}

// title is the endpoint's title in progress and documents.
func (e endpoint) title() string { return e.name + " (" + string(e.audience) + ")" }

// marked returns an endpoint's title with the request formatted as code.
func marked(title string) string {
	request, audience, _ := strings.Cut(title, " (")
	return "`" + request + "` (" + audience
}

// event returns the gateway event of the endpoint's next request.
func (e endpoint) event(ctx context.Context, w *world) (function string, raw json.RawMessage, err error) {
	if e.form != nil {
		form, err := e.form(ctx, w)
		if err != nil {
			return "", nil, fmt.Errorf("preparing: %w", err)
		}
		raw, err = event("", "application/x-www-form-urlencoded", "POST", "/oauth/token", form.Encode())
		return app.OAuth, raw, err
	}
	target, body, err := e.request(ctx, w)
	if err != nil {
		return "", nil, fmt.Errorf("preparing: %w", err)
	}
	raw, err = event(w.tokens[e.audience], "application/json", e.method(), target, body)
	return functionOf(target), raw, err
}

// next returns a function that returns the event of the endpoint's next request.
func (e endpoint) next(w *world) func(context.Context) (json.RawMessage, error) {
	return func(ctx context.Context) (json.RawMessage, error) {
		_, raw, err := e.event(ctx, w)
		return raw, err
	}
}

func (e endpoint) method() string {
	method, _, _ := strings.Cut(e.name, " ")
	return method
}

func read(audience authz.Audience, target string) endpoint {
	return endpoint{name: "GET /" + target, audience: audience, target: "/api/v1/" + target}
}

func write(audience authz.Audience, name string, prepare func(ctx context.Context, w *world) (string, string,
	error)) endpoint {
	return endpoint{name: name, audience: audience, prepare: prepare}
}

const (
	op     = authz.Dashboard
	rider  = authz.Rider
	driver = authz.Driver
)

// endpoints returns an endpoint for each row of /api/v1: all of listed, and each
// other GET without path parameters. If another row is not in listed, endpoints
// returns an error.
func endpoints() ([]endpoint, error) {
	out := slices.Clone(listed)
	for _, r := range app.Rows(nil) {
		if slices.ContainsFunc(listed, func(e endpoint) bool { return e.is(r) }) {
			continue
		}
		if r.Method != http.MethodGet || strings.Contains(r.Path, "{") {
			return nil, fmt.Errorf("%s (%s %s) is not measured: list it in bench/endpoints.go", r.ID, r.Method, r.Path)
		}
		for _, audience := range authz.Audiences {
			if r.Policy.Scopes[audience] != "" {
				out = append(out, read(audience, strings.TrimPrefix(r.Path, "/api/v1/")))
				break
			}
		}
	}
	return out, nil
}

// is reports whether the endpoint is a request to the row.
func (e endpoint) is(r api.Row) bool {
	name, _, _ := strings.Cut(e.name, "?")
	want := r.Method + " " + strings.TrimPrefix(r.Path, "/api/v1")
	return parameter.ReplaceAllString(name, "{}") == parameter.ReplaceAllString(want, "{}")
}

var parameter = regexp.MustCompile(`\{[^}]+\}`)

// listed are the lists with each of their indexes and filters, and the
// endpoints that need an id or a body.
var listed = []endpoint{
	read(op, "trips?limit=20"),
	read(op, "trips?limit=100"),
	read(op, "trips?limit=200"),
	read(op, "trips?limit=20&status=CANCELLED"),
	read(op, "trips?limit=20&driverId={driver}"),
	read(op, "trips?limit=20&customerId={rider}"),
	read(op, "trips?limit=20&customerId={rider}&status=CANCELLED"),
	read(op, "trips?limit=20&from={from}&to={to}"),
	read(op, "trips/{trip}"),
	read(op, "drivers?limit=20"),
	read(op, "drivers?limit=20&status=ONLINE"),
	read(op, "customers?limit=20"),
	read(op, "customers?limit=20&q=an"),
	read(op, "reports/summary"),
	read(op, "reports/summary?from={from}&to={to}"),
	read(op, "wallets?type=driver&detail=1&limit=20"),
	read(op, "wallets/postings?driverId={driver}&limit=20"),
	read(op, "businesses?limit=20"),
	read(op, "orders?limit=20"),
	read(op, "orders?limit=20&status=DELIVERED"),
	read(op, "feedback?limit=20"),
	read(op, "feedback?limit=20&q=theme"),
	read(op, "feedback/{post}"),
	read(op, "me"),
	read(rider, "me"),
	read(driver, "me"),
	read(rider, "me/trips?limit=20"),
	read(driver, "me/trips?limit=20"),
	read(rider, "me/wallet"),
	read(driver, "me/wallet"),
	read(rider, "me/orders?limit=20"),
	read(driver, "me/offers"),
	read(driver, "me/open-trips"),

	write(rider, "POST /me/trips", func(_ context.Context, w *world) (string, string, error) {
		return "/api/v1/me/trips", w.ride(), nil
	}),
	write(rider, "POST /me/estimates", func(context.Context, *world) (string, string, error) {
		return "/api/v1/me/estimates", `{"originLat":40.7484,"originLng":-73.9857,"destLat":40.6441,"destLng":-73.7821}`, nil
	}),
	write(driver, "POST /me/trips/{id}/accept", after()),
	write(driver, "POST /me/trips/{id}/decline", func(ctx context.Context, w *world) (string, string, error) {
		target, err := w.drives(ctx, nil)
		if err == nil {
			err = w.offer(ctx, strings.Split(target, "/")[5])
		}
		return target, "", err
	}),
	write(driver, "POST /me/trips/{id}/release", after("accept")),
	write(driver, "POST /me/trips/{id}/arrived", after("accept")),
	write(driver, "POST /me/trips/{id}/start", after("accept", "arrived")),
	write(driver, "POST /me/trips/{id}/complete", after("accept", "arrived", "start")),
	write(rider, "POST /me/trips/{id}/cancel", after()),
	write(rider, "POST /me/trips/{id}/rating", func(ctx context.Context, w *world) (string, string, error) {
		target, err := w.drives(ctx, nil, "accept", "arrived", "start", "complete")
		return target, `{"rating":5}`, err
	}),
	write(op, "POST /trips", func(_ context.Context, w *world) (string, string, error) {
		return "/api/v1/trips", strings.Replace(w.ride(), "{", fmt.Sprintf(`{"customerId":%q,`, w.ids["rider"]), 1), nil
	}),
	write(op, "POST /trips/{id}/assign", func(ctx context.Context, w *world) (string, string, error) {
		target, err := w.drives(ctx, nil)
		return operators(target), fmt.Sprintf(`{"driverId":%q}`, w.ids["driver"]), err
	}),
	write(op, "POST /trips/{id}/unassign", operated("accept")),
	write(op, "POST /trips/{id}/cancel", operated()),
	write(op, "POST /trips/{id}/arrived", operated("accept")),
	write(op, "POST /trips/{id}/start", operated("accept", "arrived")),
	write(op, "POST /trips/{id}/complete", operated("accept", "arrived", "start")),
	write(op, "DELETE /trips/{id}", func(ctx context.Context, w *world) (string, string, error) {
		target, err := w.drives(ctx, nil)
		return strings.TrimSuffix(operators(target), "/"), "", err
	}),
	write(driver, "PATCH /me/status", func(_ context.Context, w *world) (string, string, error) {
		return "/api/v1/me/status", fmt.Sprintf(`{"online":%t}`, w.next()%2 == 0), nil
	}),
	write(driver, "PUT /me/location", func(_ context.Context, w *world) (string, string, error) {
		return "/api/v1/me/location", fmt.Sprintf(`{"lat":40.7,"lng":-74.006,"recordedAt":%q}`,
			time.Now().Add(-time.Hour).Add(time.Duration(w.next())*time.Millisecond).UTC().Format(time.RFC3339Nano)), nil
	}),
	write(rider, "POST /me/addresses", func(_ context.Context, w *world) (string, string, error) {
		return "/api/v1/me/addresses",
			fmt.Sprintf(`{"address":"12 Harbour Street","lat":40.7%03d,"lng":-74.006,"label":"Home"}`, w.next()%50), nil
	}),
	write(op, "POST /exports", func(ctx context.Context, w *world) (string, string, error) {
		err := w.rt.Scheduled()[app.Jobs](ctx) // few exports may be unfinished
		return "/api/v1/exports", exported, err
	}),
	write(op, "GET /exports/{id}", func(ctx context.Context, w *world) (string, string, error) {
		if err := w.rt.Scheduled()[app.Jobs](ctx); err != nil {
			return "", "", err
		}
		id, err := w.create(ctx, op, "/api/v1/exports", exported)
		return "/api/v1/exports/" + id, "", err
	}),
	write(op, "POST /wallets/postings", func(_ context.Context, w *world) (string, string, error) {
		return "/api/v1/wallets/postings", fmt.Sprintf(
			`{"driverId":%q,"type":"TOP_UP","amount":12.5,"description":"Measured"}`, w.ids["driver"]), nil
	}),
	write(op, "GET /webhooks", hooks("", "")),
	write(op, "GET /webhooks/{id}", hooks("/"+hook, "")),
	write(op, "GET /webhooks/{id}/deliveries", hooks("/"+hook+"/deliveries", "")),
	write(op, "POST /webhooks", hooks("", `{"url":"https://hooks.metro.example/other"}`)),
	write(op, "PATCH /webhooks/{id}", hooks("/"+hook, `{"description":"measured"}`)),
	write(op, "DELETE /webhooks/{id}", hooks("/"+hook, "")),
	write(op, "POST /webhooks/{id}/rotate", hooks("/"+hook+"/rotate", "")),
	write(op, "POST /webhooks/{id}/test", hooks("/"+hook+"/test", "")),
	write(op, "POST /webhooks/{id}/replay", hooks("/"+hook+"/replay", `{"after":"2026-01-01T00:00:00Z"}`)),
	write(rider, "DELETE /me/addresses/{id}", mine("addresses", `{"address":"Gone","lat":1,"lng":2}`, "")),
	write(rider, "PATCH /me", func(_ context.Context, w *world) (string, string, error) {
		return "/api/v1/me", fmt.Sprintf(`{"lastName":"Measured %d"}`, w.next()), nil
	}),
	write(rider, "POST /me/payment-methods", func(ctx context.Context, w *world) (string, string, error) {
		_, _, err := mine("payment-methods", measuredCard, "")(ctx, w) // so that there are never too many
		return "/api/v1/me/payment-methods", measuredCard, err
	}),
	write(rider, "PATCH /me/payment-methods/{id}", mine("payment-methods", measuredCard, `{"isDefault":true}`)),
	write(rider, "DELETE /me/payment-methods/{id}", mine("payment-methods", measuredCard, "")),
	write(op, "POST /trips/{id}/fare", func(ctx context.Context, w *world) (string, string, error) {
		target, err := w.drives(ctx, nil, "accept", "arrived", "start", "complete")
		if err == nil { // the first correction settles the trip
			_, err = w.call(ctx, op, "POST", operators(target)+"fare", `{"finalFare":20,"reason":"Measured"}`)
		}
		return operators(target), `{"finalFare":12.5,"reason":"Measured"}`, err
	}),
	write(op, "GET /trips/{id}/receipt", func(ctx context.Context, w *world) (string, string, error) {
		target, body, err := settledTrip(ctx, w)
		return operators(target), body, err
	}),
	write(rider, "GET /me/trips/{id}/receipt", settledTrip),
	read(rider, "me/trips/{trip}"),
	write(driver, "POST /me/wallet/withdrawals", func(ctx context.Context, w *world) (string, string, error) {
		_, err := w.call(ctx, op, "POST", "/api/v1/wallets/postings", fmt.Sprintf(
			`{"driverId":%q,"type":"TOP_UP","amount":5,"description":"Measured"}`, w.ids["driver"]))
		return "/api/v1/me/wallet/withdrawals", `{"amount":5}`, err
	}),
	write(driver, "POST /me/wallet/withdrawals/{id}/cancel", withdrawal("/me/wallet/withdrawals/", "")),
	write(op, "POST /withdrawals/{id}/pay", withdrawal("/withdrawals/", "")),
	write(op, "POST /withdrawals/{id}/refuse", withdrawal("/withdrawals/", `{"reason":"Measured"}`)),
	write(op, "PATCH /branding", func(_ context.Context, w *world) (string, string, error) {
		return "/api/v1/branding", fmt.Sprintf(`{"primaryColor":"#0b%04x"}`, w.next()), nil
	}),
	write(op, "PATCH /settings", func(_ context.Context, w *world) (string, string, error) {
		return "/api/v1/settings", fmt.Sprintf(`{"pricing":{"freeWaitingMinutes":%d}}`, w.next()%60), nil
	}),
	write(op, "POST /drivers", person("drivers")),
	write(op, "GET /drivers/{id}", onePerson("drivers", "", "")),
	write(op, "PATCH /drivers/{id}", onePerson("drivers", "", `{"vehicleColor":"Green"}`)),
	write(op, "GET /drivers/{id}/documents", onePerson("drivers", "/documents", "")),
	write(op, "POST /drivers/{id}/documents", onePerson("drivers", "/documents", `{"kind":"INSURANCE"}`)),
	write(op, "PATCH /drivers/{id}/documents/{document}", func(ctx context.Context, w *world) (string, string, error) {
		path, body, err := onePerson("drivers", "/documents", `{"kind":"INSURANCE"}`)(ctx, w)
		if err != nil {
			return "", "", err
		}
		return one(strings.TrimPrefix(path, "/api/v1/"), body, `{"state":"APPROVED"}`)(ctx, w)
	}),
	write(op, "POST /customers", person("customers")),
	write(op, "GET /customers/{id}", onePerson("customers", "", "")),
	write(op, "PATCH /customers/{id}", onePerson("customers", "", `{"firstName":"Iris"}`)),
	write(op, "POST /services", made("services", `{"name":"Measured","baseFare":5}`)),
	write(op, "GET /services/{id}", one("services", `{"name":"Measured","baseFare":5}`, "")),
	write(op, "PATCH /services/{id}", one("services", `{"name":"Measured","baseFare":5}`, `{"baseFare":6}`)),
	write(op, "DELETE /services/{id}", one("services", `{"name":"Measured","baseFare":5}`, "")),
	write(op, "POST /zones", made("zones", measuredZone)),
	write(op, "GET /zones/{id}", one("zones", measuredZone, "")),
	write(op, "PATCH /zones/{id}", one("zones", measuredZone, `{"priority":1}`)),
	write(op, "DELETE /zones/{id}", one("zones", measuredZone, "")),
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

// mine prepares a rider's request with the body for something that it creates
// first. Of payment methods it first removes those of earlier requests.
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
