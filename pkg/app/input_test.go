package app_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/domain/tenant"
)

const places = "/api/v1/me/addresses"

// TestInputTimes: a date-time is ISO 8601 as people and libraries write it.
func TestInputTimes(t *testing.T) {
	s := newSuite(t)
	boss := s.Token(t, s.actors[authz.Dashboard])
	for _, path := range []string{"/api/v1/trips", "/api/v1/reports/summary"} {
		for _, from := range []string{"2026-01-01T00:00:00", "2026-01-01T00:00:00%2B0000", "2026-01-01T00:00", "2026-01-01",
			"2026-01-01t00:00:00z", "2025-12-31T23:59:60Z", "2026-01-01T00:00:00.5-05", "20260101T000000Z", "2026-01-01T00,5",
			"2025-12-31T24:00", "2026-W01-4", "2026-001T08"} {
			s.Get(t, boss, path+"?to=2026-01-02&from="+from).Must(t, 200)
		}
		blank := s.Get(t, boss, path+"?from=2026-01-01T00:00:00+02:00").Must(t, 400)
		if !strings.Contains(string(blank.Body), "%2B") {
			t.Errorf("%s: %s", path, blank.Body)
		}
		for _, window := range []string{"from=2026-01-02&to=2026-01-01", "from=2026-01-03&to=2026-01-02T00:00",
			"from=2026-01-02T00:00&to=2026-01-01T24:00"} {
			if a := s.Get(t, boss, path+"?"+window).Must(t, 400); !strings.Contains(string(a.Body), "query.to") {
				t.Errorf("%s?%s: %s", path, window, a.Body)
			}
		}
	}
}

// TestInputDays: a date alone is a day in the tenant's time zone. As from it is
// the day's beginning, as to its end, and the report shows both. A change of the
// time zone counts at once. One batch reads the zone and the items of the checks.
func TestInputDays(t *testing.T) {
	s := newSuite(t)
	boss := s.Token(t, s.actors[authz.Dashboard])
	for _, c := range []struct{ zone, query, from, to string }{
		{"America/New_York", "from=2026-03-08&to=2026-03-08", "2026-03-08T05:00:00.000Z", "2026-03-09T04:00:00.000Z"},
		{"Asia/Tokyo", "from=20260308&to=2026-W10-7", "2026-03-07T15:00:00.000Z", "2026-03-08T15:00:00.000Z"},
		{"Asia/Tokyo", "from=2026-03-07T12:00&to=2026-03-08", "2026-03-07T12:00:00.000Z", "2026-03-08T15:00:00.000Z"},
	} {
		s.Change(t, "metro", func(n *tenant.Tenant) { n.Timezone = c.zone })
		a := s.Get(t, boss, "/api/v1/reports/summary?"+c.query).Must(t, 200)
		want := `"window":{"from":"` + c.from + `","to":"` + c.to + `"}`
		if !strings.Contains(string(a.Body), want) {
			t.Errorf("%s in %s: %s, want %s", c.query, c.zone, a.Body, want)
		}
		s.Get(t, boss, "/api/v1/trips?"+c.query).Must(t, 200)
	}
}

// Each function with a window in a query has the time zones, because the systems
// of Lambda may have none.
func TestFunctionsHaveTimeZones(t *testing.T) {
	testkit.Long(t)
	for _, function := range []string{"trips", "reports", "mcp"} {
		out, err := exec.Command("go", "list", "-deps", "svc/functions/"+function).Output()
		if err != nil || !strings.Contains(string(out), "time/tzdata\n") {
			t.Errorf("%s has no time zones: %v", function, err)
		}
	}
}

// An unknown path under /api/v1 is a 401 without a token, a 404 with one.
func TestUnknownPath(t *testing.T) {
	s := newSuite(t)
	for _, path := range []string{"/api/v1/nothing", "/api/v1/trips/x/y", "/api/v1/"} {
		a := s.Get(t, "", path).Must(t, 401)
		if !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer resource_metadata=") || a.Code() != "unauthorized" {
			t.Errorf("%s: %v %s", path, a.Header, a.Body)
		}
		s.Get(t, s.Token(t, s.actors[authz.Rider]), path).Must(t, 404)
	}
	s.Get(t, "", "/nothing").Must(t, 404)
}

// TestInputNull: null for an optional member of a POST body means absent.
func TestInputNull(t *testing.T) {
	s := newSuite(t)
	rider, boss := s.Token(t, s.actors[authz.Rider]), s.Token(t, s.actors[authz.Dashboard])
	ride := s.Post(t, rider, "/api/v1/me/trips", `{"originAddress":"A","originLat":1,"originLng":2,"destAddress":null,`+
		`"destLat":null,"destLng":null,"serviceTypeId":null,"paymentType":null,"notes":null}`).Must(t, 201)
	trip := apptest.JSON[struct{ ID, PaymentType string }](t, ride)
	if trip.PaymentType != "CASH" {
		t.Errorf("payment type %q", trip.PaymentType)
	}
	s.Post(t, rider, "/api/v1/me/trips/"+trip.ID+"/cancel", `{"reason":null}`).Must(t, 200)
	s.Post(t, boss, "/api/v1/feedback", `{"title":"T","body":"B","category":null,"type":null,"bug":null}`).Must(t, 201)
	s.Post(t, rider, "/api/v1/me/trips", `{"originAddress":null,"originLat":1,"originLng":2}`).Must(t, 400)
	s.Patch(t, s.Token(t, s.actors[authz.Driver]), "/api/v1/me/status", `{"online":null}`).Must(t, 400)
}

// TestInputNullAddress: on a saved address null clears label and notes, and an
// absent member keeps them.
func TestInputNullAddress(t *testing.T) {
	s := newSuite(t)
	rider := s.Token(t, s.actors[authz.Rider])
	for _, c := range []struct{ rest, label, notes string }{
		{`,"label":"Home","notes":"Ring"`, "Home", "Ring"}, {``, "Home", "Ring"}, {`,"label":null`, "", "Ring"},
		{`,"label":"Work","notes":null`, "Work", ""},
	} {
		a := s.Post(t, rider, places, `{"address":"A","lat":1,"lng":2`+c.rest+`}`).Must(t, 201)
		got := apptest.JSON[struct{ Label, Notes *string }](t, a)
		if (got.Label == nil) != (c.label == "") || (got.Notes == nil) != (c.notes == "") ||
			(got.Label != nil && *got.Label != c.label) || (got.Notes != nil && *got.Notes != c.notes) {
			t.Errorf("%q: %s", c.rest, a.Body)
		}
	}
}

// TestInputMeaningless: blank texts, control characters and half of a pair of
// coordinates cause a 400.
func TestInputMeaningless(t *testing.T) {
	s := newSuite(t)
	rider, boss := s.Token(t, s.actors[authz.Rider]), s.Token(t, s.actors[authz.Dashboard])
	const ride, pin = `{"originAddress":"A","originLat":1,"originLng":2`, `{"address":"A","lat":1,"lng":2`
	for _, c := range []struct{ token, path, body, field string }{
		{rider, "/api/v1/me/trips", `{"originAddress":" \u00a0","originLat":1,"originLng":2}`, "body.originAddress"},
		{rider, "/api/v1/me/trips", `{"originAddress":"A\u0000B","originLat":1,"originLng":2}`, "body.originAddress"},
		{rider, "/api/v1/me/trips", `{"originAddress":"A\nB","originLat":1,"originLng":2}`, "body.originAddress"},
		{rider, "/api/v1/me/trips", ride + `,"destAddress":"\t"}`, "body.destAddress"},
		{rider, "/api/v1/me/trips", ride + `,"destAddress":"\u3164\u2800"}`, "body.destAddress"},
		{rider, places, pin + `,"label":"` + "\U000e0041\ufe0f" + `"}`, "body.label"},
		{rider, "/api/v1/me/trips", ride + `,"notes":"a\u001bb"}`, "body.notes"},
		{rider, "/api/v1/me/trips", ride + `,"notes":"a` + "\u009b" + `b"}`, "body.notes"},
		{rider, "/api/v1/me/trips", ride + `,"destLat":1}`, "body.destLng"},
		{rider, "/api/v1/me/trips", ride + `,"destLat":null,"destLng":1}`, "body.destLat"},
		{rider, "/api/v1/me/trips", `{"originAddress":"A","originLat":90.0000000001,"originLng":2}`, "body.originLat"},
		{rider, places, pin + `,"label":"\u0007"}`, "body.label"},
		{boss, "/api/v1/feedback", `{"title":" ","body":"B"}`, "body.title"},
		{boss, "/api/v1/feedback", `{"title":"T","body":"\n\n"}`, "body.body"},
		{boss, "/api/v1/feedback", `{"title":"T","body":"\n\u034f\u200b"}`, "body.body"},
	} {
		a := s.Post(t, c.token, c.path, c.body)
		if a.Status != 400 || !strings.Contains(string(a.Body), `"field":"`+c.field+`"`) {
			t.Errorf("%s %s: %d %s", c.path, c.body, a.Status, a.Body)
		}
	}
	s.Post(t, rider, "/api/v1/me/trips", ride+
		`,"notes":"Gate 2\n\tRing twice","destLat":1.123456789,"destLng":-2.500000000000}`).
		Must(t, 201)
	s.Post(t, boss, "/api/v1/feedback", `{"title":"T","body":"One.\r\n\r\nTwo."}`).Must(t, 201)
}

// TestInputCoordinates: any double in range is a coordinate. It is rounded to
// nine decimals before it is stored and compared.
func TestInputCoordinates(t *testing.T) {
	s := newSuite(t)
	rider := s.Token(t, s.actors[authz.Rider])
	a := s.Post(t, rider, "/api/v1/me/trips", `{"originAddress":"A","originLat":40.758895849999995,"originLng":-73.98513,`+
		`"destLat":4.9e-324,"destLng":-179.99999999999997}`).Must(t, 201)
	for _, member := range []string{`"originLat":40.75889585,`, `"originLng":-73.98513,`, `"destLat":0,`,
		`"destLng":-180,`} {
		if !strings.Contains(string(a.Body), member) {
			t.Errorf("%s is not in %s", member, a.Body)
		}
	}
	for i, pair := range []string{`"lat":41.88102339999999,"lng":-87.6247}`, `"lat":41.8810234,"lng":-87.6247000000001}`,
		`"lat":4.18810234e1,"lng":-87.62470}`} {
		a := s.Post(t, rider, places, `{"address":"A",`+pair).Must(t, 201)
		if want := fmt.Sprintf(`"usageCount":%d,`, i+1); !strings.Contains(string(a.Body), want) {
			t.Errorf("%s is another address: %s", pair, a.Body)
		}
	}
}

// TestInputEncodings: a content coding causes a 415 that names what is accepted.
// A UTF-8 byte order mark is ignored.
func TestInputEncodings(t *testing.T) {
	s := newSuite(t)
	rider := s.Token(t, s.actors[authz.Rider])
	post := func(body, coding string) apptest.Answer {
		return s.Do(t, apptest.Request{Method: http.MethodPost, Path: "/api/v1/me/trips", Token: rider, Body: body,
			Header: map[string]string{"Content-Encoding": coding}})
	}
	for _, coding := range []string{"gzip", "br", "identity, gzip"} {
		a := post(string(bytes.Repeat([]byte{0x1f, 0x8b}, 20)), coding)
		if a.Status != 415 || a.Code() != "unsupported_media_type" || a.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("%s: %d %v %s", coding, a.Status, a.Header, a.Body)
		}
	}
	post(ride, "identity").Must(t, 201)
	s.Post(t, rider, "/api/v1/me/trips", "\ufeff"+ride).Must(t, 201)
	s.Post(t, rider, "/api/v1/me/trips", "\ufeff\ufeff"+ride).Must(t, 400)
	if a := s.Post(t, rider, "/api/v1/me/trips", "a=b"); a.Header.Get("Accept-Encoding") != "" {
		t.Errorf("a body without a coding: %v", a.Header)
	}
}
