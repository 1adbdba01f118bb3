package browser

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"svc/internal/test/browsing"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/person"
	"svc/pkg/domain/tenant"
	"svc/pkg/local/demo"
	"svc/pkg/oauth"
	"svc/pkg/oauth/flow"
)

const words = "correct horse battery"

// keyRing contains the signing keys of every stand.
var keyRing testkit.KeyRing

// stand is a server with accounts, and a client that displays the response it
// received.
type stand struct {
	server *httptest.Server
	client *httptest.Server
	db     *table.DB
	metro  tenant.Tenant
	recorder
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{db: testkit.Table(t)}
	var handler http.Handler
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.server.Close)
	s.client = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/on" { // redirects on to another origin
			http.Redirect(w, r, strings.Replace(s.client.URL, "127.0.0.1", "localhost", 1)+"/end?"+r.URL.RawQuery,
				http.StatusFound)
			return
		}
		_, _ = w.Write([]byte("<!doctype html><title>client</title><p id=told>" + r.URL.Query().Get("error") + "</p>"))
	}))
	t.Cleanup(s.client.Close)
	keys := keyRing.SigningKeys(t, s.db, signing.Options{Issuer: s.server.URL})
	handler = s.over(oauth.New(oauth.Config{BaseURL: s.server.URL, MailTime: -1,
		Mail: func(context.Context, string, string, string) error { return nil }}, s.db, keys, nil).Handler())
	s.people(t)
	return s
}

func (s *stand) people(t *testing.T) {
	t.Helper()
	ctx, by, hash := t.Context(), audit.By{Who: "test", At: time.Now()}, testkit.PasswordHash(words)
	tenants, people := tenant.Store{DB: s.db}, person.Store{DB: s.db}
	ana, err := people.Create(ctx, by, person.Person{Email: "ana@metro.example", FirstName: "Ana"}, hash)
	testkit.Must(t, err)
	for _, slug := range []string{"metro", "harbor", "alpine"} {
		name, look := demo.Look(slug)
		if slug == "alpine" { // a name that wraps, and no logo
			name, look = "Alpine Shuttle & Transfer", map[string]string{"primaryColor": "#777", "secondaryColor": "#0a2540"}
		}
		one, err := tenants.Create(ctx, by, tenant.Tenant{Slug: slug, Name: name, TaxiEnabled: true, DeliveryEnabled: true})
		testkit.Must(t, err)
		in := s.db.Tenant(one.ID)
		if slug == "metro" {
			s.metro = one
		}
		_, err = people.Join(ctx, in, by, ana.ID, "owner", authz.Permissions())
		testkit.Must(t, err)
		s.paint(t, in, look)
	}
	_, err = customer.Store.Create(ctx, s.db.Tenant(s.metro.ID), by,
		customer.Record{Customer: customer.Customer{FirstName: "Rita", Email: "rita@home.example"}}, hash)
	testkit.Must(t, err)
}

// paint changes a tenant's branding.
func (s *stand) paint(t *testing.T, in table.Tenant, values map[string]string) {
	t.Helper()
	patch, err := branding.ParsePatch(values)
	testkit.Must(t, err)
	_, err = branding.Change(t.Context(), in, audit.By{Who: "test", At: time.Now()}, patch,
		func(ctx context.Context, tx *table.Tx, _ branding.Branding) error { return tx.Commit(ctx) })
	testkit.Must(t, err)
}

// register returns the id of a public client of the audience.
func (s *stand) register(t *testing.T, audience string) string {
	t.Helper()
	c, err := flow.Register(t.Context(),
		flow.Options{BaseURL: s.server.URL, Audience: audience, RedirectURI: s.client.URL + "/cb",
			ClientName: "Fleet Planner"})
	testkit.Must(t, err)
	return c.ID
}

var launched struct {
	sync.Once
	ctx  context.Context
	ends []context.CancelFunc
}

func TestMain(m *testing.M) {
	code := m.Run()
	for i := len(launched.ends) - 1; i >= 0; i-- {
		launched.ends[i]()
	}
	os.Exit(code)
}

// launch starts the browser that the tests share.
func launch(t *testing.T) context.Context {
	t.Helper()
	options := browsing.Options(t)
	launched.Do(func() {
		allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
		browser, endBrowser := chromedp.NewContext(allocator)
		if err := chromedp.Do(browser); err != nil {
			t.Fatalf("starting the browser: %v", err)
		}
		launched.ctx, launched.ends = browser, []context.CancelFunc{end, endBrowser}
	})
	if launched.ctx == nil {
		t.Fatal("the browser did not start")
	}
	return launched.ctx
}

// look describes how a page is displayed.
type look struct {
	device        string
	width, height int64
	scale         float64
	scheme        string // "light" or "dark"
}

var (
	phone   = look{device: "phone", width: 390, height: 844, scale: 2}
	desktop = look{device: "desktop", width: 1280, height: 800, scale: 1}
	narrow  = look{device: "narrow", width: 320, height: 568, scale: 1} // WCAG 2.2, 1.4.10
)

func (l look) in(scheme string) look {
	l.scheme = scheme
	return l
}

// tab opens a tab without cookies.
func tab(t *testing.T, l look) context.Context {
	t.Helper()
	ctx, end := chromedp.NewContext(launch(t), chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	run(t, ctx) // opens the tab, whose life must not be that of one action
	ctx, stop := context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(stop)
	run(t, ctx, showAs(l))
	return ctx
}

// showAs changes how the tab displays its page.
func showAs(l look) step {
	return chromedp.Steps(
		command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: l.width,
			Height: l.height, DeviceScaleFactor: l.scale, Mobile: l.width < 600}),
		command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}}))
}

// step is an action without a result.
type step = chromedp.Action[chromedp.Void]

func run(t *testing.T, ctx context.Context, steps ...step) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// get runs an action and returns its value.
func get[T any](t *testing.T, ctx context.Context, action chromedp.Action[T]) T {
	t.Helper()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// command is a command of the browser's protocol.
func command[P any](c cdp.Command[P, cdp.Empty], params P) step {
	return chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		_, err := cdp.Call(ctx, to, c, params)
		return err
	})
}
