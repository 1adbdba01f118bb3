package oauth_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/oauth"
	"svc/pkg/oauth/clients"
)

// registrationCase is a change to a valid registration, nil for a removed
// member, and the expected error.
type registrationCase struct {
	change map[string]any
	want   string // "" is 201
}

// Errors of RFC 7591 section 3.2.2.
const (
	badURI      = "invalid_redirect_uri"
	badMetadata = "invalid_client_metadata"
)

// uris returns the change that sets the redirect URIs.
func uris(list ...string) map[string]any { return map[string]any{"redirect_uris": list} }

// native returns the change to a native client with one redirect URI.
func native(uri string) map[string]any {
	return map[string]any{"redirect_uris": []string{uri}, "application_type": "native"}
}

// with returns the change of members: pairs of names and values.
func with(pairs ...any) map[string]any {
	change := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		change[pairs[i].(string)] = pairs[i+1]
	}
	return change
}

// registeredAddresses are registrations with other redirect URIs.
var registeredAddresses = map[string]registrationCase{
	"https":                               {uris(callback), ""},
	"https with port and query":           {uris("https://app.example:8443/cb?x=1"), ""},
	"loopback http of a native client":    {native("http://127.0.0.1/cb"), ""},
	"loopback http, IPv6":                 {native("http://[::1]:1234/cb"), ""},
	"loopback http, type not given":       {uris("http://localhost:3000/cb"), ""},
	"private scheme of a native client":   {native("com.example.app:/cb"), ""},
	"RFC 6749 3.1.2 fragment":             {uris(callback + "#x"), badURI},
	"empty fragment":                      {uris(callback + "#"), badURI},
	"relative":                            {uris("/callback"), badURI},
	"wildcard host":                       {uris("https://*.app.example/cb"), badURI},
	"wildcard path":                       {uris("https://app.example/*"), badURI},
	"user information":                    {uris("https://app.example@evil.example/"), badURI},
	"dot segments":                        {uris("https://app.example/a/../b"), badURI},
	"encoded dot segments":                {uris("https://app.example/a/%2e%2e/b"), badURI},
	"backslash":                           {uris(`https://app.example\@evil.example/`), badURI},
	"control character":                   {uris("https://app.example/\r\nSet-Cookie:a=b"), badURI},
	"http that is not loopback":           {native("http://app.example/cb"), badURI},
	"http that only begins like loopback": {native("http://127.0.0.1.evil.example/cb"), badURI},
	"loopback, web": {with("application_type", "web", "redirect_uris",
		[]string{"http://127.0.0.1/cb"}), ""},
	"private scheme, web": {with("application_type", "web", "redirect_uris",
		[]string{"com.example.app:/cb"}), ""},
	"scheme without a dot":      {uris("myapp://cb"), badURI},
	"scheme of a known program": {uris("vscode://publisher.extension/cb"), ""},
	"scheme of a known program, confidential": {with("token_endpoint_auth_method", "client_secret_basic", "redirect_uris",
		[]string{"vscode://cb"}), badURI},
	"scheme without a slash":      {uris("cursor:cb"), badURI},
	"scheme alone":                {uris("cursor:"), badURI},
	"scheme of one letter":        {uris("c:/cb"), badURI},
	"a mistyped loopback":         {uris("localhost:3000/cb"), badURI},
	"javascript with slashes":     {uris("javascript://a.example/%0aalert(1)"), badURI},
	"JavaScript in upper case":    {uris("JAVASCRIPT:/alert(1)"), badURI},
	"a settings program":          {uris("ms-msdt:/id"), badURI},
	"an intent":                   {uris("intent://scan/"), badURI},
	"a file":                      {uris("file:///etc/passwd"), badURI},
	"a localhost of another":      {uris("http://localhost.evil/cb"), badURI},
	"user at localhost":           {uris("http://localhost@evil.example/cb"), badURI},
	"javascript":                  {native("javascript:alert(1)"), badURI},
	"data":                        {native("data:text/html,x"), badURI},
	"no host":                     {uris("https:///cb"), badURI},
	"none":                        {uris(), badURI},
	"the same address many times": {uris(slices.Repeat([]string{callback}, 21)...), ""},
	"too long":                    {uris("https://app.example/" + strings.Repeat("a", 2000)), badURI},
}

// registeredMembers are registrations that name more than registerBody does.
var registeredMembers = map[string]registrationCase{
	"record too large": {uris("https://a.example/"+strings.Repeat("a", 1900),
		"https://b.example/"+strings.Repeat("a", 1900)), badMetadata},
	"RFC 7591 2 unknown members": {with("x_unknown", map[string]any{"a": 1}), ""},
	"unknown method":             {with("token_endpoint_auth_method", "private_key_jwt"), badMetadata},
	"grant types of ours":        {with("grant_types", []string{"authorization_code", "refresh_token"}), ""},
	"implicit":                   {with("grant_types", []string{"implicit"}), badMetadata},
	"implicit and code":          {with("grant_types", []string{"implicit", "authorization_code"}), ""},
	"no grant types":             {with("grant_types", []string{}), ""},
	"refresh alone":              {with("grant_types", []string{"refresh_token"}), badMetadata},
	"response type token":        {with("response_types", []string{"token"}), badMetadata},
	"response types with code":   {with("response_types", []string{"code id_token", "code"}), ""},
	"unknown audience":           {with("audiences", []string{"admin"}), badMetadata},
	"unknown audience and ours":  {with("audiences", []string{"admin", "rider"}), ""},
	"no audience":                {with("audiences", []string{}), badMetadata},
	"scope of the audiences": {map[string]any{"audiences": []string{"rider"},
		"scope": "openid rider.trips:read"}, ""},
	"audiences from the scope": {map[string]any{"audiences": nil, "scope": "rider.trips:read"}, ""},
	"scope of another audience": {map[string]any{"audiences": []string{"rider"},
		"scope": "tenant.trips:read"}, badMetadata},
	"unknown scope":                        {with("scope", "everything"), badMetadata},
	"unknown scopes among ours":            {with("scope", "offline_access openid everything"), ""},
	"OpenID scopes alone":                  {with("audiences", nil, "scope", "openid profile email"), ""},
	"scopes of no audience that is ours":   {with("audiences", nil, "scope", "offline_access"), badMetadata},
	"ES256":                                {with("id_token_signed_response_alg", "ES256"), ""},
	"alg none":                             {with("id_token_signed_response_alg", "none"), ""},
	"HS256":                                {with("id_token_signed_response_alg", "HS256"), ""},
	"http logo":                            {with("logo_uri", "http://app.example/logo.png"), ""},
	"javascript policy":                    {with("policy_uri", "javascript:alert(1)"), ""},
	"logo":                                 {with("logo_uri", "https://app.example/logo.png"), ""},
	"application type":                     {with("application_type", "mobile"), ""},
	"post logout redirect with a fragment": {with("post_logout_redirect_uris", []string{callback + "#x"}), ""},
}

// registeredNames are registrations with other names: the platform's name is
// rejected in any spelling.
var registeredNames = map[string]registrationCase{
	"name of another type":                  {with("client_name", 7), badMetadata},
	"name in any script":                    {with("client_name", "配車アプリ"), ""},
	"name without letters":                  {with("client_name", "🚕"), ""},
	"blank name":                            {with("client_name", "   "), badMetadata},
	"name of 100":                           {with("client_name", strings.Repeat("é", 100)), ""},
	"name of 101":                           {with("client_name", strings.Repeat("é", 101)), badMetadata},
	"control character in the name":         {with("client_name", "a\nb"), badMetadata},
	"direction override in the name":        {with("client_name", "a\u202eb"), badMetadata},
	"zero width in the name":                {with("client_name", "s\u200bvc"), badMetadata},
	"variation selectors in the name":       {with("client_name", "Planner\ufe01\U000e0101"), badMetadata},
	"emoji in the name":                     {with("client_name", "Taxi 👩🏽‍✈️ ☎️"), ""},
	"only fillers in the name":              {with("client_name", "\u3164\u2800"), badMetadata},
	"apostrophes in the name":               {with("client_name", "O'Neil & Domino’s – Cabs (v2.1), Drivers' app"), ""},
	"quotation marks in the name":           {with("client_name", "Planner” is verified “by Metro"), badMetadata},
	"angle quotation marks in the name":     {with("client_name", "Planner» verified"), badMetadata},
	"straight quotation marks in the name":  {with("client_name", `Planner" verified`), badMetadata},
	"line in the name":                      {with("client_name", "Planner --- Verified"), badMetadata},
	"box drawing in the name":               {with("client_name", "Planner ━━━ Verified"), badMetadata},
	"long dash in the name":                 {with("client_name", "Planner ⸻ Verified"), badMetadata},
	"spaced line in the name":               {with("client_name", "Planner _ _ _ Verified"), badMetadata},
	"run of blanks in the name":             {with("client_name", "Planner \u2003\u3000Verified"), badMetadata},
	"filled letters in the name":            {with("client_name", "🆂🆅🅲"), badMetadata},
	"the platform's name":                   {with("client_name", "SVC"), badMetadata},
	"the platform's name in another script": {with("client_name", "ꓢꓦꓚ Security"), badMetadata},
	"the platform's name spelled out":       {with("client_name", "S V C Support"), badMetadata},
	"the platform's name in a phrase":       {with("client_name", "Official SVC app"), badMetadata},
	"the platform's name, spelled":          {with("client_name", "S.V.C."), badMetadata},
	"the platform's name, Cyrillic":         {with("client_name", "ѕvс"), badMetadata},
	"the platform's name, full width":       {with("client_name", "ＳＶＣ"), badMetadata},
	"the platform's name, digit":            {with("client_name", "5vc Support"), badMetadata},
	"the platform's name, accent":           {with("client_name", "śvć"), badMetadata},
	"a name that says it is the system":     {with("client_name", "Official Support"), badMetadata},
	"a name that contains the letters":      {with("client_name", "Travcast"), ""},
}

func TestRegistration(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, cases := range []map[string]registrationCase{registeredAddresses, registeredMembers, registeredNames} {
		for name, tc := range cases {
			t.Run(name, func(t *testing.T) {
				body := map[string]any{"client_name": "Test client", "redirect_uris": []string{callback},
					"token_endpoint_auth_method": "none", "audiences": []string{"rider"}}
				for member, value := range tc.change {
					if body[member] = value; value == nil {
						delete(body, member)
					}
				}
				r := f.sendJSON(http.MethodPost, "/oauth/register", "", body)
				status := http.StatusCreated
				if tc.want != "" {
					status = http.StatusBadRequest
				}
				f.expect(r, status, tc.want)
			})
		}
	}
}

func TestRegistrationBodies(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, body := range map[string]string{
		"not JSON": "{", "array": "[]", "null": "null", "text": `"x"`, "two values": "{} {}",
		"not UTF-8": "{\"client_name\":\"\xff\"}",
	} {
		t.Run(name, func(t *testing.T) {
			f.expect(f.sendJSON(http.MethodPost, "/oauth/register", "", body), http.StatusBadRequest, "invalid_client_metadata")
		})
	}
	large := `{"client_name":"` + strings.Repeat("a", 70_000) + `"}`
	f.expect(f.sendJSON(http.MethodPost, "/oauth/register", "", large), http.StatusRequestEntityTooLarge,
		"payload_too_large")
	r := httptest.NewRequest(http.MethodPost, "/oauth/register", strings.NewReader("{}"))
	f.expect(f.do(r), http.StatusUnsupportedMediaType, "unsupported_media_type")
}

func TestRegistrationAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.sendJSON(http.MethodPost, "/oauth/register", "",
		map[string]any{"client_name": "Shop", "redirect_uris": []string{callback}, "audiences": []string{"rider"},
			"scope": "openid rider.trips:read"})
	if r.status != http.StatusCreated || r.text("token_endpoint_auth_method") != "client_secret_basic" ||
		r.text("client_secret") == "" ||
		r.body["client_secret_expires_at"] != 0.0 || r.text("scope") != "openid rider.trips:read" ||
		r.text("registration_client_uri") != baseURL+"/oauth/register/"+r.text("client_id") ||
		r.text("registration_access_token") == "" {
		t.Errorf("RFC 7591 3.2.1: %s", r.raw)
	}
	var c client
	it := f.storedClient(r.text("client_id"))
	if err := it.Decode(&c); err != nil || c.SecretHash != ids.Hash(r.text("client_secret")) ||
		strings.Contains(c.SecretHash+c.ManagementHash, r.text("client_secret")) {
		t.Errorf("what is stored: %+v, %v", c, err)
	}
	public := f.sendJSON(http.MethodPost, "/oauth/register", "", map[string]any{"redirect_uris": []string{callback},
		"audiences": []string{"rider"}, "token_endpoint_auth_method": "none"})
	if _, has := public.body["client_secret"]; has {
		t.Error("a public client gets a secret")
	}
}

func TestManagement(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(map[string]any{"token_endpoint_auth_method": "client_secret_post"})
	other := f.register(nil)
	path := "/oauth/register/" + a.id
	for name, token := range map[string]string{"no token": "", "wrong token": ids.Secret(),
		"another client's": other.management, "the secret": a.secret} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			t.Run(method+" "+name, func(*testing.T) {
				f.expect(f.sendJSON(method, path, token, "{}"), http.StatusUnauthorized, "invalid_token")
			})
		}
	}
	f.expect(f.sendJSON(http.MethodGet, "/oauth/register/cli_01HZZZZZZZZZZZZZZZZZZZZZZZ", a.management, ""),
		http.StatusUnauthorized, "invalid_token")
	r := f.sendJSON(http.MethodGet, path, a.management, "")
	if r.status != http.StatusOK || r.text("client_name") != "Test client" || r.text("client_secret") != "" {
		t.Errorf("RFC 7592 2.1: %d %s", r.status, r.raw)
	}
	body := map[string]any{"client_id": a.id, "client_secret": a.secret, "client_name": "Renamed",
		"redirect_uris":              []string{"https://app.example/new"},
		"token_endpoint_auth_method": "client_secret_post", "audiences": []string{"rider"}}
	for name, change := range map[string]map[string]any{
		"another client_id": {"client_id": other.id}, "no client_id": {"client_id": nil},
		"another secret": {"client_secret": "x"},
	} {
		t.Run(name, func(*testing.T) {
			bad := map[string]any{}
			for member, value := range body {
				bad[member] = value
			}
			for member, value := range change {
				bad[member] = value
			}
			f.expect(f.sendJSON(http.MethodPut, path, a.management, bad), http.StatusBadRequest, "invalid_request")
		})
	}
	r = f.sendJSON(http.MethodPut, path, a.management, body)
	next := r.text("registration_access_token")
	if r.status != http.StatusOK || r.text("client_name") != "Renamed" || next == "" || next == a.management ||
		r.text("client_secret") != "" {
		t.Errorf("RFC 7592 2.2: %d %s", r.status, r.raw)
	}
	if r = f.sendJSON(http.MethodGet, path, next, ""); r.status != http.StatusOK {
		t.Errorf("the new token: %d %s", r.status, r.raw)
	}
	f.expect(f.sendJSON(http.MethodGet, path, a.management, ""), http.StatusUnauthorized, "invalid_token")
	tokens := f.tokens(registration{other.id, "", ""}, authz.Rider, "rider.trips:read")
	if r := f.sendJSON(http.MethodDelete, "/oauth/register/"+other.id, other.management,
		""); r.status != http.StatusNoContent {
		t.Errorf("RFC 7592 2.3: %d %s", r.status, r.raw)
	}
	if f.alive(tokens.text("access_token")) {
		t.Error("a deleted client's token lives")
	}
	f.expect(f.refresh(other, tokens.text("refresh_token")), http.StatusUnauthorized, "invalid_client")
	f.expect(f.sendJSON(http.MethodGet, "/oauth/register/"+other.id, other.management, ""), http.StatusUnauthorized,
		"invalid_token")
}

func TestUnusedClientsExpire(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	unused, used := f.register(nil), f.register(nil)
	f.tokens(used, authz.Rider, "rider.trips:read")
	f.advance(clients.UnusedLife + time.Second)
	page := f.newBrowser().authorize(authorizationOf(unused.id, callback, "rider.trips:read"))
	if page.status != http.StatusBadRequest || page.page() != "Unknown application" {
		t.Errorf("an unused client did not expire: %d %s", page.status, page.text())
	}
	if r := f.tokens(used, authz.Rider, "rider.trips:read"); !f.alive(r.text("access_token")) {
		t.Error("a used client expired")
	}
}

func TestDisableClient(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(nil)
	tokens := f.tokens(a, authz.Rider, "rider.trips:read")
	if err := f.server.DisableClient(t.Context(), a.id, true); err != nil {
		t.Fatal(err)
	}
	if f.alive(tokens.text("access_token")) {
		t.Error("a disabled client's token lives")
	}
	f.expect(f.refresh(a, tokens.text("refresh_token")), http.StatusUnauthorized, "invalid_client")
	if err := f.server.DisableClient(t.Context(), a.id, false); err != nil {
		t.Fatal(err)
	}
	if r := f.refresh(a, tokens.text("refresh_token")); r.status != http.StatusOK {
		t.Errorf("enabled again: %d %s", r.status, r.raw)
	}
	if err := f.server.DisableClient(t.Context(), ids.New(ids.Client, f.now()), true); !errors.Is(err, fault.NotFound()) {
		t.Errorf("unknown client: %v", err)
	}
}

// A client that registered an address before the rule of its scheme keeps it: it signs
// in, and its updates may name it again. It gets no other such address, and a new client
// gets none.
func TestAddressesOfEarlierClientsStay(t *testing.T) {
	t.Parallel()
	p := newPublisher()
	f := newFixture(t, func(c *oauth.Config) { c.Documents, c.Limits.Documents = p, -1 })
	const old, token = "myapp://cb", "management"
	redirects := []string{old, callback}
	c := f.storeClient(func(c *client) { c.RedirectURIs, c.ManagementHash = redirects, ids.Hash(token) })
	if got := f.newBrowser().finish(authorization(c), "ana@metro.example"); !strings.HasPrefix(got.location,
		old+"?code=") {
		t.Errorf("%s", got.text())
	}
	update := func(token string, uris ...string) reply {
		return f.sendJSON(http.MethodPut, "/oauth/register/"+c.ID, token, map[string]any{"client_id": c.ID,
			"client_name": "Planner 2", "redirect_uris": uris, "token_endpoint_auth_method": "none",
			"audiences": []string{"dashboard"}})
	}
	kept := update(token, old, "otherapp://cb", callback)
	if got := fmt.Sprint(kept.body["redirect_uris"]); kept.status != 200 || got != "[myapp://cb "+callback+"]" {
		t.Errorf("an update: %d %s", kept.status, kept.raw)
	}
	without := update(kept.text("registration_access_token"), callback)
	back := update(without.text("registration_access_token"), old, callback)
	if got := fmt.Sprint(back.body["redirect_uris"]); got != "["+callback+"]" {
		t.Errorf("an address that was given up: %d %s", back.status, back.raw)
	}
	if r := f.sendJSON(http.MethodPost, "/oauth/register", "", map[string]any{"redirect_uris": []string{old},
		"token_endpoint_auth_method": "none"}); r.text("error") != badURI {
		t.Errorf("a new client: %d %s", r.status, r.raw)
	}
	p.publish(plannerAt, "redirect_uris", []string{old, callback}, "scope", "openid tenant.trips:read")
	f.storeClient(func(c *client) { c.ID, c.RedirectURIs = plannerAt, []string{old} })
	q := authorizationOf(plannerAt, old, "openid tenant.trips:read")
	if got := f.newBrowser().finish(q, "ana@metro.example"); !strings.HasPrefix(got.location, old+"?code=") {
		t.Errorf("a stored document's client: %s", got.text())
	}
	const another = "https://planner.example/other.json"
	p.publish(another, "redirect_uris", []string{old, callback})
	if got := f.newBrowser().authorize(authorizationOf(another, old, "openid")); got.page() != "Unknown return address" {
		t.Errorf("a new document's client: %s", got.text())
	}
}
