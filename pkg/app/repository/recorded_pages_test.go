package repository_test

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/tenant"
	"svc/pkg/local/demo"
	"svc/pkg/oauth/flow"
)

// visitPages does what people do at the authorization server besides the flow
// that the end-to-end suite drives. The operator ends the access of an
// application and signs out. Somebody of each audience sets a password through a
// mailed link. A page is opened at a host that is not the platform's.
func (r *recording) visitPages(t *testing.T, base string, transport http.RoundTripper) {
	t.Helper()
	client := &http.Client{Transport: transport}
	operator := newVisitor(t, base, client)
	apps := base + "/oauth/apps"
	operator.submit(apps, "email", "operator@metro.example", "password", demo.Password)
	before := strings.Count(operator.get(apps).Body, "<section")
	if operator.submit(apps); before == 0 || strings.Count(operator.get(apps).Body, "<section") != before-1 {
		t.Errorf("of %d connected applications, none or several ended", before)
	}
	operator.submit(base + "/oauth/logout")
	t.Run("links", func(t *testing.T) {
		for audience, email := range map[authz.Audience]string{authz.Dashboard: "operator@metro.example",
			authz.Rider: "rider1@metro.example", authz.Driver: "driver1@metro.example"} {
			t.Run(string(audience), func(t *testing.T) {
				v := newVisitor(t, base, client)
				v.submit(base+"/oauth/forgot?tenant_hint=metro&audience="+string(audience), "email", email)
				r.mu.Lock()
				link := r.mailed[email]
				r.mu.Unlock()
				v.submit(link, "password", "a new long password", "again", "a new long password")
				if page := v.get(link); page.StatusCode != http.StatusBadRequest {
					t.Errorf("the link is not used up: %d", page.StatusCode)
				}
			})
		}
	})
	t.Run("sign-ups", func(t *testing.T) {
		for _, email := range []string{"newcomer@metro.example", addedRider} {
			t.Run(email, func(t *testing.T) {
				v := newVisitor(t, base, client)
				v.submit(base+"/oauth/signup?tenant_hint=metro&audience=rider", "email", email)
				r.mu.Lock()
				link := r.mailed[email]
				r.mu.Unlock()
				v.submit(link, "given", "Nina", "password", "a new long password", "again", "a new long password")
				if page := v.get(apps + "?tenant_hint=metro&audience=rider"); !strings.Contains(page.Body, email) {
					t.Errorf("not signed in: %d", page.StatusCode)
				}
			})
		}
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, apps, nil)
	testkit.Must(t, err)
	req.Host = "ride.elsewhere.example"
	res, err := client.Do(req)
	testkit.Must(t, err)
	if _ = res.Body.Close(); res.StatusCode != http.StatusOK {
		t.Errorf("at another host: %d", res.StatusCode)
	}
}

const addedRider = "added@metro.example"

// letRidersSignUp lets riders sign up at metro, and adds a rider who has no password.
func letRidersSignUp(t *testing.T, db *table.DB) {
	t.Helper()
	by, store := audit.By{Who: "svc:test", At: time.Now()}, tenant.Store{DB: db}
	metro, err := store.BySlug(t.Context(), "metro")
	testkit.Must(t, err)
	_, err = store.Change(t.Context(), metro.ID, by, func(n *tenant.Tenant) error {
		n.RiderSignUp = tenant.SignUpOpen
		return nil
	})
	testkit.Must(t, err)
	_, err = customer.Store.Create(t.Context(), db.Tenant(metro.ID), by, customer.Record{Customer: customer.Customer{
		FirstName: "Ada", Email: addedRider}}, "")
	testkit.Must(t, err)
}

// mail keeps the link of a message.
func (r *recording) mail(_ context.Context, to, _, text string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mailed[to] = mailedLink.FindString(text)
	r.secrets[r.mailed[to]] = "link"
	return nil
}

var mailedLink = regexp.MustCompile(`http\S+`)

func newVisitor(t *testing.T, base string, client *http.Client) visitor {
	return visitor{t, flow.NewBrowser(flow.Options{BaseURL: base, HTTPClient: client})}
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

// submit opens a page, sets the names and values in its form, and sends it.
func (v visitor) submit(address string, fields ...string) {
	v.Helper()
	values := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
	}
	page, at, err := v.browser.Fill(v.Context(), address, values)
	testkit.Must(v.T, err)
	if page.StatusCode >= http.StatusBadRequest {
		v.Errorf("%s: %d %s", at.Path, page.StatusCode, page.Body)
	}
}
