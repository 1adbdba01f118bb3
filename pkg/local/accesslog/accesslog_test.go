package accesslog_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/pkg/local/accesslog"
)

func TestHandler(t *testing.T) {
	token := "Bearer e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"aud":"rider","tenant_id":"ten_1"}`)) +
		".c2lnbmF0dXJl"
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name, authorization string
		answer              http.HandlerFunc
		want                accesslog.Entry
	}{
		{"an answer", token, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{"error":"no error"}`)) },
			accesslog.Entry{Status: 200, Tenant: "metro", Actor: "rider"}},
		{"a refusal", token, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(403)
			w.Write([]byte(`{"error":"feature_disabled","feature":"taxiEnabled"}`))
		}, accesslog.Entry{Status: 403, Code: "feature_disabled", Tenant: "metro", Actor: "rider"}},
		{"a token that was not accepted", token, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(401)
			w.Write([]byte(`{"error":"unauthorized"}`))
		}, accesslog.Entry{Status: 401, Code: "unauthorized"}},
		{"a page", "", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			w.Write([]byte(strings.Repeat("<p>error</p>", 1000)))
		}, accesslog.Entry{Status: 400}},
		{"the gateway alone", "", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Del("X-Request-Id")
			w.WriteHeader(404)
			w.Write([]byte(`{"message":"Not Found"}`))
		}, accesslog.Entry{Status: 404, RequestID: "req_gw_1"}},
		{"a token that steers a terminal", "Bearer e30." + base64.RawURLEncoding.EncodeToString(
			[]byte(`{"aud":"rider\n12:00 GET","tenant_id":"\u001b[2J"}`)) + ".c2lnbmF0dXJl",
			func(http.ResponseWriter, *http.Request) {}, accesslog.Entry{Status: 200}},
		{"a malformed token", "Bearer a.!.c", func(http.ResponseWriter, *http.Request) {}, accesslog.Entry{Status: 200}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []accesslog.Entry
			clock := at
			h := &accesslog.Handler{
				Next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Apigw-Requestid", "gw_1")
					w.Header().Set("X-Request-Id", "req_1")
					clock = clock.Add(1500 * time.Microsecond)
					tt.answer(w, r)
				}),
				Log:  func(e accesslog.Entry) { got = append(got, e) },
				Slug: func(id string, then func(string)) { then(map[string]string{"ten_1": "metro"}[id]) },
				Now:  func() time.Time { return clock },
			}
			r := httptest.NewRequest("POST", "/api/v1/me/trips?q=secret", strings.NewReader("secret"))
			r.Header.Set("Authorization", tt.authorization)
			h.ServeHTTP(httptest.NewRecorder(), r)
			want := tt.want
			want.Time, want.Method, want.Path, want.Millis = at, "POST", "/api/v1/me/trips", 1.5
			if want.RequestID == "" {
				want.RequestID, want.GatewayID = "req_1", "req_gw_1"
			}
			if diff := cmp.Diff([]accesslog.Entry{want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An identifier of another system may tell of a person, so no line has it.
func TestNoExternalID(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/trips/external/ann%40metro.example": "/api/v1/trips/external/{externalId}",
		"/api/v1/customers/external/a%2Fb":           "/api/v1/customers/external/{externalId}",
		"/api/v1/customers/external/a/external/b":    "/api/v1/customers/external/{externalId}",
		"/api/v1/trips/trp_1":                        "/api/v1/trips/trp_1",
		"/console/external/x":                        "/console/external/x",
	} {
		var got accesslog.Entry
		h := accesslog.Handler{Next: http.NotFoundHandler(), Log: func(e accesslog.Entry) { got = e }, Now: time.Now}
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
		if got.Path != want {
			t.Errorf("%s is logged as %s", path, got.Path)
		}
	}
}

func TestText(t *testing.T) {
	e := accesslog.Entry{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local), Method: "GET", Path: "/api/v1/trips",
		Status: 403,
		Code:   "forbidden", Millis: 1.5, Tenant: "metro", Actor: "dashboard", RequestID: "req_1"}
	if got, want := e.Text(false), "03:04:05 GET    403 /api/v1/trips forbidden 1.5ms metro/dashboard req_1"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := e.Text(true); !strings.Contains(got, "\x1b[33m403\x1b[0m") {
		t.Errorf("in colour: %q", got)
	}
}

// The file has a limited size. It can be read even if its last line is
// incomplete, and a search includes the older file.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	f, err := accesslog.OpenFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	add := func(id string) {
		if err := f.Add(accesslog.Entry{Path: "/" + strings.Repeat("x", 2000), RequestID: id}); err != nil {
			t.Error(err)
		}
	}
	add("first")
	var adders sync.WaitGroup
	for range 4 {
		adders.Go(func() {
			for range 1100 {
				add("other")
			}
		})
	}
	adders.Wait()
	add("last")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(dir, "requests.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	file.WriteString(`{"request_id":"la`)
	file.Close()
	for _, id := range []string{"first", "last"} {
		if found, err := accesslog.Find(dir, id); err != nil || len(found) != 1 {
			t.Errorf("%s: %d entries, %v", id, len(found), err)
		}
	}
	if found, err := accesslog.Find(t.TempDir(), "first"); err != nil || found != nil {
		t.Errorf("an empty folder: %v, %v", found, err)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(names) != 2 {
		t.Errorf("the log has the files %v, not two", names)
	}
}

// A request of any length, and a line that a kill cut short, hide no other
// request.
func TestOddLines(t *testing.T) {
	dir := t.TempDir()
	add := func(e accesslog.Entry) {
		t.Helper()
		f, err := accesslog.OpenFile(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Add(e), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	add(accesslog.Entry{RequestID: "first"})
	add(accesslog.Entry{RequestID: "long", Path: "/" + strings.Repeat("&", 1<<20)})
	file, err := os.OpenFile(filepath.Join(dir, "requests.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	file.WriteString(`{"request_id":"cu`)
	file.Close()
	add(accesslog.Entry{RequestID: "last"})
	for _, id := range []string{"first", "long", "last"} {
		if found, err := accesslog.Find(dir, id); err != nil || len(found) != 1 {
			t.Errorf("%s: %d entries, %v", id, len(found), err)
		}
	}
}

// A response does not wait for the slug of its tenant.
func TestSlugLater(t *testing.T) {
	token := "Bearer e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"aud":"rider","tenant_id":"ten_1"}`)) + ".c2ln"
	var later func(string)
	var got []string
	h := &accesslog.Handler{Next: http.NotFoundHandler(), Now: time.Now,
		Slug: func(_ string, then func(string)) { later = then },
		Log:  func(e accesslog.Entry) { got = append(got, e.Tenant) }}
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Header.Set("Authorization", token)
	h.ServeHTTP(httptest.NewRecorder(), r)
	if len(got) != 0 {
		t.Errorf("logged %v before the slug was read", got)
	}
	if later(""); len(got) != 1 || got[0] != "ten_1" {
		t.Errorf("without a slug: %v", got)
	}
}
