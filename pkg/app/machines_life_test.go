package app_test

import (
	"hash/crc32"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/data/audit"
	"svc/pkg/domain/machine"
	"svc/pkg/domain/tenant"
)

// TestFreshSignIn: a machine, its secret and its keys need a sign-in of the last five
// minutes. Everything else does not.
func TestFreshSignIn(t *testing.T) {
	s := newSuite(t)
	olga := s.actors[authz.Dashboard]
	old := s.Token(t, olga)
	m := s.Machine(t, old, "VIEW_EVENTS")
	s.Clock.Advance(5*time.Minute + time.Second)
	path, keys := "/api/v1/machines/"+m.ID, `{"jwksUri":"https://keys.metro.example/jwks.json"}`
	s.Patch(t, s.SignIn(t, olga).AccessToken, path, `{"endsAt":"2039-01-01T00:00:00Z"}`).Must(t, 200)
	s.Patch(t, old, path, `{"enabled":false}`).Must(t, 200)
	needs := []apptest.Request{
		{Method: "POST", Path: "/api/v1/machines", Body: `{"name":"Second","permissions":["VIEW_EVENTS"]}`},
		{Method: "POST", Path: path + "/secrets", Body: "{}"}, {Method: "PATCH", Path: path, Body: keys},
		{Method: "PATCH", Path: path, Body: `{"enabled":true}`},
		{Method: "PATCH", Path: path, Body: `{"endsAt":"2040-01-01T00:00:00Z"}`},
		{Method: "PATCH", Path: path, Body: `{"endsAt":null}`},
		{Method: "PATCH", Path: path, Body: permissionsBody([]string{"VIEW_EVENTS", "VIEW_TRIPS"})}}
	for _, q := range needs {
		q.Token = old
		a := s.Do(t, q)
		challenge := a.Header.Get("WWW-Authenticate")
		if a.Status != 401 || a.Code() != "insufficient_user_authentication" ||
			!strings.Contains(challenge, `max_age="300"`) ||
			!strings.HasPrefix(challenge, `Bearer error="insufficient_user_authentication"`) {
			t.Errorf("%s %s: %d %s, %s", q.Method, q.Path, a.Status, a.Body, challenge)
		}
	}
	s.Get(t, old, path).Must(t, 200)
	s.Patch(t, old, path, `{"name":"Renamed"}`).Must(t, 200)
	s.Patch(t, old, path, `{"enabled":false}`).Must(t, 200)
	fresh := s.SignIn(t, olga).AccessToken
	for _, q := range needs {
		q.Token = fresh
		if a := s.Do(t, q); a.Status >= 300 {
			t.Errorf("%s %s after a sign-in: %d %s", q.Method, q.Path, a.Status, a.Body)
		}
	}
	for _, less := range []string{`{"jwksUri":null}`, `{"endsAt":"2039-01-01T00:00:00Z"}`,
		permissionsBody([]string{"VIEW_EVENTS"})} { // less access needs no sign-in
		s.Patch(t, old, path, less).Must(t, 200)
	}
	rows := 0
	for _, r := range s.forOperators() {
		if r.MaxAge() > 0 {
			rows++
		}
	}
	if rows != 3 { // an invitation of a member is the third
		t.Errorf("%d rows need a fresh sign-in", rows)
	}
}

// TestSecretsOfMachines: a secret is replaced without a stop, ends when it should, and is
// shown once. Its form is as documented.
func TestSecretsOfMachines(t *testing.T) {
	s := newSuite(t)
	s.Clock.Hold()
	olga := s.actors[authz.Dashboard]
	boss := s.Token(t, olga)
	m := s.Machine(t, boss, "VIEW_EVENTS")
	path := "/api/v1/machines/" + m.ID
	works := func(secret string) bool {
		t.Helper()
		a := s.Ask(t, m.ClientID, secret)
		if a.Status == 200 {
			s.Get(t, apptest.JSON[map[string]any](t, a)["access_token"].(string), "/api/v1/events").Must(t, 200)
		} else if a.Status != 401 || a.Code() != "invalid_client" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		return a.Status == 200
	}
	read := func() machine.Machine { return apptest.JSON[machine.Machine](t, s.Get(t, boss, path).Must(t, 200)) }
	if got := read(); len(got.Secrets) != 1 || got.Secrets[0].LastUsedAt != nil || got.Secrets[0].EndsAt != nil {
		t.Errorf("%+v", got)
	}
	q := apptest.Request{Method: "POST", Path: path + "/secrets", Token: boss, Body: `{"overlapHours":2}`,
		Header: map[string]string{"Idempotency-Key": "second"}}
	made := s.Do(t, q).Must(t, 201)
	if again := s.Do(t, q).Must(t, 201); string(again.Body) != string(made.Body) {
		t.Errorf("%s, and again %s", made.Body, again.Body)
	}
	second := apptest.JSON[machine.NewMachineSecret](t, made)
	formed(t, m.Secret, second.Secret)
	if !works(m.Secret) || !works(second.Secret) {
		t.Error("one of two secrets does not work")
	}
	s.Post(t, boss, path+"/secrets", "{}").Must(t, 409)
	hour := s.Clock.Now().UTC().Truncate(time.Hour).Format("2006-01-02T15:04:05.000Z")
	for _, one := range read().Secrets {
		if one.LastUsedAt == nil || *one.LastUsedAt != hour {
			t.Errorf("the last use: %+v, want %s", one, hour)
		}
	}
	s.Clock.Advance(2*time.Hour - time.Second)
	if !works(m.Secret) {
		t.Error("the first secret ends before its time")
	}
	s.Clock.Advance(time.Second)
	if works(m.Secret) || !works(second.Secret) || works(m.Secret+"x") || works("") {
		t.Error("after the end of the first secret")
	}
	boss = s.SignIn(t, olga).AccessToken
	third, text := s.NewSecret(t, boss, m.ID, `{"overlapHours":0}`) // the ended one makes room
	if works(second.Secret) || !works(text) {
		t.Error("an overlap of no time")
	}
	got := read().Secrets
	if len(got) != 2 || got[1].ID != third || got[0].ID != second.ID {
		t.Errorf("%+v", got)
	}
	for _, bad := range []string{`{"overlapHours":721}`, `{"overlapHours":-1}`} {
		s.Post(t, boss, path+"/secrets", bad).Must(t, 400)
	}
	s.Do(t, apptest.Request{Method: "DELETE", Path: path + "/secrets/" + m.SecretID, Token: boss}).Must(t, 404)
	s.unwritten(t, m.ID, m.Secret, second.Secret, text)
}

// formed checks that secrets have the documented form.
func formed(t *testing.T, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if form := regexp.MustCompile(`^svc_sk_live_[0-9A-Za-z]{49}$`); !form.MatchString(secret) {
			t.Errorf("the form of a secret: %d characters", len(secret))
		}
		sum := big.NewInt(int64(crc32.ChecksumIEEE([]byte(secret[:len(secret)-6])))).Text(62)
		if got := secret[len(secret)-6:]; got != strings.Repeat("0", 6-len(sum))+sum {
			t.Errorf("the checksum is %s, want %s", got, sum)
		}
	}
}

// unwritten checks that neither the log nor the machine's item has the secrets.
func (s *suite) unwritten(t *testing.T, id string, secrets ...string) {
	t.Helper()
	_, logs := s.Kept()
	it, err := s.Tenant("metro").Get(t.Context(), machine.Key(s.Tenant("metro"), id))
	testkit.Must(t, err)
	for _, secret := range secrets {
		if strings.Contains(logs, secret) || strings.Contains(it.Raw(), secret) {
			t.Error("a secret is in the log or in the item")
		}
	}
}

// TestEndOfMachine: at its end a machine has no access, and its record stays.
func TestEndOfMachine(t *testing.T) {
	s := newSuite(t)
	s.Clock.Hold()
	boss := s.Token(t, s.actors[authz.Dashboard])
	m := s.Machine(t, boss, "VIEW_EVENTS")
	path := "/api/v1/machines/" + m.ID
	ends := s.Clock.Now().Add(2 * time.Minute).UTC().Format(time.RFC3339)
	s.Patch(t, boss, path, `{"endsAt":"`+ends+`"}`).Must(t, 200)
	token := s.Works(t, m)
	s.Get(t, token, "/api/v1/events").Must(t, 200)
	s.Clock.Advance(2 * time.Minute)
	s.Get(t, token, "/api/v1/events").Must(t, 401)
	s.Ask(t, m.ClientID, m.Secret).Must(t, 401)
	s.Patch(t, boss, path, `{"name":"Ended"}`).Must(t, 200) // an end that has passed stays
	s.Patch(t, boss, path, `{"endsAt":"2020-01-01T00:00:00Z"}`).Must(t, 400)
	s.Patch(t, boss, path, `{"endsAt":null}`).Must(t, 200)
	s.Get(t, token, "/api/v1/events").Must(t, 401) // what has ended does not come back
	s.Get(t, s.Works(t, m), "/api/v1/events").Must(t, 200)
}

// TestMachineIsNamed: a machine is who it is: in its profile, in the log of a trip, in the
// audit log and in what it creates.
func TestMachineIsNamed(t *testing.T) {
	s := newSuite(t)
	boss := s.Token(t, s.actors[authz.Dashboard])
	m := s.Machine(t, boss, authz.Permissions()...)
	token := s.Works(t, m)
	me := apptest.JSON[map[string]any](t, s.Get(t, token, "/api/v1/me").Must(t, 200))
	company, _ := me["membership"].(map[string]any)
	if me["actor"] != "machine" || me["id"] != m.ID || me["name"] != "Nightly" || company["tenantSlug"] != "metro" ||
		company["role"] != "machine" {
		t.Errorf("%v", me)
	}
	trip := apptest.JSON[struct{ ID string }](t, s.Post(t, token, "/api/v1/trips", `{"customerId":"`+
		s.actors[authz.Rider].ID+`","originAddress":"1 Pier","originLat":40.7,"originLng":-74}`).Must(t, 201))
	log := apptest.JSON[struct {
		Log []struct{ Actor struct{ ID string } }
	}](t, s.Get(t, token, "/api/v1/trips/"+trip.ID).
		Must(t, 200)).Log
	if len(log) != 1 || log[0].Actor.ID != m.ID {
		t.Errorf("the trip's log is %+v", log)
	}
	if _, logs := s.Kept(); !strings.Contains(logs, `"operation":"svc_book_trip"`) || !strings.Contains(logs,
		`"client_id":"`+m.ClientID+`"`) {
		t.Error("the log of requests does not name the machine")
	}
	zone := s.Post(t, token, "/api/v1/zones", examples()["svc_create_zone"]).Must(t, 201)
	made := apptest.JSON[struct{ ID string }](t, zone)
	same := apptest.Request{Method: "POST", Path: "/api/v1/exports", Token: token, Body: `{"kind":"drivers"}`,
		Header: map[string]string{"Idempotency-Key": "one"}}
	first := s.Do(t, same).Must(t, 201)
	if again := s.Do(t, same); string(again.Body) != string(first.Body) {
		t.Errorf("%s, and again %s", first.Body, again.Body)
	}
	same.Token = s.Works(t, s.Machine(t, boss, "EXPORT_REPORTS", "VIEW_DRIVERS"))
	if other := s.Do(t, same); string(other.Body) == string(first.Body) {
		t.Error("another machine's Idempotency-Key is the same")
	}
	entries, _, err := audit.List(t.Context(), s.Tenant("metro"), "", 100)
	testkit.Must(t, err)
	if !slices.ContainsFunc(entries, func(e audit.Entry) bool {
		return e.Subject == made.ID && e.Who == m.ID && e.Client == m.ClientID && e.What == "zone.add"
	}) {
		t.Errorf("the audit log has %+v", entries)
	}
}

// TestMachineAtMCP: with a token for the MCP server a machine is an agent, with what the
// company lets agents do now; with another token it is none.
func TestMachineAtMCP(t *testing.T) {
	s := newSuite(t)
	boss := s.Token(t, s.actors[authz.Dashboard])
	m := s.Machine(t, boss, "VIEW_EVENTS", "VIEW_TRIPS", "EDIT_SETTINGS", "VIEW_SETTINGS")
	get := func(resource string) string {
		return apptest.JSON[map[string]any](t, s.Ask(t, m.ClientID, m.Secret, "resource", s.URL+resource).Must(t,
			200))["access_token"].(string)
	}
	list := func(token string) apptest.Answer {
		return s.Do(t, apptest.Request{Method: http.MethodPost, Path: "/mcp", Token: token,
			Body:   `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			Header: map[string]string{"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}})
	}
	agent, plain := get("/mcp"), get("/api/v1")
	if a := list(agent); a.Status != 200 || !strings.Contains(string(a.Body), "svc_list_trips") ||
		strings.Contains(string(a.Body), "svc_create_machine_secret") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	list(plain).Must(t, 401)
	s.Get(t, agent, "/api/v1/trips").Must(t, 401)
	if a := s.Ask(t, m.ClientID, m.Secret, "resource", s.URL+"/mcp/rider/metro"); a.Code() != "invalid_target" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	s.Change(t, "metro", func(n *tenant.Tenant) { n.AgentActions = authz.AgentsAll })
	persons := s.SignInFor(t, s.actors[authz.Dashboard], "/mcp /api/v1").AccessToken // an agent, who sees no secret
	s.expect(t, apptest.Request{Method: "POST", Path: "/api/v1/machines/" + m.ID + "/secrets", Token: persons, Body: "{}"},
		403, "forbidden")
	s.Change(t, "metro", func(n *tenant.Tenant) { n.AgentActions = authz.AgentsOff })
	list(agent).Must(t, 403)
	s.Patch(t, plain, "/api/v1/settings", `{"pricing":{"freeWaitingMinutes":7}}`).Must(t, 200)
}

// TestMachineRoundTrips: a read by a machine is one round trip, and a change two.
func TestMachineRoundTrips(t *testing.T) {
	s := newSuite(t)
	m := s.Machine(t, s.Token(t, s.actors[authz.Dashboard]), authz.Permissions()...)
	token := s.Works(t, m)
	s.Get(t, token, "/api/v1/trips").Must(t, 200) // the number of shards is known
	dan := s.actors[authz.Driver].ID
	s.Patch(t, token, "/api/v1/drivers/"+dan, `{"externalId":"of-dan"}`).Must(t, 200)
	s.Post(t, token, "/api/v1/trips", `{"customerId":"`+s.actors[authz.Rider].ID+
		`","originAddress":"1 Pier","originLat":40.7,"originLng":-74,"externalId":"of-dan"}`).Must(t, 201)
	s.Still(t)
	s.Wire.Rounds(true)
	for _, tt := range []struct {
		q     apptest.Request
		trips int
	}{
		{apptest.Request{Method: "GET", Path: "/api/v1/me"}, 1}, {apptest.Request{Method: "GET", Path: "/api/v1/trips"}, 1},
		{apptest.Request{Method: "GET", Path: "/api/v1/settings"}, 1},
		{apptest.Request{Method: "GET", Path: "/api/v1/machines"}, 1},
		{apptest.Request{Method: "PATCH", Path: "/api/v1/branding", Body: `{"appName":"Tried"}`}, 2},
		{apptest.Request{Method: "POST", Path: "/api/v1/exports", Body: `{"kind":"drivers"}`,
			Header: map[string]string{"Idempotency-Key": "one"}}, 2},
		{apptest.Request{Method: "GET", Path: "/api/v1/drivers/external/of-dan"}, 2},
		{apptest.Request{Method: "GET", Path: "/api/v1/drivers?externalId=of-dan"}, 2},
		{apptest.Request{Method: "GET", Path: "/api/v1/trips/external/of-dan"}, 3},
	} {
		tt.q.Token = token
		a := s.Do(t, tt.q)
		if u := a.Seen.Usage; u.Sequential != tt.trips || a.Status >= 300 {
			t.Errorf("%s %s: %d in %d round trips, want %d", tt.q.Method, tt.q.Path, a.Status, u.Sequential, tt.trips)
		}
	}
}
