package app_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/data/table"
	"svc/pkg/domain/machine"
	"svc/pkg/domain/person"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// patchMachine changes a machine of metro as its operator, who has just signed in.
func (s *suite) patchMachine(t *testing.T, p apptest.Program, body string) {
	t.Helper()
	s.Patch(t, s.Token(t, s.actors[authz.Dashboard]), "/api/v1/machines/"+p.ID, body).Must(t, 200)
}

// permissionsBody is a change that gives a machine the permissions.
func permissionsBody(permissions []string) string {
	text, err := json.Marshal(map[string]any{"permissions": permissions})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// forOperators returns the rows that the audience of machines may call.
func (s *suite) forOperators() (out []api.Row) {
	for _, r := range app.Rows(s.DB) {
		if _, in := r.Policy.Scopes[authz.Dashboard]; in {
			out = append(out, r)
		}
	}
	return out
}

// TestMachinesOnEveryRow: on each row a machine with the permission may do what an operator
// may, unless a person must. Without the permission it gets a 403 at once, disabled a 401,
// and its old token stays ended.
func TestMachinesOnEveryRow(t *testing.T) {
	s := newSuite(t)
	boss := s.Token(t, s.actors[authz.Dashboard])
	m := s.Machine(t, boss, authz.Permissions()...)
	token := s.Works(t, m)
	rows, seen := s.forOperators(), 0
	byPermission := map[string][]api.Row{}
	for _, r := range rows {
		byPermission[r.Policy.Permission] = append(byPermission[r.Policy.Permission], r)
		if r.Policy.People {
			s.expect(t, request(r, token), 403, "forbidden")
			continue
		}
		if a := s.Do(t, request(r, token)); a.Status == 401 || a.Status == 403 || a.Status >= 500 {
			t.Errorf("%s by a machine with everything: %d %s", r.ID, a.Status, a.Body)
		}
		if scope := r.Policy.Scopes[authz.Dashboard]; scope != "" {
			s.expect(t, request(r, s.Works(t, m, other(authz.Dashboard, scope))), 403, "insufficient_scope")
		}
		seen++
	}
	if seen < 60 {
		t.Errorf("a machine may call %d rows", seen)
	}
	for permission, rows := range byPermission {
		if permission == "" {
			continue
		}
		rest := slices.DeleteFunc(authz.Permissions(), func(p string) bool { return p == permission })
		s.patchMachine(t, m, permissionsBody(rest))
		for _, r := range rows {
			s.expect(t, request(r, token), 403, "forbidden")
		}
		s.patchMachine(t, m, permissionsBody(authz.Permissions()))
	}
	for _, enabled := range []string{"false", "true"} { // what ended does not come back
		s.patchMachine(t, m, `{"enabled":`+enabled+`}`)
		for _, r := range rows {
			s.expect(t, request(r, token), 401, "unauthorized")
		}
	}
	token = s.Works(t, m)
	s.Change(t, "metro", func(n *tenant.Tenant) { n.Disabled = true })
	s.expect(t, request(rows[0], token), 401, "unauthorized")
	if a := s.Ask(t, m.ClientID, m.Secret); a.Status != 400 || a.Code() != "invalid_grant" {
		t.Errorf("a token of a company that is closed: %d %s", a.Status, a.Body)
	}
}

// TestMachinesOfOthers: what a path names of another company is not there for a machine, and
// it takes nothing of it by a body.
func TestMachinesOfOthers(t *testing.T) {
	s := newSuite(t)
	metro, harbor := s.newEstate(t, "metro"), s.newEstate(t, "harbor")
	token := s.Works(t, s.Machine(t, harbor.tokens[authz.Dashboard], authz.Permissions()...))
	tried := 0
	s.everyPlace(t, harbor, metro, func(r api.Row, there, _ string) {
		if _, in := r.Policy.Scopes[authz.Dashboard]; !in {
			return
		}
		want := http.StatusNotFound
		if r.Policy.People {
			want = http.StatusForbidden
		}
		a := s.Do(t, apptest.Request{Method: r.Method, Path: there, Token: token, Body: harbor.body(r)})
		if tried++; a.Status != want {
			t.Errorf("%s of another company: %d %s", r.ID, a.Status, a.Body)
		}
	})
	if tried < 30 {
		t.Errorf("only %d rows were tried", tried)
	}
}

// TestPeopleAlone: a machine makes no members and no machines, and erases nobody. A row that
// does such a thing has the mark, and no other row of operators has it.
func TestPeopleAlone(t *testing.T) {
	t.Parallel()
	marked := 0
	for _, r := range app.Rows(nil) {
		grants := r.Method != http.MethodGet && slices.Contains([]string{"MANAGE_MACHINES", "MANAGE_MEMBERS"},
			r.Policy.Permission)
		erases := r.Policy.Permission == "MANAGE_PRIVACY" && strings.HasSuffix(r.Path, "/run")
		if r.Policy.People != (grants || erases) {
			t.Errorf("%s: ByPeople is %t", r.ID, r.Policy.People)
		}
		if r.Policy.People {
			marked++
		}
	}
	if marked < 6 {
		t.Errorf("%d rows are marked", marked)
	}
}

// TestNobodyGivesAMachineWhatHeLacks: a machine gets no permission, secret or key from who lacks one
// of its permissions. Everybody who manages machines may take access away. What becomes of
// the maker does not matter.
func TestNobodyGivesAMachineWhatHeLacks(t *testing.T) {
	s := newSuite(t)
	ctx, metro, people := t.Context(), s.Tenant("metro"), person.Store{DB: s.DB}
	olga, ed := s.actors[authz.Dashboard], s.Operator(t, "metro", "ed")
	boss, less := s.Token(t, olga), s.Token(t, ed)
	lose := func(a apptest.Actor, permissions ...string) {
		_, err := people.Revoke(ctx, metro, s.By(), a.ID, permissions...)
		testkit.Must(t, err)
	}
	lose(ed, "VIEW_TRIPS")
	m := s.Machine(t, boss, "VIEW_TRIPS", "VIEW_EVENTS")
	path := "/api/v1/machines/" + m.ID
	refused := func(r apptest.Request) {
		t.Helper()
		a := s.Do(t, r)
		if a.Status != 403 || !strings.Contains(string(a.Body), `"permission":"VIEW_TRIPS"`) {
			t.Errorf("%s %s %s: %d %s", r.Method, r.Path, r.Body, a.Status, a.Body)
		}
	}
	refused(apptest.Request{Method: "POST", Path: "/api/v1/machines", Token: less,
		Body: `{"name":"Mine","permissions":["VIEW_EVENTS","VIEW_TRIPS"]}`})
	refused(apptest.Request{Method: "POST", Path: path + "/secrets", Token: less, Body: "{}"})
	fewer := permissionsBody([]string{"VIEW_EVENTS"})
	for _, body := range []string{`{"name":"Mine"}`, fewer, `{"endsAt":"2040-01-01T00:00:00Z"}`,
		`{"jwksUri":"https://keys.ed.example/jwks.json"}`, `{"enabled":false,"name":"Mine"}`} {
		refused(apptest.Request{Method: "PATCH", Path: path, Token: less, Body: body})
	}
	own := s.Machine(t, less, "VIEW_EVENTS")
	refused(apptest.Request{Method: "PATCH", Path: "/api/v1/machines/" + own.ID, Token: less,
		Body: permissionsBody([]string{"VIEW_EVENTS", "VIEW_TRIPS"})})
	s.Patch(t, less, path, `{"enabled":false}`).Must(t, 200)
	refused(apptest.Request{Method: "PATCH", Path: path, Token: less, Body: `{"enabled":true}`})
	s.Patch(t, boss, path, `{"enabled":true}`).Must(t, 200)
	token := s.Works(t, m)
	lose(olga, "VIEW_TRIPS", "MANAGE_MACHINES") // the machine keeps what it has
	s.Get(t, token, "/api/v1/trips").Must(t, 200)
	_, err := people.Disable(ctx, metro, s.By(), olga.ID, true)
	testkit.Must(t, err)
	testkit.Must(t, people.Leave(ctx, metro, s.By(), olga.ID))
	s.Get(t, s.Works(t, m), "/api/v1/trips").Must(t, 200)
	s.Do(t, apptest.Request{Method: "DELETE", Path: path + "/secrets/" + m.SecretID, Token: less}).Must(t, 200)
	s.Get(t, token, "/api/v1/trips").Must(t, 401)
	s.Do(t, apptest.Request{Method: "DELETE", Path: path, Token: less}).Must(t, 200)
	s.Get(t, less, path).Must(t, 404)
	for _, unknown := range []string{`["VIEW_NOTHING"]`, `[]`} {
		s.Post(t, less, "/api/v1/machines", `{"name":"Mine","permissions":`+unknown+`}`).Must(t, 400)
	}
}

// TestEndedWhileRequestsRun: once the change has answered, no request that begins succeeds,
// whether the machine is disabled, deleted, ended, or lost its secret; and a token that is
// issued meanwhile is worth nothing.
func TestEndedWhileRequestsRun(t *testing.T) {
	s := newSuite(t)
	boss := s.Token(t, s.actors[authz.Dashboard])
	for name, end := range map[string]func(p apptest.Program) apptest.Request{
		"disabled": func(p apptest.Program) apptest.Request {
			return apptest.Request{Method: "PATCH", Path: "/api/v1/machines/" + p.ID, Body: `{"enabled":false}`}
		},
		"deleted": func(p apptest.Program) apptest.Request {
			return apptest.Request{Method: "DELETE", Path: "/api/v1/machines/" + p.ID}
		},
		"secret removed": func(p apptest.Program) apptest.Request {
			return apptest.Request{Method: "DELETE", Path: "/api/v1/machines/" + p.ID + "/secrets/" + p.SecretID}
		},
		"permission taken": func(p apptest.Program) apptest.Request {
			return apptest.Request{Method: "PATCH", Path: "/api/v1/machines/" + p.ID,
				Body: permissionsBody([]string{"VIEW_EVENTS"})}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := s.Machine(t, boss, "VIEW_TRIPS")
			token := s.Works(t, m)
			var over atomic.Bool
			var all, busy sync.WaitGroup
			busy.Add(6)
			for range 6 {
				all.Go(func() {
					for n := 0; ; n++ {
						mine := token
						if n%3 == 2 {
							if a := s.Ask(t, m.ClientID, m.Secret); a.Status == 200 {
								mine = apptest.JSON[map[string]any](t, a)["access_token"].(string)
							}
						}
						if n == 4 {
							busy.Done()
						}
						ended := over.Load()
						a := s.Get(t, mine, "/api/v1/trips")
						if ended && a.Status == 200 || a.Status >= 500 {
							t.Errorf("afterwards: %d %s", a.Status, a.Body)
						}
						if ended {
							return
						}
					}
				})
			}
			busy.Wait()
			q := end(m)
			q.Token = boss
			a := s.Do(t, q)
			over.Store(true)
			all.Wait()
			a.Must(t, 200)
			it, err := s.Tenant("metro").Get(t.Context(), machine.Key(s.Tenant("metro"), m.ID))
			if err != nil || it.Found() != (name != "deleted") {
				t.Errorf("the item is there: %t, %v", it.Found(), err)
			}
		})
	}
}

// TestSubscriptionsOfMachines: what a machine began at the MCP server lasts longer than its
// token, and ends with the machine.
func TestSubscriptionsOfMachines(t *testing.T) {
	s := newSuite(t)
	ctx, metro, clients := t.Context(), s.Tenant("metro"), s.DB.Platform("CLIENT")
	boss := s.Token(t, s.actors[authz.Dashboard])
	needs := []authz.Policy{authz.Operators("tenant.events:read", "VIEW_EVENTS")}
	for name, body := range map[string]string{"disabled": `{"enabled":false}`, "ended": `{"endsAt":"2031-01-01T00:00:00Z"}`,
		"permission taken": permissionsBody([]string{"VIEW_TRIPS"}), "deleted": ""} {
		m := s.Machine(t, boss, "VIEW_EVENTS", "VIEW_TRIPS")
		c, err := s.Runtime.Keys().Verify(ctx, s.Works(t, m))
		testkit.Must(t, err)
		read := func(keys []table.Key) []table.Item {
			items, err := table.Join(metro.Handle, clients.Handle).Batch(ctx, keys...)
			testkit.Must(t, err)
			return items
		}
		began := authz.LiveFrom(read(authz.LiveKeys(metro, clients, c))).Standing(c)
		stands := func() error {
			return began.Outlasts(needs, read(began.Keys(metro, clients)), time.Date(2031, 1, 2, 0, 0, 0, 0, time.UTC))
		}
		if err := stands(); err != nil {
			t.Errorf("before it is %s: %v", name, err)
		}
		if q := (apptest.Request{Method: "DELETE", Path: "/api/v1/machines/" + m.ID, Token: boss}); body == "" {
			s.Do(t, q).Must(t, 200)
		} else {
			s.patchMachine(t, m, body)
		}
		if stands() == nil {
			t.Errorf("it is %s, and what it began goes on", name)
		}
	}
}
