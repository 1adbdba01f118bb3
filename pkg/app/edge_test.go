package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apptest"
	"svc/pkg/access/authz"
	"svc/pkg/edge/api"
)

// TestEdge checks what the service does before an endpoint's handler runs:
// input, errors, HEAD, request ids and CORS.
func TestEdge(t *testing.T) {
	s := newSuite(t)
	for _, part := range []struct {
		name string
		hold func(*testing.T, *suite)
	}{
		{"input faults", inputFaults},
		{"many faults", manyFaults},
		{"input accepted", inputAccepted},
		{"errors", edgeErrors},
		{"HEAD", head},
		{"request id", requestID},
		{"CORS", cors},
	} {
		t.Run(part.name, func(t *testing.T) { part.hold(t, s) })
	}
}

// inputFaults checks that one response reports every fault of a request, in
// the caller's terms.
func inputFaults(t *testing.T, s *suite) {
	op, rider, driver := s.Token(t, s.actors[authz.Dashboard]), s.Token(t, s.actors[authz.Rider]),
		s.Token(t, s.actors[authz.Driver])
	const trips, create = "/api/v1/trips", "/api/v1/me/trips"
	good := `{"originAddress":"A","originLat":1,"originLng":2`
	for _, c := range []struct {
		name, token, method, path, body string
		fields                          string
	}{
		{"unknown parameter", op, "GET", trips + "?statuss=PENDING", "", "query.statuss"},
		{"several", op, "GET", trips + "?limit=0&status=X&from=y&z=1", "", "query.limit query.status query.from query.z"},
		{"limit too large", op, "GET", trips + "?limit=201", "", "query.limit"},
		{"limit not a number", op, "GET", trips + "?limit=ten", "", "query.limit"},
		{"limit with a fraction", op, "GET", trips + "?limit=1.5", "", "query.limit"},
		{"repeated", op, "GET", trips + "?limit=5&limit=6", "", "query.limit"},
		{"empty value", op, "GET", trips + "?status=", "", "query.status"},
		{"empty filters", op, "GET", trips + "?driverId=&customerId=", "", "query.driverId query.customerId"},
		{"empty filters of orders", op, "GET", "/api/v1/orders?businessId=&customerId=", "",
			"query.businessId query.customerId"},
		{"empty filter of posts", op, "GET", "/api/v1/feedback?category=", "", "query.category"},
		{"limit with a plus", op, "GET", trips + "?limit=%2B5", "", "query.limit"},
		{"name without value", op, "GET", trips + "?limit", "", "query.limit"},
		{"malformed query", op, "GET", trips + "?a=%zz", "", "query"},
		{"other case", op, "GET", trips + "?Limit=5", "", "query.Limit"},
		{"bad cursor", op, "GET", trips + "?cursor=abc", "", "query.cursor"},
		{"not a date-time", op, "GET", trips + "?from=2026-01", "", "query.from"},
		{"a value that is not UTF-8", op, "GET", "/api/v1/customers?q=%ff", "", "query.q"},
		{"a body that is not UTF-8", rider, "POST", create, good + ",\"notes\":\"\xff\"}", "body"},
		{"half of a surrogate pair", rider, "POST", create, good + `,"notes":"a\ud83d"}`, "body"},
		{"the other half", rider, "POST", create, good + `,"notes":"\uDE95\uD83D"}`, "body"},
		{"missing fields", rider, "POST", create, `{}`, "body.originAddress body.originLat body.originLng"},
		{"no body", rider, "POST", create, ``, "body"},
		{"blanks", rider, "POST", create, " \r\n\t", "body"},
		{"other blanks", rider, "POST", create, "\u00a0", "body"},
		{"malformed", rider, "POST", create, `{"originAddress":`, "body"},
		{"trailing", rider, "POST", create, good + `} x`, "body"},
		{"two documents", rider, "POST", create, good + `}{}`, "body"},
		{"an array", rider, "POST", create, `[]`, "body"},
		{"wrong type", rider, "POST", create, `{"originAddress":1,"originLat":"x","originLng":2}`,
			"body.originAddress body.originLat"},
		{"null for required", rider, "POST", create, `{"originAddress":null,"originLat":1,"originLng":2}`,
			"body.originAddress"},
		{"unknown member", rider, "POST", create, good + `,"x":1}`, "body.x"},
		{"other case of a member", rider, "POST", create, good + `,"Notes":"x"}`, "body.Notes"},
		{"member twice", rider, "POST", create, good + `,"originLat":3}`, "body.originLat"},
		{"latitude", rider, "POST", create, `{"originAddress":"A","originLat":90.5,"originLng":-180.1}`,
			"body.originLat body.originLng"},
		{"huge number", rider, "POST", create, `{"originAddress":"A","originLat":1e999,"originLng":2}`, "body.originLat"},
		{"long text", rider, "POST", create, good + `,"notes":"` + strings.Repeat("ä", 1001) + `"}`, "body.notes"},
		{"empty address", rider, "POST", create, `{"originAddress":"","originLat":1,"originLng":2}`, "body.originAddress"},
		{"payment type", rider, "POST", create, good + `,"paymentType":"GOLD"}`, "body.paymentType"},
		{"service type of nobody", rider, "POST", create, good + `,"serviceTypeId":"svt_x"}`, "body.serviceTypeId"},
		{"body where none goes", driver, "POST", "/api/v1/me/trips/trp_1/accept", `{"a":1}`, "body"},
		{"both", driver, "PATCH", "/api/v1/me/status", `{"online":true,"status":"BUSY"}`, "body"},
		{"neither", driver, "PATCH", "/api/v1/me/status", `{}`, "body"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := s.Do(t, apptest.Request{Method: c.method, Path: c.path, Token: c.token, Body: c.body})
			reportsFields(t, a, c.fields)
		})
	}
}

// reportsFields checks that a response rejects the request and reports exactly
// these fields, each once.
func reportsFields(t *testing.T, a apptest.Answer, fields string) {
	t.Helper()
	if a.Status != 400 || a.Code() != "invalid_request" {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	body := apptest.JSON[api.ErrorBody](t, a)
	got := map[string]bool{}
	for _, d := range body.Details {
		got[d.Field] = true
		if d.Message == "" || strings.Contains(d.Message, "Go ") || strings.Contains(d.Message, "json:") {
			t.Errorf("message %q", d.Message)
		}
	}
	for field := range strings.FieldsSeq(fields) {
		if !got[field] {
			t.Errorf("%s is not reported: %s", field, a.Body)
		}
	}
	if len(got) != len(strings.Fields(fields)) || len(got) != len(body.Details) {
		t.Errorf("more than %s is reported: %s", fields, a.Body)
	}
}

// manyFaults: a request with any number of faults gets a 400 of a bounded size.
func manyFaults(t *testing.T, s *suite) {
	var unknown, twice strings.Builder
	for i := range 7500 {
		fmt.Fprintf(&unknown, `,"%x":0`, i)
	}
	for i := range 200 {
		fmt.Fprintf(&twice, `,"%x":0,"%x":0`, i, i)
	}
	for name, body := range map[string]string{
		"unknown members": "{" + unknown.String()[1:] + "}",
		"a long name":     `{"` + strings.Repeat("x", 60_000) + `":0}`,
		"long paths":      `{"` + strings.Repeat("\u2028", 18_000) + `":{` + twice.String()[1:] + "}}",
	} {
		t.Run(name, func(t *testing.T) {
			key := strings.ReplaceAll(name, " ", "-")
			a := s.Do(t, keyed(s.Token(t, s.actors[authz.Rider]), "/api/v1/me/trips", body, key)).Must(t, 400)
			if len(a.Body) > 64<<10 {
				t.Errorf("an answer of %d bytes", len(a.Body))
			}
		})
	}
}

// inputAccepted checks input that must be accepted.
func inputAccepted(t *testing.T, s *suite) {
	op, rider := s.Token(t, s.actors[authz.Dashboard]), s.Token(t, s.actors[authz.Rider])
	good := `{"originAddress":"A","originLat":1,"originLng":2}`
	for name, r := range map[string]apptest.Request{
		"offset in a date-time": {Method: "GET", Path: "/api/v1/trips?from=2026-01-01T00:00:00%2B02:00", Token: op},
		"nanoseconds":           {Method: "GET", Path: "/api/v1/trips?to=2026-01-01T00:00:00.123456789Z", Token: op},
		"limits of limit":       {Method: "GET", Path: "/api/v1/trips?limit=200", Token: op},
		"media type in other case": {Method: "POST", Path: "/api/v1/me/trips", Token: rider, Body: good,
			Header: map[string]string{"Content-Type": "Application/JSON; charset=UTF-8"}},
		"body with spaces": {Method: "POST", Path: "/api/v1/me/trips", Token: rider, Body: " \n" + good + "\t "},
		"longest body": {Method: "POST", Path: "/api/v1/me/trips", Token: rider,
			Body: good + strings.Repeat(" ", api.MaxBody-len(good))},
		"1,000 characters": {Method: "POST", Path: "/api/v1/me/trips", Token: rider, Body: good[:len(good)-1] +
			`,"notes":"` + strings.Repeat("ä", 1000) + `"}`},
		"a surrogate pair": {Method: "POST", Path: "/api/v1/me/trips", Token: rider, Body: good[:len(good)-1] +
			`,"notes":"\ud83D\uDE95\u00e9\\ud83d"}`},
		"scheme in other case": {Method: "GET", Path: "/api/v1/me", Header: map[string]string{"Authorization": "bEARER " +
			rider}},
	} {
		t.Run(name, func(t *testing.T) {
			if a := s.Do(t, r); a.Status >= 300 {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
}

// edgeErrors checks that errors that occur before an endpoint's handler have the same
// format as the handler's errors.
func edgeErrors(t *testing.T, s *suite) {
	rider := s.Token(t, s.actors[authz.Rider])
	for _, c := range []struct {
		name, method, path, body string
		header                   map[string]string
		status                   int
		word, allow              string
	}{
		{"unknown path", "GET", "/api/v1/nothing", "", nil, 404, "not_found", ""},
		{"outside", "GET", "/nothing/at/all", "", nil, 404, "not_found", ""},
		{"slash at the end", "GET", "/api/v1/trips/", "", nil, 404, "not_found", ""},
		{"two slashes", "GET", "/api//v1/trips", "", nil, 404, "not_found", ""},
		{"dots", "GET", "/api/v1/x/../trips", "", nil, 404, "not_found", ""},
		{"method", "PUT", "/api/v1/reports/summary", "{}", nil, 405, "method_not_allowed", "GET, HEAD"},
		{"method of many", "DELETE", "/api/v1/me/trips", "", nil, 405, "method_not_allowed", "GET, HEAD, POST"},
		{"vote", "GET", "/api/v1/feedback/x/vote", "", nil, 405, "method_not_allowed", "DELETE, POST"},
		{"media type", "POST", "/api/v1/me/trips", "a=b",
			map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415, "unsupported_media_type", ""},
		{"charset", "POST", "/api/v1/me/trips", "{}", map[string]string{"Content-Type": "application/json; charset=latin1"},
			415, "unsupported_media_type", ""},
		{"too large", "POST", "/api/v1/me/trips", strings.Repeat(" ", api.MaxBody+1), nil, 413, "payload_too_large", ""},
		{"not an id", "POST", "/api/v1/me/trips/..%2f/cancel", "{}", nil, 404, "not_found", ""},
		{"oauth path", "GET", "/oauth/nothing", "", nil, 404, "not_found", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := s.Do(t, apptest.Request{Method: c.method, Path: c.path, Token: rider, Body: c.body, Header: c.header})
			if a.Status != c.status || a.Code() != c.word || a.Header.Get("Allow") != c.allow ||
				a.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%d %q Allow %q %q: %s", a.Status, a.Code(), a.Header.Get("Allow"), a.Header.Get("Content-Type"), a.Body)
			}
		})
	}
}

// head: HEAD is served wherever GET is, with the same status, Content-Type and
// Allow, and without a body.
func head(t *testing.T, s *suite) {
	token := s.Token(t, s.actors[authz.Dashboard])
	for path, want := range map[string]int{"/": 200, "/docs": 200, "/openapi.json": 200, "/health": 200,
		"/health/live": 200, "/health/ready": 200, "/health/x": 404,
		"/.well-known/jwks.json": 200, "/.well-known/openid-configuration": 200, "/api/v1/trips": 200, "/api/v1/me": 200,
		"/api/v1/trips?limit=x": 400, "/api/v1/trips/x": 404, "/api/v1/me/trips/x/accept": 405, "/api/v1/feedback/x": 404,
		"/nothing": 404, "/.well-known/nothing": 404} {
		get := s.Do(t, apptest.Request{Method: http.MethodGet, Path: path, Token: token})
		a := s.Do(t, apptest.Request{Method: http.MethodHead, Path: path, Token: token})
		for _, h := range []http.Header{a.Header, get.Header} { // new in each response, or the gateway's own
			for _, name := range []string{"X-Request-Id", "Apigw-Requestid", "Date", "Content-Length",
				"Content-Security-Policy"} {
				h.Del(name)
			}
		}
		if a.Status != want || get.Status != want || len(a.Body) != 0 {
			t.Errorf("%s: %d %q; GET %d, want %d", path, a.Status, a.Body, get.Status, want)
		}
		if diff := cmp.Diff(get.Header, a.Header); diff != "" {
			t.Errorf("%s: headers (-GET +HEAD):\n%s", path, diff)
		}
	}
	if a := s.Do(t, apptest.Request{Method: http.MethodHead, Path: "/api/v1/trips"}); a.Status != 401 {
		t.Errorf("without a token: %d", a.Status)
	}
}

// requestID: a valid id is sent back; any other id is replaced.
func requestID(t *testing.T, s *suite) {
	token := s.Token(t, s.actors[authz.Rider])
	for id, kept := range map[string]bool{"abc-123": true, "a b": false, strings.Repeat("x", 200): false,
		`"<script>`: false} {
		a := s.Do(t, apptest.Request{Method: "GET", Path: "/api/v1/me", Token: token,
			Header: map[string]string{"X-Request-Id": id}})
		got := a.Header.Get("X-Request-Id")
		if got == "" || (got == id) != kept {
			t.Errorf("%q became %q", id, got)
		}
	}
}

// cors: a browser's preflight gets a response. The response to the request itself
// has the CORS headers, even if it is an error.
func cors(t *testing.T, s *suite) {
	pre := s.Do(t, apptest.Request{Method: http.MethodOptions, Path: "/api/v1/me/trips", Header: map[string]string{
		"Origin": "https://app.example", "Access-Control-Request-Method": "POST",
		"Access-Control-Request-Headers": "authorization,idempotency-key"}})
	if pre.Status >= 300 || pre.Header.Get("Access-Control-Allow-Origin") != "*" ||
		pre.Header.Get("Access-Control-Allow-Headers") != "*,Authorization" {
		t.Errorf("%d %v", pre.Status, pre.Header)
	}
	a := s.Do(t, apptest.Request{Method: "GET", Path: "/api/v1/me",
		Header: map[string]string{"Origin": "https://app.example"}}).Must(t, 401)
	if a.Header.Get("Access-Control-Allow-Origin") != "*" ||
		!strings.Contains(strings.ToLower(a.Header.Get("Access-Control-Expose-Headers")), "www-authenticate") {
		t.Errorf("%v", a.Header)
	}
}
