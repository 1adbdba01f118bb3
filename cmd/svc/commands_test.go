package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/local/demo"
	"svc/pkg/local/folder"
)

// world is a running `svc dev`, and the commands that find it by its data folder.
type world struct {
	*testing.T
	data string
	base string
}

// lines is an output that may be read while it is written.
type lines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.String()
}

// opened returns the table of the running service.
func (w *world) opened() *table.DB {
	w.Helper()
	running, err := folder.Find(w.Context(), w.data)
	testkit.Must(w, err)
	db, err := table.Open(w.Context(), table.Options{Table: running.Table, Endpoint: running.Endpoint})
	testkit.Must(w, err)
	return db
}

// handleOf returns the handle of the tenant with the slug.
func (w *world) handleOf(db *table.DB, slug string) table.Tenant {
	w.Helper()
	n, err := tenant.Store{DB: db}.BySlug(w.Context(), slug)
	testkit.Must(w, err)
	return db.Tenant(n.ID)
}

// deployed returns a world whose commands treat the local table as the table of a
// deployed service. They ask for no confirmation.
func (w *world) deployed() *world {
	w.Helper()
	running, err := folder.Find(w.Context(), w.data)
	if err != nil {
		w.Fatal(err)
	}
	for name, value := range map[string]string{"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "local",
		"AWS_SECRET_ACCESS_KEY": "local", "TABLE_NAME": running.Table, "AWS_ENDPOINT_URL_DYNAMODB": running.Endpoint,
		"AWS_ENDPOINT_URL_DYNAMODB_STREAMS": running.Endpoint} {
		w.Setenv(name, value)
	}
	return &world{T: w.T, base: w.base}
}

// run runs a command and returns its output and exit code.
func (w *world) run(args ...string) (out, errs string, code int) {
	var o, e bytes.Buffer
	if w.data != "" {
		args = append(args, "--data", w.data)
	}
	code = newCLI(&o, &e).Run(w.Context(), args)
	return o.String(), e.String(), code
}

// ok runs a command that must succeed.
func (w *world) ok(args ...string) string {
	w.Helper()
	out, errs, code := w.run(args...)
	if code != 0 {
		w.Fatalf("svc %s: exit code %d: %s", strings.Join(args, " "), code, errs)
	}
	return out
}

// read runs a command with --json and reads its output.
func read[T any](w *world, args ...string) (v T) {
	w.Helper()
	text := w.ok(append(args, "--json")...)
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&v); err != nil {
		w.Fatalf("svc %s: %v: %s", strings.Join(args, " "), err, text)
	}
	if _, err := dec.Token(); err != io.EOF {
		w.Fatalf("svc %s: more than one value", strings.Join(args, " "))
	}
	return v
}

func (w *world) token(audience, email string) string {
	w.Helper()
	return strings.TrimSpace(w.ok("token", "get", "--tenant", "metro", "--audience", audience, "--email", email,
		"--password", demo.Password))
}

// get calls the API and returns the status and the error code.
func (w *world) get(path, token string) (int, string) {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.base+path, nil)
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var body struct{ Error string }
	_ = json.NewDecoder(res.Body).Decode(&body) // if the body is not JSON, the error code is ""
	return res.StatusCode, body.Error
}

func (w *world) expect(path, token string, status int, word string) {
	w.Helper()
	if gotStatus, gotWord := w.get(path, token); gotStatus != status || gotWord != word {
		w.Errorf("GET %s: %d %q, want %d %q", path, gotStatus, gotWord, status, word)
	}
}

// A platform operator's change takes effect with the next request.
func TestChangesAreLive(t *testing.T) {
	t.Parallel()
	w := start(t)
	operator, rider := w.token("dashboard", "operator@metro.example"), w.token("rider", "rider1@metro.example")
	w.expect("/api/v1/trips", operator, 200, "")
	w.ok("member", "revoke", "metro", "operator@metro.example", "VIEW_TRIPS")
	w.expect("/api/v1/trips", operator, 403, "forbidden")
	w.expect("/api/v1/drivers", operator, 200, "")
	w.ok("member", "grant", "metro", "operator@metro.example", "VIEW_TRIPS")
	w.expect("/api/v1/trips", operator, 200, "")
	w.ok("member", "disable", "metro", "operator@metro.example")
	w.expect("/api/v1/trips", operator, 401, "unauthorized")
	w.ok("member", "disable", "metro", "operator@metro.example", "--undo")
	w.expect("/api/v1/trips", operator, 401, "unauthorized")
	operator = w.token("dashboard", "operator@metro.example")
	w.expect("/api/v1/trips", operator, 200, "")

	w.expect("/api/v1/me/orders", rider, 200, "")
	w.ok("tenant", "set", "metro", "--flag", "deliveryEnabled=false")
	w.expect("/api/v1/me/orders", rider, 403, "feature_disabled")
	w.expect("/api/v1/orders", operator, 403, "feature_disabled")
	w.ok("tenant", "set", "metro", "--flag", "deliveryEnabled=true", "--flag", "taxiEnabled=false")
	w.expect("/api/v1/me/orders", rider, 200, "")
	w.ok("tenant", "set", "metro", "--disable")
	w.expect("/api/v1/me", rider, 401, "unauthorized")
	w.ok("tenant", "set", "metro", "--disable=false")
	w.expect("/api/v1/me", rider, 200, "")
	w.ok("rider", "edit", "metro", "rider1@metro.example", "--disable")
	w.expect("/api/v1/me", rider, 401, "unauthorized")
	w.ok("rider", "edit", "metro", "rider1@metro.example", "--disable=false")

	type token struct{ ID, Audience string }
	var ended []string
	for _, one := range read[[]token](w, "token", "list", "metro") {
		if one.Audience == "dashboard" {
			ended = append(ended, one.ID)
		}
	}
	for _, id := range ended {
		w.ok("token", "revoke", id)
	}
	w.expect("/api/v1/trips", operator, 401, "unauthorized")
	w.expect("/api/v1/me", rider, 200, "")
	for _, one := range read[[]token](w, "token", "list", "metro") {
		if one.Audience == "dashboard" {
			t.Errorf("%s is still listed", one.ID)
		}
	}

	type entry struct{ Who, What string }
	got := map[string]int{}
	for _, e := range read[[]entry](w, "audit", "metro") {
		if strings.HasPrefix(e.Who, "svc") && e.Who != "svc:demo" {
			got[e.What]++
		}
	}
	want := map[string]int{"member.revoke": 1, "member.grant": 1, "member.disable": 2, "tenant.set": 4, "customer.edit": 2,
		"token.revoke": len(ended)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Everything that has no endpoint is created, changed and listed.
func TestThings(t *testing.T) {
	t.Parallel()
	w := start(t, "--no-demo")
	makeTenant(w)
	drv, rdr := makePeople(w)
	makeTrade(w, drv, rdr)
	thingsAreShown(w)
	changeKeys(w)
	w.ok("person", "link", "boss@port.example")
	w.ok("person", "link", "r@port.example", "--audience", "rider", "--tenant", "port")
	for _, what := range []string{"keys.rotate", "keys.revoke", "person.link"} {
		if out := w.ok("audit", "port"); !strings.Contains(out, what) {
			t.Errorf("the audit log does not show %s: %s", what, out)
		}
	}
}

// made is the output of a command that creates something.
type made struct{ ID, Email, Link, Status, Name string }

// makeTenant makes the tenant port, with branding and settings.
func makeTenant(w *world) {
	w.Helper()
	w.ok("tenant", "create", "port", "--name", "Port", "--currency", "EUR", "--timezone", "Europe/Lisbon", "--flag",
		"deliveryEnabled=true", "--shards", "3")
	w.ok("tenant", "brand", "port", "primaryColor=#0A0", "appName=Port & Co")
	w.ok("tenant", "brand", "port", "appName=")
	if b := read[map[string]*string](w, "tenant", "brand",
		"port"); b["appName"] != nil || b["primaryColor"] == nil || *b["primaryColor"] != "#0A0" {
		w.Errorf("branding: %v", b)
	}
	w.ok("tenant", "settings", "port", "pricing.cancellationFee=4.5", "payments.cash=false",
		"dispatch.mode=open")
	if out := strings.Join(strings.Fields(w.ok("tenant", "settings", "port")), " "); !strings.Contains(out,
		"pricing.cancellationFee 4.5") || !strings.Contains(out, "payments.cash") {
		w.Errorf("settings: %s", out)
	}
}

// makePeople creates a member, a driver and a rider in port, and changes two
// of them.
func makePeople(w *world) (drv, rdr made) {
	w.Helper()
	boss := read[made](w, "member", "add", "port", "boss@port.example", "--all", "--first", "Bo")
	if !strings.HasPrefix(boss.Link, w.base+"/oauth/password?audience=dashboard&link=") {
		w.Errorf("link: %+v", boss)
	}
	drv = read[made](w, "driver", "add", "port", "d@port.example", "--first", "Dee", "--plate", "P-1", "--password",
		demo.Password)
	rdr = read[made](w, "rider", "add", "port", "r@port.example", "--first", "Ria", "--password", demo.Password)
	w.ok("driver", "edit", "port", "d@port.example", "--status", "BUSY", "--lat", "38.7", "--lng=-9.1", "--email",
		"dee@port.example")
	if out := w.ok("driver", "list", "port", "--status", "BUSY"); !strings.Contains(out, "dee@port.example") {
		w.Errorf("drivers: %s", out)
	}
	was := locatedAt(w, "port")
	if w.ok("driver", "edit", "port", "dee@port.example", "--lng=-9.2"); locatedAt(w, "port") <= was {
		w.Errorf("the position changed, and is of %s still", was)
	}
	w.ok("rider", "edit", "port", rdr.ID, "--phone", "+351 21 555 0000")
	return drv, rdr
}

// locatedAt returns when the position of the tenant's only driver was reported.
func locatedAt(w *world, slug string) string {
	w.Helper()
	drivers := read[[]struct{ LocationUpdatedAt string }](w, "driver", "list", slug)
	if len(drivers) != 1 {
		w.Fatalf("%d drivers", len(drivers))
	}
	return drivers[0].LocationUpdatedAt
}

// makeTrade creates a service, a zone, a business with an order, and a card in
// port, and changes each.
func makeTrade(w *world, drv, rdr made) {
	w.Helper()
	svt := read[made](w, "service", "add", "port", "Cab", "--base", "3", "--commission", "0.15")
	w.ok("service", "set", "port", svt.ID, "--active=false")
	zone := read[made](w, "zone", "add", "port", "Old Port", "--box=-9.16,38.7,-9.12,38.72")
	w.ok("zone", "set", "port", zone.ID, "--priority", "7")
	biz := read[made](w, "business", "add", "port", "Padaria", "--category", "bakery", "--address", "Rua 1", "--lat",
		"38.7", "--lng=-9.1")
	order := read[made](w, "order", "add", "port", biz.ID, "r@port.example", "--item", "2 Pastel de nata 1.30", "--item",
		"1 Galão 2", "--fee", "1.5", "--to", "Rua 2")
	if got := read[made](w, "order", "set", "port", order.ID, "PICKED_UP", "--driver", drv.ID); got.Status != "PICKED_UP" {
		w.Errorf("order: %+v", got)
	}
	card := read[made](w, "payment", "add", "port", "r@port.example", "--brand", "visa", "--last4", "4242", "--exp",
		"04/2031")
	w.ok("payment", "set", "port", rdr.ID, card.ID, "--exp", "05/2032")
	w.ok("business", "set", "port", biz.ID, "--active=false")
}

// thingsAreShown checks that every list shows what was created, in both
// formats, and that the audit log has one entry for each change.
func thingsAreShown(w *world) {
	w.Helper()
	for what, args := range map[string][]string{
		"Port": {"tenant", "list"}, "Europe/Lisbon": {"tenant", "show", "PORT"}, "boss@port.example": {"member", "list",
			"port"}, "Ria": {"rider", "list", "port"},
		"0.15": {"service", "list", "port", "--wide"}, "Old Port": {"zone", "list", "port"}, "Padaria": {"business", "list",
			"port"}, "6.1": {"order", "list", "port"},
		"05/2032": {"payment", "list", "port", "r@port.example"}, "ES256": {"keys",
			"list"}, "receipts": {"rebuild"}, "order.set": {"audit", "port"},
	} {
		if out := w.ok(args...); !strings.Contains(out, what) {
			w.Errorf("svc %s does not show %s: %s", strings.Join(args, " "), what, out)
		}
		if text := w.ok(append(args, "--json")...); !json.Valid([]byte(text)) {
			w.Errorf("svc %s --json: %s", strings.Join(args, " "), text)
		}
	}
	if n := len(read[[]map[string]any](w, "audit", "port")); n != 20 {
		w.Errorf("%d audit entries, one for each change", n)
	}
}

// changeKeys rotates the keys that sign tokens and revokes one.
func changeKeys(w *world) {
	w.Helper()
	type key struct{ KID, State string }
	before := read[[]key](w, "keys", "list")
	w.ok("keys", "rotate")
	if after := read[[]key](w, "keys", "revoke", before[0].KID); after[0].State == "signing" {
		w.Errorf("keys: %+v", after)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	w := start(t, "--no-demo")
	w.ok("tenant", "create", "port")
	tests := []struct {
		name string
		args string
		code int
		err  string
	}{
		{"unknown tenant", "tenant show nope", 1, `there is no tenant "nope"`},
		{"slug taken", "tenant create port", 1, "Another tenant has this slug"},
		{"bad slug", "tenant create Port!", 1, "slug:"},
		{"no such flag of a tenant", "tenant set port --flag flying=true", 2, "taxiEnabled and deliveryEnabled"},
		{"flag without a value", "tenant set port --flag taxiEnabled", 2, "taxiEnabled=true"},
		{"retention out of bounds", "tenant set port --retain audit=30", 2, "90 to 3650 days, or keep"},
		{"nothing to set", "tenant set port", 2, "nothing to change"},
		{"unknown group", "tenant fly", 2, "unknown command"},
		{"a word too few", "member revoke port a@port.example", 2, "expected SLUG EMAIL PERMISSION…"},
		{"unknown person", "member revoke port a@port.example VIEW_TRIPS", 1, `there is no operator "a@port.example"`},
		{"unknown permission", "member add port a@port.example --permission FLY", 2, "no permission FLY"},
		{"short password", "rider add port r@port.example --first R --password short", 2, "at least"},
		{"no mail address", "driver add port nobody --first N", 1, "mail address"},
		{"unknown driver", "driver edit port d@port.example --status ONLINE", 1, "there is no driver"},
		{"no area", "zone add port Z", 2, "--area is missing"},
		{"bad box", "zone add port Z --box 1,2,3", 2, "west,south,east,north"},
		{"bad item", "order add port biz_x r@port.example --item tea", 1, "there is no rider"},
		{"unknown token", "token revoke tok_x", 1, "there is no token"},
		{"a token in place of its id", "token revoke eyJhbGciOiJFUzI1NiJ9.e30.c2ln", 1, "not the token"},
		{"no password", "token get --tenant port --email x@port.example", 2, "password"},
		{"wrong password", "token get --tenant port --audience rider --email x@port.example --password nonsense-1", 1, ""},
		{"unknown audience", "token get --audience pilot --email x@port.example --password nonsense-1", 2, "pilot"},
		{"link for nobody", "person link x@port.example", 1, "there is no enabled account"},
		{"rider without tenant", "person link x@port.example --audience rider", 2, "--tenant"},
		{"unknown key", "keys revoke key_x", 1, "there is no key"},
		{"unknown post", "feedback status pst_x PLANNED", 1, "there is no post"},
		{"setting that is none", "tenant settings port pricing.tip=1", 2, "there is no setting pricing.tip"},
		{"setting of another type", "tenant settings port payments.cash=5", 2, "payments.cash=5: expected true or false"},
		{"branding field that is none", "tenant brand port color=#fff", 1, "no such field"},
		{"wrong colour", "tenant brand port primaryColor=red", 1, "#RRGGBB"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			out, errs, code := w.run(strings.Fields(tc.args)...)
			if code != tc.code || !strings.Contains(errs, tc.err) || strings.Count(errs, "\n") != 1 || out != "" {
				t.Errorf("exit code %d, %q, %q", code, errs, out)
			}
			if strings.Contains(errs, "eyJ") {
				t.Errorf("a token is printed: %q", errs)
			}
		})
	}
}

// If no service runs, a command says so. If the environment names a table, the
// command uses the table without a running service.
func TestWithoutService(t *testing.T) {
	t.Setenv("TABLE_NAME", "")
	var out, errs bytes.Buffer
	if code := newCLI(&out, &errs).Run(t.Context(), []string{"tenant", "list", "--data",
		t.TempDir()}); code != 1 || !strings.Contains(errs.String(), "svc dev") {
		t.Errorf("%d %s", code, errs.String())
	}
	w := start(t, "--no-demo")
	var running struct{ Endpoint, Table string }
	text, err := os.ReadFile(w.data + "/dev.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &running); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TABLE_NAME", running.Table)
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", running.Endpoint)
	w.ok("tenant", "create", "port")
	out.Reset()
	errs.Reset()
	if code := newCLI(&out, &errs).Run(t.Context(), []string{"tenant",
		"list"}); code != 0 || !strings.Contains(out.String(), "port") {
		t.Errorf("%d %s %s", code, out.String(), errs.String())
	}
	for what, args := range map[string][]string{"BASE_URL": {"person", "link", "x@port.example"},
		"queue is not known": {"dlq", "list", "settlement"}, "is not known": {"dlq", "drop", "settlement", "--all"}} {
		errs.Reset()
		if code := newCLI(&out, &errs).Run(t.Context(), args); code != 1 || !strings.Contains(errs.String(), what) {
			t.Errorf("%v: %d %s", args, code, errs.String())
		}
	}
}
