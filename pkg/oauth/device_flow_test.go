package oauth_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/base/ids"
	"svc/pkg/oauth"
	"svc/pkg/oauth/tokens"
)

// askDevice asks for access on a device without a browser; pairs replace parameters.
func (f *fixture) askDevice(pairs ...string) reply {
	f.t.Helper()
	form := formOf("client_id", "svc", "scope", "openid tenant.trips:read", "tenant_hint", "metro")
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return f.do(formRequest("/oauth/device_authorization", form))
}

// newDevice is askDevice for a request that succeeds. It returns the codes.
func (f *fixture) newDevice(pairs ...string) (device, user string) {
	f.t.Helper()
	r := f.askDevice(pairs...)
	if r.status != http.StatusOK {
		f.t.Fatalf("device authorization: %d %s", r.status, r.raw)
	}
	return r.text("device_code"), r.text("user_code")
}

func (f *fixture) poll(device string, pairs ...string) reply {
	f.t.Helper()
	form := formOf("client_id", "svc", "grant_type", tokens.DeviceGrant, "device_code", device)
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return f.do(formRequest("/oauth/token", form))
}

// typeCode types the code of a device and follows the redirects.
func (b *browser) typeCode(code string) response {
	b.t.Helper()
	return b.follow(b.post(b.get("/oauth/device"), "user_code", code))
}

// answer types the code, signs in if necessary and presses a button of the consent page.
func (b *browser) answer(code, email, decision string) response {
	b.t.Helper()
	s := b.typeCode(code)
	if s.page() == "sign-in" {
		s = b.signIn(s, email)
	}
	if s.page() != "consent" {
		b.t.Fatalf("no consent page: %d %s", s.status, s.text())
	}
	return b.post(s, "decision", decision)
}

const (
	connected = "Your device is connected"
	denied    = "Access was denied"
)

// TestDeviceFlow: an operator lets svc on another machine act for her. The device gets tokens
// of its own, once; she ends them at the connected applications.
func TestDeviceFlow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.askDevice()
	f.expect(r, 200, "")
	device, user := r.text("device_code"), r.text("user_code")
	if r.body["expires_in"] != 600.0 || r.body["interval"] != 5.0 ||
		r.text("verification_uri") != baseURL+"/oauth/device" ||
		r.text("verification_uri_complete") != baseURL+"/oauth/device?user_code="+user || len(r.body) != 6 {
		t.Errorf("%s", r.raw)
	}
	if len(user) != 9 || user[4] != '-' || strings.Trim(user, "BCDFGHJKLMNPQRSTVWXZ-") != "" {
		t.Errorf("user code %q", user)
	}
	f.expect(f.poll(device), 400, "authorization_pending")
	b := f.newBrowser()
	s := b.typeCode(" " + strings.ToLower(strings.ReplaceAll(user, "-", " ")) + "\u2013")
	s = b.signIn(s, "ana@metro.example")
	if !inOrder(s.text(), "Metro Cabs", "svc command line", user, "see all trips of the company", "ana@metro.example") ||
		strings.Contains(s.text(), "It calls itself") {
		t.Errorf("the consent page: %s", s.text())
	}
	f.expect(f.poll(device, "x", "1"), 400, "slow_down")
	if s = b.post(s, "decision", "allow"); s.page() != connected || len(s.cookies) != 0 || s.location != "" {
		t.Errorf("%d %s, cookies %v", s.status, s.text(), s.cookies)
	}
	got := f.poll(device)
	f.expect(got, 200, "")
	if got.header.Get("Set-Cookie") != "" || got.text("scope") != "openid tenant.trips:read" || got.text("id_token") == "" {
		t.Errorf("%v %s", got.header, got.raw)
	}
	access := got.text("access_token")
	if claims, err := f.keys.Verify(t.Context(), access); err != nil || claims.Subject != f.ana.ID ||
		claims.TenantID != f.metro.ID || claims.ClientID != "svc" || !f.alive(access) {
		t.Errorf("%+v, %v", claims, err)
	}
	f.expect(f.poll(device), 400, "invalid_grant")
	svc := registration{id: "svc"}
	next := f.refresh(svc, got.text("refresh_token"))
	f.expect(next, 200, "")
	if s := b.typeCode(user); s.status != 400 || s.page() != "Connect a device" {
		t.Errorf("the code again: %d %s", s.status, s.text())
	}
	apps := b.get("/oauth/apps")
	_, csrf := apps.form(t)
	if !strings.Contains(apps.body, "svc command line") {
		t.Errorf("connected applications: %s", apps.text())
	}
	b.do(http.MethodPost, "/oauth/apps", url.Values{"csrf": {csrf}, "client": {"svc"}, "of": {f.metro.ID}})
	f.expect(f.refresh(svc, next.text("refresh_token")), 400, "invalid_grant")
	if f.alive(access) || f.alive(next.text("access_token")) {
		t.Error("the end of the access left a token valid")
	}
}

// TestDeviceOfRidersAndDrivers: what the device leaves open, the person chooses: the kind of
// account, the company. Each signs in where such accounts do.
func TestDeviceOfRidersAndDrivers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	device, user := f.newDevice("scope", "driver.trips:read")
	f.newBrowser().answer(user, "dan@home.example", "allow")
	if r := f.poll(device); r.status != 200 || !f.alive(r.text("access_token")) {
		t.Errorf("a driver: %s", r.raw)
	}
	device, user = f.newDevice("tenant_hint", "") // an operator of two companies picks one
	b := f.newBrowser()
	s := b.signIn(b.typeCode(user), "ana@metro.example")
	if s.page() != "picker" {
		t.Fatalf("no picker: %s", s.text())
	}
	s = b.follow(b.post(s, "tenant", "metro"))
	if s = b.post(s, "decision", "allow"); s.page() != connected {
		t.Fatalf("%s", s.text())
	}
	if r := f.poll(device); r.status != 200 || !f.alive(r.text("access_token")) {
		t.Errorf("an operator who picked: %s", r.raw)
	}
	_, user = f.newDevice("tenant_hint", "", "scope", "openid") // nothing says what account
	if s := f.newBrowser().typeCode(user); s.page() != "As what do you sign in?" {
		t.Errorf("no choice of the account: %s", s.text())
	}
	r := f.askDevice("scope", "rider.trips:read", "tenant_hint", "nova")
	if got := r.text("verification_uri"); got != novaURL+"/oauth/device" {
		t.Errorf("the company's own domain: %s", got)
	}
	b = newBrowser(t, novaURL, f.client.Transport)
	if s := b.answer(r.text("user_code"), "rita@home.example", "allow"); s.page() != connected {
		t.Errorf("at the company's own domain: %s", s.text())
	}
	f.expect(f.poll(r.text("device_code")), 200, "")
	elsewhere := f.newBrowser() // at the platform's address the code leads to the company's domain, to be typed there
	_, user = f.newDevice("scope", "rider.trips:read", "tenant_hint", "nova")
	s = elsewhere.typeCode(user)
	s = elsewhere.follow(elsewhere.get(s.location))
	if s.at.Host != "ride.nova.example" || s.page() != "Connect a device" ||
		!strings.Contains(s.body, `value="`+user+`"`) {
		t.Errorf("from the platform's address: %s %s", s.at, s.text())
	}
}

// TestOnlyTrustedClientsUseDevices: a stranger's client could phish, so it may not ask, nor
// may one that has changed since the platform trusted it.
func TestOnlyTrustedClientsUseDevices(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	f.expect(f.askDevice("client_id", c.ID), 400, "unauthorized_client")
	testkit.Must(t, f.server.TrustClient(t.Context(), f.tenant, f.by(), c.ID, true)) // a company's trust is not enough
	f.expect(f.askDevice("client_id", c.ID), 400, "unauthorized_client")
	testkit.Must(t, f.server.TrustClientEverywhere(t.Context(), c.ID, true))
	device, user := f.newDevice("client_id", c.ID)
	f.newBrowser().answer(user, "ana@metro.example", "allow")
	f.expect(f.poll(device), 400, "invalid_grant") // svc's own it is not
	f.expect(f.poll(device, "client_id", c.ID), 200, "")
	late, user := f.newDevice("client_id", c.ID)
	testkit.Must(t, f.server.TrustClientEverywhere(t.Context(), c.ID, false))
	if s := f.newBrowser().typeCode(user); s.status != 400 || s.page() != "Unknown application" {
		t.Errorf("the page after the end of the trust: %s", s.text())
	}
	f.expect(f.poll(late, "client_id", c.ID), 400, "unauthorized_client")
	secret := f.register(map[string]any{"token_endpoint_auth_method": "client_secret_post"})
	testkit.Must(t, f.server.TrustClientEverywhere(t.Context(), secret.id, true))
	f.expect(f.askDevice("client_id", secret.id), 401, "invalid_client")
	f.expect(f.askDevice("client_id", secret.id, "client_secret", secret.secret), 200, "")
	for _, bad := range []struct{ name, value, code string }{{"client_id", ids.New(ids.Client, f.now()), "invalid_client"},
		{"scope", "tenant.trips:read rider.trips:read", "invalid_scope"}, {"scope", "nothing", "invalid_scope"},
		{"tenant_hint", "nobody", "invalid_request"}, {"resource", "https://elsewhere.example", "invalid_target"}} {
		if r := f.askDevice(bad.name, bad.value); r.text("error") != bad.code {
			t.Errorf("%s=%s: %s", bad.name, bad.value, r.raw)
		}
	}
	testkit.Must(t, f.server.DisableClient(t.Context(), "svc", true))
	f.expect(f.askDevice(), 401, "invalid_client")
	testkit.Must(t, f.server.DisableClient(t.Context(), "svc", false))
	f.expect(f.askDevice(), 200, "")
}

// TestDevicePace: a poll that comes too early makes the interval longer and changes nothing
// else, and the first one cannot. An approval waits for no interval.
func TestDevicePace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	device, user := f.newDevice()
	for n, step := range []struct {
		after time.Duration
		want  string
	}{{0, "authorization_pending"}, {5 * time.Second, "authorization_pending"}, {4 * time.Second, "slow_down"},
		{5 * time.Second, "slow_down"}, {6 * time.Second, "authorization_pending"}, {15 * time.Second, "authorization_pending"},
		{14 * time.Second, "slow_down"}, {6 * time.Second, "authorization_pending"}} {
		f.advance(step.after)
		if r := f.poll(device); r.text("error") != step.want {
			t.Errorf("poll %d: %s, want %s", n, r.raw, step.want)
		}
	}
	for range 60 { // a device that heeds nothing still learns the answer
		f.advance(time.Second)
		f.poll(device)
	}
	f.newBrowser().answer(user, "ana@metro.example", "allow")
	f.expect(f.poll(device), 200, "")

	device, user = f.newDevice()
	b := f.newBrowser()
	if s := b.answer(user, "ana@metro.example", "deny"); s.page() != denied {
		t.Errorf("%s", s.text())
	}
	for range 2 {
		f.expect(f.poll(device), 400, "access_denied")
	}
	waits, user := f.newDevice()
	allowed, other := f.newDevice()
	b.answer(other, "", "allow")
	s := b.typeCode(user)
	f.advance(tokens.DeviceLife)
	for _, code := range []string{waits, allowed, device} {
		f.expect(f.poll(code), 400, "expired_token")
	}
	if s := b.post(s, "decision", "allow"); s.status != 400 || s.page() != "This code is no longer good" {
		t.Errorf("an answer that is late: %d %s", s.status, s.text())
	}
	f.advance(time.Hour)
	f.expect(f.poll(waits), 400, "invalid_grant")
	wrong := waits[:len(waits)-1] + "-"
	for _, bad := range []string{wrong, "", strings.ToLower(allowed), allowed[:8], allowed + "x", "BCDF-GHJ.x",
		ids.Secret()} {
		if r := f.poll(bad); r.text("error") != "invalid_grant" && bad != "" {
			t.Errorf("%q: %s", bad, r.raw)
		}
	}
}

// TestUserCodes: five wrong codes end it for a browser, and more for an address. What is no
// code is not shown back, not even in part.
func TestUserCodes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(c *oauth.Config) { c.Limits.UserCodes = 8 })
	_, user := f.newDevice()
	for link, want := range map[string]string{user: user, strings.ToLower(strings.ReplaceAll(user, "-", "")): user,
		user[:8]: "", user + "X": "", "AEIO-UAEI": "", `"><b>x`: "", strings.Repeat("B", 8000): "", "BCDF\x00GHJK": ""} {
		s := f.newBrowser().get("/oauth/device?user_code=" + url.QueryEscape(link))
		if s.status != 200 || !strings.Contains(s.body, `value="`+want+`" aria`) {
			t.Errorf("%q: %d %s", link, s.status, s.body)
		}
	}
	b, other := f.newBrowser(), f.newBrowser()
	for n := range 5 {
		if s := b.typeCode(fmt.Sprintf("BBBB-BBB%c", "BCDFG"[n])); s.status != 400 || s.location != "" {
			t.Errorf("wrong code %d: %d %s", n, s.status, s.text())
		}
	}
	if s := b.typeCode(user); s.status != 429 || s.header.Get("Retry-After") == "" || strings.Contains(s.body, user) {
		t.Errorf("the right code after five wrong ones: %d %s", s.status, s.text())
	}
	for range 3 { // a right code in between forgives none of the wrong ones
		if s := other.typeCode(user); s.page() != "sign-in" {
			t.Errorf("another browser: %s", s.text())
		}
		other.typeCode("WRONG")
	}
	if s := f.newBrowser().typeCode(user); s.status != 429 {
		t.Errorf("a new browser, after eight wrong codes of the address: %d", s.status)
	}
	f.comeFrom("203.0.113.9")
	if s := f.newBrowser().typeCode(user); s.page() != "sign-in" {
		t.Errorf("from another address: %d %s", s.status, s.text())
	}
	f.advance(2 * time.Hour)
	if s := b.typeCode(user); s.status != 400 {
		t.Errorf("two hours later: %d", s.status)
	}
}

// TestDeviceLinksConfirmNothing: whoever is sent a link must type or press, and no address of
// one browser is good in another.
func TestDeviceLinksConfirmNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.askDevice()
	device, user := r.text("device_code"), r.text("user_code")
	victim, attacker := f.newBrowser(), f.newBrowser()
	victim.obtainCode(authorization(f.storeClient(nil)), "ana@metro.example") // is signed in
	victim.get(r.text("verification_uri_complete"))
	page := attacker.get("/oauth/device")
	typed := attacker.post(page, "user_code", user)
	mine, err := typed.at.Parse(typed.location)
	testkit.Must(t, err)
	if s := victim.follow(victim.get(mine.String())); s.page() != "Connect a device" || s.at.Path != "/oauth/device" {
		t.Errorf("the attacker's address in another browser: %s", s.text())
	}
	q := mine.Query()
	q.Del("typed")
	if s := victim.follow(victim.get("/oauth/authorize?" + q.Encode())); s.page() != "Connect a device" {
		t.Errorf("without the proof: %s", s.text())
	}
	for _, decision := range []string{"allow", "deny"} { // forged forms
		forged := formOf("decision", decision, "csrf", strings.Repeat("a", 86))
		victim.do(http.MethodPost, "/oauth/consent?"+mine.RawQuery, forged)
		s := victim.typeCode(user)
		victim.do(http.MethodPost, "/oauth/consent?"+s.at.RawQuery, forged)
	}
	f.advance(6 * time.Second)
	f.expect(f.poll(device), 400, "authorization_pending")
	if s := victim.do(http.MethodPost, "/oauth/device", formOf("user_code", user)); s.location != "device" {
		t.Errorf("the form of another site: %d %s", s.status, s.location)
	}
	other, _ := f.newDevice() // the form shows one device and answers no other
	s := victim.typeCode(user)
	victim.post(s, "decision", "allow")
	f.expect(f.poll(other), 400, "authorization_pending")
	f.expect(f.poll(device), 200, "")
	f.expect(f.postForm("/oauth/token", "grant_type", "authorization_code", "client_id", "svc", "code", device,
		"redirect_uri", "http://127.0.0.1/callback", "code_verifier", verifier), 400, "invalid_grant")
	q = authorizationOf("svc", "http://127.0.0.1:4711/callback", "tenant.trips:read") // loopback and browser
	if s := victim.authorize(q); s.page() != "consent" || !strings.Contains(s.text(), "of this service itself") {
		t.Errorf("a consent to a device is none to a program: %s", s.text())
	}
	if got := victim.pass(victim.authorize(q), ""); got.answer.Get("code") == "" {
		t.Errorf("svc by loopback: %s", got.text())
	}
}
