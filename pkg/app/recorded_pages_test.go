package app_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/local/testkit"
	"svc/pkg/oauth"
	"svc/pkg/oauth/flow"
)

// visitPages does what people do at the authorization server besides the flow
// that the end-to-end suite drives. Somebody of each audience sets a password
// through a one-time link. The operator lists the connected applications. The
// same page is opened at a host that is not the platform's.
func visitPages(t *testing.T, db *table.DB, base string, transport http.RoundTripper) {
	t.Helper()
	const secret = "a new long password"
	metro, err := tenant.Store{DB: db}.BySlug(t.Context(), "metro")
	testkit.Must(t, err)
	client := &http.Client{Transport: transport}
	v := visitor{t, flow.NewBrowser(flow.Options{BaseURL: base, HTTPClient: client})}
	for audience, email := range map[authz.Audience]string{authz.Dashboard: "operator@metro.example",
		authz.Rider: "rider1@metro.example", authz.Driver: "driver1@metro.example"} {
		link, err := oauth.NewLink(t.Context(), db, base, audience, metro.ID, email, time.Now())
		testkit.Must(t, err)
		v.submit(link, "password", secret, "again", secret)
		if _, err := oauth.NewLink(t.Context(), db, base, audience, metro.ID, email, time.Now()); err != nil {
			t.Errorf("after the link of %s: %v", email, err)
		}
		if page := v.get(link); page.StatusCode != http.StatusBadRequest {
			t.Errorf("the link of %s is not used up: %d", email, page.StatusCode)
		}
	}
	apps := base + "/oauth/apps"
	v.submit(apps, "email", "operator@metro.example", "password", secret)
	if page := v.get(apps); page.StatusCode != http.StatusOK || !strings.Contains(page.Body, "operator@metro.example") {
		t.Errorf("connected applications: %d %s", page.StatusCode, page.Body)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, apps, nil)
	testkit.Must(t, err)
	req.Host = "ride.elsewhere.example"
	res, err := client.Do(req)
	testkit.Must(t, err)
	if _ = res.Body.Close(); res.StatusCode != http.StatusOK {
		t.Errorf("at another host: %d", res.StatusCode)
	}
}

// visitor is somebody in a browser.
type visitor struct {
	*testing.T
	browser *flow.Browser
}

func (v visitor) get(address string) flow.Response {
	v.Helper()
	page, _, err := v.browser.Get(v.Context(), address)
	testkit.Must(v.T, err)
	return page
}

var (
	formAction  = regexp.MustCompile(`<form[^>]* action="([^"]*)"`)
	hiddenInput = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)
)

// submit opens a page, fills its form with the names and values, and sends it.
func (v visitor) submit(address string, fields ...string) {
	v.Helper()
	page := v.get(address)
	to, err := url.Parse(address)
	testkit.Must(v.T, err)
	if action := formAction.FindStringSubmatch(page.Body); action != nil {
		to, err = to.Parse(html.UnescapeString(action[1]))
		testkit.Must(v.T, err)
	}
	values := url.Values{}
	for _, input := range hiddenInput.FindAllStringSubmatch(page.Body, -1) {
		values.Set(input[1], html.UnescapeString(input[2]))
	}
	for i := 0; i < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
	}
	page, _, err = v.browser.Post(v.Context(), to.String(), values)
	testkit.Must(v.T, err)
	if page.StatusCode >= http.StatusBadRequest {
		v.Errorf("%s: %d %s", to.Path, page.StatusCode, page.Body)
	}
}
