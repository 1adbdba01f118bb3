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
	"svc/pkg/data/table"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
	"svc/pkg/local/demo"
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
	write(op, "POST /imports", func(ctx context.Context, w *world) (string, string, error) {
		return "/api/v1/imports", `{"kind":"customers"}`, w.endImports(ctx)
	}),
	write(op, "GET /imports/{id}", func(ctx context.Context, w *world) (string, string, error) {
		if err := w.endImports(ctx); err != nil {
			return "", "", err
		}
		id, err := w.create(ctx, op, "/api/v1/imports", `{"kind":"customers"}`)
		return "/api/v1/imports/" + id, "", err
	}),
	write(op, "GET /imports/{id}/errors", func(ctx context.Context, w *world) (string, string, error) {
		if err := w.endImports(ctx); err != nil {
			return "", "", err
		}
		id, err := w.create(ctx, op, "/api/v1/imports", `{"kind":"customers"}`)
		return "/api/v1/imports/" + id + "/errors", "", err
	}),
	write(op, "POST /privacy/requests", func(_ context.Context, w *world) (string, string, error) {
		return "/api/v1/privacy/requests", fmt.Sprintf(`{"kind":"erase","customerId":%q}`, w.ids["rider"]), nil
	}),
	write(op, "GET /privacy/requests/{id}", func(_ context.Context, _ *world) (string, string, error) {
		return "/api/v1/privacy/requests/" + demo.Privacy, "", nil
	}),
	write(op, "POST /privacy/requests/{id}/run", func(ctx context.Context, w *world) (string, string, error) {
		id, err := w.create(ctx, op, "/api/v1/privacy/requests",
			fmt.Sprintf(`{"kind":"erase","driverId":%q}`, w.ids["driver"]))
		if err == nil {
			err = w.rt.Scheduled()[app.Jobs](ctx)
		}
		return "/api/v1/privacy/requests/" + id + "/run", "", err
	}),
	write(rider, "POST /me/privacy/requests", func(_ context.Context, _ *world) (string, string, error) {
		return "/api/v1/me/privacy/requests", `{"kind":"export"}`, nil
	}),
	write(rider, "GET /me/privacy/requests/{id}", func(ctx context.Context, w *world) (string, string, error) {
		id, err := w.create(ctx, rider, "/api/v1/me/privacy/requests", `{"kind":"export"}`)
		return "/api/v1/me/privacy/requests/" + id, "", err
	}),
	write(op, "POST /wallets/postings", func(_ context.Context, w *world) (string, string, error) {
		return "/api/v1/wallets/postings", fmt.Sprintf(
			`{"driverId":%q,"type":"TOP_UP","amount":12.5,"description":"Measured"}`, w.ids["driver"]), nil
	}),
	write(op, "POST /sandbox/advance", ahead),
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
	write(op, "GET /trips/{id}/receipt", operatorsReceipt),
	write(rider, "GET /me/trips/{id}/receipt", settledTrip),
	write(rider, "GET /me/trips/{id}", func(ctx context.Context, w *world) (string, string, error) {
		target, err := w.drives(ctx, nil)
		return strings.TrimSuffix(target, "/"), "", err
	}),
	write(op, "GET /drivers/{id}/statements/{month}", statementOf(false)),
	write(driver, "GET /me/statements/{month}", statementOf(true)),
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
	write(rider, "GET /me/businesses/{id}/menu", func(ctx context.Context, w *world) (string, string, error) {
		path, _, err := onMenu("")(ctx, w)
		return strings.Replace(path, "/v1/", "/v1/me/", 1), "", err
	}),
	write(rider, "POST /me/orders", func(ctx context.Context, w *world) (string, string, error) {
		body, err := w.order(ctx)
		return "/api/v1/me/orders", body, err
	}),
	write(rider, "GET /me/orders/{id}", ordered("/me/orders/", "", "")),
	write(rider, "POST /me/orders/{id}/cancel", ordered("/me/orders/", "/cancel", "")),
	write(op, "GET /orders/{id}", ordered("/orders/", "", "")),
	write(op, "PATCH /orders/{id}", ordered("/orders/", "", `{"status":"ACCEPTED"}`)),
	write(op, "POST /businesses", made("businesses", measuredBusiness)),
	write(op, "GET /businesses/{id}", one("businesses", measuredBusiness, "")),
	write(op, "PATCH /businesses/{id}", one("businesses", measuredBusiness, `{"deliveryFee":2}`)),
	write(op, "GET /businesses/{id}/menu", onMenu("")),
	write(op, "POST /businesses/{id}/menu", onMenu(measuredDish)),
	write(op, "PATCH /businesses/{id}/menu/{item}", func(ctx context.Context, w *world) (string, string, error) {
		path, body, err := onMenu(measuredDish)(ctx, w)
		if err != nil {
			return "", "", err
		}
		return one(strings.TrimPrefix(path, "/api/v1/"), body, `{"price":16}`)(ctx, w)
	}),
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

// endImports ends the tenant's unfinished imports: their files have no rows.
func (w *world) endImports(ctx context.Context) error {
	n, err := tenant.Store{DB: w.db}.BySlug(ctx, slug)
	if err != nil {
		return err
	}
	t := w.db.Tenant(n.ID)
	page, err := t.Query(ctx, t.Partition("IMPORTS"), table.Query{Index: 2, Limit: 10})
	if err != nil {
		return err
	}
	for _, it := range page.Items {
		rec, err := imports.FromItem(it)
		if err == nil {
			err = w.rt.Files.Put(ctx, rec.File(t), []byte("email\n"))
		}
		if err != nil {
			return err
		}
	}
	return w.rt.Scheduled()[app.Jobs](ctx)
}
