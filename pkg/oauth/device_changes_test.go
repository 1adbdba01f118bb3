package oauth_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/oauth/tokens"
)

// betweenApprovalAndPoll lists what takes the access away before the device has its tokens.
var betweenApprovalAndPoll = []struct {
	name, code string
	change     func(f *fixture)
}{
	{"the client is disabled", "invalid", func(f *fixture) {
		testkit.Must(f.t, f.server.DisableClient(f.t.Context(), "svc", true))
	}},
	{"the membership is disabled", "invalid_grant", func(f *fixture) {
		f.set(f.actorKey(authz.Dashboard), map[string]any{"disabled": true})
	}},
	{"the membership is gone", "invalid_grant", func(f *fixture) {
		tx := f.tenant.Write()
		tx.Delete(f.actorKey(authz.Dashboard))
		testkit.Must(f.t, tx.Commit(f.t.Context()))
	}},
	{"the company is closed", "invalid_grant", func(f *fixture) { f.setFlag("disabled", true) }},
	{"a new password", "invalid_grant", func(f *fixture) {
		f.set(f.actorKey(authz.Dashboard), map[string]any{"since": "later"})
	}},
	{"the access is ended", "invalid_grant", func(f *fixture) {
		tx := f.tenant.Write()
		tokens.EndGrant(tx, f.tenant, "svc", f.ana.ID)
		testkit.Must(f.t, tx.Commit(f.t.Context()))
	}},
}

// TestDeviceReadsAgain: the grant judges client, membership and company when it issues the
// tokens, also after a conflict.
func TestDeviceReadsAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range betweenApprovalAndPoll {
		for _, late := range []bool{false, true} {
			f := newFixture(t)
			device, user := f.newDevice()
			f.newBrowser().answer(user, "ana@metro.example", "allow")
			if !late {
				tt.change(f)
			} else { // 0 reads, 1 is a conflict, 2 reads again
				testkit.Must(t, f.warm())
				f.wire.Conflicts(1)
				f.wire.Meanwhile(2, func() { f.wire.Restore(); tt.change(f) })
			}
			r := f.poll(device)
			want := tt.code
			if want == "invalid" {
				if want = "invalid_client"; late {
					want = "invalid_grant"
				}
			}
			if r.text("error") != want || late && !f.wire.Interrupted() {
				t.Errorf("%s, late %v: %d %s", tt.name, late, r.status, r.raw)
			}
			list, _, err := f.server.Tokens(t.Context(), f.tenant, "", 100)
			if err != nil || len(list) != 0 {
				t.Errorf("%s: %d tokens, %v", tt.name, len(list), err)
			}
		}
	}
}

// warm makes the process read its signing keys.
func (f *fixture) warm() error {
	_, err := f.keys.MintAccess(f.t.Context(), signing.Access{Issuer: baseURL, Subject: "x", Audience: "x", ClientID: "x",
		TenantID: "x", ID: "x", IssuedAt: f.now(), Expires: f.now().Add(time.Hour)})
	if err == nil {
		_, err = f.keys.MintID(f.t.Context(), map[string]any{"iss": baseURL}, signing.RS256)
	}
	return err
}

// TestRaceOfPolls: one device code gives one set of tokens, which stays valid.
func TestRaceOfPolls(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	device, user := f.newDevice()
	f.newBrowser().answer(user, "ana@metro.example", "allow")
	good, bad := tally(f.atOnce(20, func() *http.Request {
		return formRequest("/oauth/token", formOf("grant_type", tokens.DeviceGrant, "client_id", "svc", "device_code", device))
	}))
	if len(good) != 1 || bad["invalid_grant"] != 19 {
		t.Fatalf("%d succeeded, else %v", len(good), bad)
	}
	if !f.alive(good[0].text("access_token")) {
		t.Error("the tokens are not valid")
	}
}

// TestRaceOfAnswers: if people approve and deny at once, polls and pages agree on one answer.
func TestRaceOfAnswers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 4 {
		device, user := f.newDevice()
		var browsers [4]*browser
		var pages [4]response
		for n := range browsers {
			browsers[n] = f.newBrowser()
			pages[n] = browsers[n].signIn(browsers[n].typeCode(user), []string{"ana@metro.example", "bob@metro.example"}[n/2])
		}
		var wg sync.WaitGroup
		for n, b := range browsers {
			wg.Go(func() {
				for ends := time.Now().Add(testkit.Patience); ; {
					s := b.post(pages[n], "decision", []string{"allow", "deny"}[n%2])
					if s.status != http.StatusServiceUnavailable || time.Now().After(ends) {
						pages[n] = s
						return
					}
				}
			})
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			f.poll(device)
		}()
		wg.Wait()
		want := map[int]string{http.StatusOK: connected, http.StatusBadRequest: denied}[f.poll(device).status]
		for n, s := range pages {
			if s.page() != want {
				t.Errorf("page %d says %q, the device got %q", n, s.page(), want)
			}
		}
	}
}

// TestDeviceBudget: the issue of tokens to a device is one read and one write, and so is a
// poll. A refresh later is the same.
func TestDeviceBudget(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	device, user := f.newDevice()
	var got reply
	spent := func(what string, status int, run func() reply) {
		t.Helper()
		before := f.wire.Sent()
		if got = run(); got.status != status || f.wire.Sent()-before > 2 {
			t.Errorf("%s: %d %s in %d requests to the table", what, got.status, got.raw, f.wire.Sent()-before)
		}
	}
	testkit.Must(t, f.warm())
	spent("a poll", 400, func() reply { return f.poll(device) })
	f.newBrowser().answer(user, "ana@metro.example", "allow")
	spent("the first tokens of svc", 200, func() reply { return f.poll(device) })
	device, user = f.newDevice()
	f.newBrowser().answer(user, "ana@metro.example", "allow")
	spent("the next tokens", 200, func() reply { return f.poll(device) })
	spent("a refresh", 200, func() reply { return f.refresh(registration{id: "svc"}, got.text("refresh_token")) })
}

// TestCodesOfDevicesAreHashed: the table has neither code in clear.
func TestCodesOfDevicesAreHashed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	device, _ := f.newDevice()
	p := f.db.Platform("CODE")
	it, err := p.Get(t.Context(), p.Key("CODE", ids.Hash(device[:8]), "DEVICE"))
	if err != nil || !it.Found() || it.Expires.After(f.now().Add(time.Hour)) || contains(it, device[:8], device[9:]) {
		t.Errorf("%v %v %s", err, it.Key, it.Raw())
	}
}

func contains(it table.Item, texts ...string) bool {
	for _, text := range texts {
		if inOrder(it.PK+it.Raw(), text) {
			return true
		}
	}
	return false
}

// TestDeviceIsNoFreshSignIn: whoever presses a button elsewhere has not signed in at the
// device, whatever the age of the browser's sign-in. So what needs a fresh sign-in is refused,
// also after a refresh, and an operator's own sign-in still works.
func TestDeviceIsNoFreshSignIn(t *testing.T) {
	t.Parallel()
	s := &service{Service: apptest.With(t, apptest.Options{})}
	olga := s.Operator(t, "metro", "olga")
	r := s.Form(t, "/oauth/device_authorization", nil, "client_id", "svc", "tenant_hint", "metro", "scope",
		"openid tenant.machines:read tenant.machines:write tenant.trips:read").Must(t, 200)
	codes := apptest.JSON[map[string]any](t, r)
	newServiceBrowser(t, s.Service).answer(codes["user_code"].(string), olga.Email, "allow")
	got := apptest.JSON[granted](t, s.Form(t, "/oauth/token", nil, "grant_type", tokens.DeviceGrant, "client_id", "svc",
		"device_code", codes["device_code"].(string)).Must(t, 200))
	for range 2 {
		s.Get(t, got.Access, "/api/v1/trips").Must(t, 200)
		s.Get(t, got.Access, "/api/v1/machines").Must(t, 200)
		refused(t, s.Post(t, got.Access, "/api/v1/machines", `{"name":"Nightly","permissions":["VIEW_TRIPS"]}`), 401,
			"insufficient_user_authentication")
		got = apptest.JSON[granted](t, s.Form(t, "/oauth/token", nil, "grant_type", "refresh_token", "client_id", "svc",
			"refresh_token", got.Refresh).Must(t, 200))
	}
	s.Post(t, s.Token(t, olga), "/api/v1/machines", `{"name":"Nightly","permissions":["VIEW_TRIPS"]}`).Must(t, 201)
	info := apptest.JSON[map[string]any](t, s.Get(t, got.Access, "/oauth/userinfo").Must(t, 200))
	if info["sub"] != olga.ID {
		t.Errorf("%v", info)
	}
}
