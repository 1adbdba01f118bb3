package flow_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc/pkg/oauth/flow"
)

// answers is a server without a network: it gives the answers in order, and the last one again
// and again. It notes when each request came.
type answers struct {
	t     *testing.T
	all   []string // "status body"; "dies" for none, "hangs" for none in time
	begun time.Time
	at    []int // seconds
}

// RoundTrip implements http.RoundTripper.
func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	form, _ := io.ReadAll(r.Body)
	sent, _ := url.ParseQuery(string(form))
	if sent.Get("device_code") != "secret" || sent.Get("client_id") != "svc" || r.URL.Path != "/oauth/token" ||
		sent.Get("grant_type") != "urn:ietf:params:oauth:grant-type:device_code" {
		a.t.Errorf("the request is %s %s", r.URL, form)
	}
	a.at = append(a.at, int(time.Since(a.begun).Seconds()))
	now := a.all[0]
	if len(a.all) > 1 {
		a.all = a.all[1:]
	}
	switch now {
	case "dies":
		return nil, errors.New("connection refused")
	case "hangs":
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	status, body, _ := strings.Cut(now, " ")
	code := map[string]int{"200": 200, "302": 302, "400": 400, "401": 401, "429": 429, "502": 502, "503": 503}[status]
	return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

const (
	pending = `400 {"error": "authorization_pending"}`
	slow    = `400 {"error": "slow_down"}`
	given   = `200 {"access_token": "a", "refresh_token": "r", "expires_in": 3600}`
)

// TestPoll: RFC 8628 section 3.5, and what networks and servers do to it.
func TestPoll(t *testing.T) {
	for name, c := range map[string]struct {
		interval, ends int
		answers        []string
		at             []int // when the client asks
		err            string
		noted          bool
	}{
		"given":               {5, 600, []string{pending, pending, given}, []int{5, 10, 15}, "", false},
		"no interval":         {0, 600, []string{pending, given}, []int{5, 10}, "", false},
		"a negative interval": {-3, 600, []string{pending, given}, []int{5, 10}, "", false},
		"slow_down adds up":   {5, 600, []string{slow, slow, pending, given}, []int{5, 15, 30, 45}, "", false},
		"denied": {5, 600, []string{pending, `400 {"error": "access_denied"}`}, []int{5, 10}, "access_denied",
			false},
		"expired":         {5, 600, []string{`400 {"error": "expired_token"}`}, []int{5}, "has expired", false},
		"expires here":    {5, 17, []string{pending}, []int{5, 10, 15}, "has expired", false},
		"disabled client": {5, 600, []string{`401 {"error": "invalid_client"}`}, []int{5}, "invalid_client", false},
		"a used code":     {5, 600, []string{`400 {"error": "invalid_grant"}`}, []int{5}, "invalid_grant", false},
		"dies":            {5, 600, []string{"dies", "dies", given}, []int{5, 15, 30}, "", true},
		"dies for good":   {5, 60, []string{"dies"}, []int{5, 15, 30, 50}, "has expired", true},
		"hangs":           {5, 600, []string{"hangs", given}, []int{5, 45}, "", true},
		"no JSON":         {5, 600, []string{"200 <html>Sign in to this network</html>", given}, []int{5, 15}, "", true},
		"no token":        {5, 600, []string{"200 {}", given}, []int{5, 15}, "", true},
		"elsewhere":       {5, 600, []string{"302 x", given}, []int{5, 15}, "", true},
		"too many":        {5, 600, []string{`429 {"error": "temporarily_unavailable"}`, given}, []int{5, 15}, "", true},
		"restarts": {5, 600, []string{"502 <html>", `503 {"error": "access_denied"}`, given}, []int{5, 15, 30}, "",
			true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, notes := &answers{t: t, all: c.answers, begun: time.Now()}, 0
				d := flow.Device{Code: "secret", Interval: c.interval, ExpiresIn: c.ends}
				got, err := d.Poll(t.Context(), flow.Options{BaseURL: "https://svc.example", ClientID: "svc",
					HTTPClient: &http.Client{Transport: a}}, func(error) { notes++ })
				if c.err == "" && (err != nil || got.AccessToken != "a" || got.RefreshToken != "r") ||
					c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || got.AccessToken != "") {
					t.Errorf("%+v, %v", got, err)
				}
				if !slices.Equal(a.at, c.at) || c.noted != (notes == 1) || notes > 1 {
					t.Errorf("asked after %v seconds, want %v; %d notes", a.at, c.at, notes)
				}
			})
		})
	}
}

// TestPollStops: the person may stop it at once.
func TestPollStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(7*time.Second, cancel)
		begun := time.Now()
		a := &answers{t: t, all: []string{pending}, begun: begun}
		_, err := flow.Device{Code: "secret", ExpiresIn: 600}.Poll(ctx, flow.Options{BaseURL: "https://svc.example",
			ClientID: "svc", HTTPClient: &http.Client{Transport: a}}, func(error) {})
		if !errors.Is(err, context.Canceled) || time.Since(begun) != 7*time.Second {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
	})
}
