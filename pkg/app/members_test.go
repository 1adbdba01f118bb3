package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
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
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/domain/member"
	"svc/pkg/domain/person"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
	"svc/pkg/oauth/flow"
)

const membersPath = "/api/v1/members"

// mailbox keeps the mails by their address.
type mailbox struct {
	sync.Mutex
	mails map[string][]string
}

func (m *mailbox) send(_ context.Context, to, _, text string) error {
	m.Lock()
	defer m.Unlock()
	m.mails[to] = append(m.mails[to], text)
	return nil
}

var joinLink = regexp.MustCompile(`https?://\S+/oauth/join\?\S+`)

// link returns the link of the last mail to the address.
func (m *mailbox) link(t *testing.T, to string) string {
	t.Helper()
	m.Lock()
	defer m.Unlock()
	if len(m.mails[to]) == 0 {
		t.Fatalf("%s got no mail", to)
	}
	return joinLink.FindString(m.mails[to][len(m.mails[to])-1])
}

func newMailingSuite(t *testing.T) (*suite, *mailbox) {
	box := &mailbox{mails: map[string][]string{}}
	s := &suite{Service: apptest.With(t, apptest.Options{Mail: box.send}), actors: map[authz.Audience]apptest.Actor{}}
	s.actors[authz.Dashboard] = s.Operator(t, "metro", "olga")
	return s, box
}

// page is what a browser shows.
type joinResult struct {
	status int
	text   string
}

// join opens the link with a new browser and posts the form with the fields.
func join(t *testing.T, link string, fields ...string) joinResult {
	t.Helper()
	jar, err := cookiejar.New(nil)
	testkit.Must(t, err)
	c := &http.Client{Jar: jar}
	read := func(res *http.Response, err error) joinResult {
		testkit.Must(t, err)
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		testkit.Must(t, err)
		return joinResult{res.StatusCode, string(text)}
	}
	shown := read(c.Get(link))
	token := csrf.FindStringSubmatch(shown.text)
	if token == nil {
		return shown
	}
	form := url.Values{"csrf": {token[1]}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return read(c.PostForm(link, form))
}

func (s *suite) memberOf(t *testing.T, token, email string) member.Member {
	t.Helper()
	page := apptest.JSON[api.Page[member.Member]](t, s.Get(t, token, membersPath+"?limit=200").Must(t, 200))
	i := slices.IndexFunc(page.Items, func(m member.Member) bool { return m.Email == email })
	if i < 0 {
		return member.Member{}
	}
	return page.Items[i]
}

// TestInvitedMember: whoever is invited joins by the link alone, once, with what the inviter
// gave, and is nobody before. A second invitation ends the first link.
func TestInvitedMember(t *testing.T) {
	s, box := newMailingSuite(t)
	boss := s.Token(t, s.actors[authz.Dashboard])
	const ben = "Ben@new.example"
	body := `{"email":"` + ben + `","role":"dispatcher"}`
	made := apptest.JSON[member.Invited](t, s.Post(t, boss, membersPath, body).Must(t, 201))
	first := box.link(t, "ben@new.example")
	if made.Status != "INVITED" || made.Link != "" || made.Role != "dispatcher" || made.LinkEndsAt == nil {
		t.Errorf("invited: %+v", made)
	}
	again := apptest.JSON[member.Invited](t, s.Post(t, boss, membersPath,
		`{"email":"ben@NEW.example","role":"viewer","permissions":["VIEW_TRIPS"]}`).Must(t, 201))
	second := box.link(t, "ben@new.example")
	if again.ID != made.ID {
		t.Errorf("another invitation: %+v", again)
	}
	const words = "correct horse battery"
	named := []string{"given", "Ben", "family", "Braun", "password", words, "again", words}
	if r := join(t, first, named...); r.status != 400 {
		t.Errorf("the earlier link: %d %s", r.status, r.text)
	}
	if r := join(t, second+"x", named...); r.status != 400 {
		t.Errorf("a forged link: %d", r.status)
	}
	s.Patch(t, boss, membersPath+"/"+made.ID, `{"role":"viewer"}`).Must(t, 409)
	if got := s.memberOf(t, boss, "ben@new.example"); got.ID != made.ID || got.Status != "INVITED" {
		t.Errorf("listed: %+v", got)
	}
	var all sync.WaitGroup
	answers := make([]joinResult, 6)
	for i := range answers {
		all.Go(func() { answers[i] = join(t, second, named...) })
	}
	all.Wait()
	joined := 0
	for _, a := range answers {
		if a.status == 200 && !strings.Contains(a.text, "csrf") {
			joined++
		} else if a.status != 400 {
			t.Errorf("joining at once: %d %s", a.status, a.text)
		}
	}
	if joined != 1 {
		t.Errorf("%d joined", joined)
	}
	got := s.memberOf(t, boss, "ben@new.example")
	if got.Status != "ACTIVE" || got.FirstName != "Ben" || !slices.Equal(got.Permissions, []string{"VIEW_TRIPS"}) ||
		got.ID == made.ID || got.InvitedBy != nil {
		t.Errorf("joined as %+v", got)
	}
	s.Get(t, boss, membersPath+"/"+made.ID).Must(t, 404)
	tokens, err := flow.Token(t.Context(), flow.Options{BaseURL: s.URL, Audience: "dashboard", Email: "ben@new.example",
		Password: words})
	testkit.Must(t, err)
	s.Get(t, tokens.AccessToken, "/api/v1/trips").Must(t, 200)
	s.Get(t, tokens.AccessToken, "/api/v1/drivers").Must(t, 403)
	entries, _, err := audit.List(t.Context(), s.Tenant("metro"), "", 100)
	testkit.Must(t, err)
	whats := ""
	for _, e := range entries {
		whats += e.What + " "
		text, _ := json.Marshal(e)
		if strings.Contains(strings.ToLower(string(text)), "new.example") || strings.Contains(string(text), ids.Hash(words)) {
			t.Errorf("the audit log has an address: %s", text)
		}
	}
	if !strings.Contains(whats, "member.accept member.invite member.invite ") {
		t.Errorf("the audit log: %s", whats)
	}
}

// TestKnownPersonJoins: a person with an account accepts with its password only, also with no
// other membership. Taken back, ended or of a closed company, the link does nothing.
func TestKnownPersonJoins(t *testing.T) {
	s, box := newMailingSuite(t)
	boss, kim := s.Token(t, s.actors[authz.Dashboard]), s.Operator(t, "harbor", "kim")
	invite := func() (string, string) {
		a := s.Post(t, boss, membersPath, `{"email":"`+kim.Email+`","role":"viewer"}`).Must(t, 201)
		return apptest.JSON[member.Invited](t, a).ID, box.link(t, kim.Email)
	}
	if _, link := invite(); join(t, link, "password", "wrong words here").status != 400 {
		t.Error("joined with a wrong password")
	}
	id, link := invite()
	s.Do(t, apptest.Request{Method: "DELETE", Path: membersPath + "/" + id, Token: boss}).Must(t, 200)
	if r := join(t, link, "password", apptest.Password); r.status != 400 {
		t.Errorf("taken back: %d %s", r.status, r.text)
	}
	_, link = invite()
	s.Change(t, "metro", func(n *tenant.Tenant) { n.Disabled = true })
	if r := join(t, link, "password", apptest.Password); r.status != 400 {
		t.Errorf("a closed company: %d %s", r.status, r.text)
	}
	s.Change(t, "metro", func(n *tenant.Tenant) { n.Disabled = false })
	testkit.Must(t, person.Store{DB: s.DB}.Leave(t.Context(), s.Tenant("harbor"), s.By(), kim.ID))
	if r := join(t, link, "password", apptest.Password); r.status != 200 {
		t.Errorf("joining: %d %s", r.status, r.text)
	}
	if got := s.memberOf(t, boss, kim.Email); got.ID != kim.ID || got.Status != "ACTIVE" {
		t.Errorf("joined as %+v", got)
	}
	_, link = invite()
	if r := join(t, link, "password", apptest.Password); r.status != 200 || !strings.Contains(r.text, "already") {
		t.Errorf("a member joins: %d %s", r.status, r.text)
	}
	s.Clock.Advance(24*time.Hour + time.Second)
	if r := join(t, link, "password", apptest.Password); r.status != 400 {
		t.Errorf("ended: %d %s", r.status, r.text)
	}
	for _, body := range []string{`{"email":"x@y.example"}`, `{"email":"x@y.example","role":"boss"}`,
		`{"email":"nobody","role":"viewer"}`, `{"email":"x@y.example","permissions":["VIEW_NOTHING"]}`} {
		s.Post(t, s.Token(t, s.actors[authz.Dashboard]), membersPath, body).Must(t, 400)
	}
}

// TestOtherSpellingSetsNoPassword: an account without a password gets one by the mailbox that
// is stored for it, not by one whose address is the same but for its case.
func TestOtherSpellingSetsNoPassword(t *testing.T) {
	s, box := newMailingSuite(t)
	boss, people := s.Token(t, s.actors[authz.Dashboard]), person.Store{DB: s.DB}
	const words = "correct horse battery"
	for stored, want := range map[string]int{"Lou@new.example": 400, "max@new.example": 200} {
		p, err := people.Create(t.Context(), s.By(), person.Person{Email: stored}, "")
		testkit.Must(t, err)
		s.Post(t, boss, membersPath, `{"email":"`+stored+`","role":"viewer"}`).Must(t, 201)
		link := box.link(t, strings.ToLower(stored))
		if r := join(t, link, "password", words, "again", words); r.status != want {
			t.Errorf("%s: %d %s", stored, r.status, r.text)
		}
		if l, err := people.Login(t.Context(), p.Email); err != nil || (l.Hash != "") != (want == 200) {
			t.Errorf("%s: the account is %+v, %v", stored, l, err)
		}
	}
}

// changesOfMembers returns a request for each operation on a member, which is id, that gives
// or needs the permission. Without a request for a row, the test of it fails.
func changesOfMembers(r api.Row, m member.Member, permission string) []apptest.Request {
	give, err := json.Marshal(append(slices.Clone(m.Permissions), permission))
	if err != nil {
		panic(err)
	}
	at := func(path, body string) apptest.Request {
		return apptest.Request{Method: r.Method, Path: path, Body: body}
	}
	one := membersPath + "/" + m.ID
	switch {
	case r.ID == "svc_invite_member":
		return []apptest.Request{at(membersPath, `{"email":"`+m.Email+`","permissions":["VIEW_EVENTS"]}`),
			at(membersPath, `{"email":"third@new.example","permissions":["`+permission+`"]}`),
			at(membersPath, `{"email":"third@new.example","role":"owner"}`)}
	case r.ID == "svc_update_member" && m.InvitedBy == nil:
		return []apptest.Request{at(one, `{"disabled":true}`), at(one, `{"permissions":[]}`), at(one, `{"role":"viewer"}`),
			at(one, `{"disabled":false}`), at(one, `{"permissions":`+string(give)+`}`), at(one, `{"role":"owner"}`)}
	case r.ID == "svc_update_member":
		return nil // it is a conflict for everybody
	case r.ID == "svc_remove_member":
		return []apptest.Request{at(one, "")}
	}
	return nil
}

// TestNobodyGivesWhatHeLacks: for every permission and every operation on members, who lacks
// the permission can neither give it nor act on a member, or somebody invited, who has it.
func TestNobodyGivesWhatHeLacks(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	people, metro := person.Store{DB: s.DB}, s.Tenant("metro")
	boss, ed := s.Token(t, s.actors[authz.Dashboard]), s.Operator(t, "metro", "ed")
	less := s.Token(t, ed)
	tried, rows := 0, map[string]bool{}
	for i, permission := range authz.Permissions() {
		if permission == authz.ManageMembers {
			continue // without it he may do nothing at all
		}
		_, err := people.Revoke(t.Context(), metro, s.By(), ed.ID, permission)
		testkit.Must(t, err)
		boris := s.Operator(t, "metro", fmt.Sprintf("boris%d", i))
		_, err = people.Revoke(t.Context(), metro, s.By(), boris.ID, slices.DeleteFunc(authz.Permissions(),
			func(p string) bool { return p == permission })...)
		testkit.Must(t, err)
		invited := apptest.JSON[member.Invited](t, s.Post(t, boss, membersPath, fmt.Sprintf(
			`{"email":"inv%d@new.example","permissions":["%s"]}`, i, permission)).Must(t, 201)).Member
		for _, m := range []member.Member{s.memberOf(t, boss, boris.Email), invited} {
			for _, r := range app.Rows(nil) {
				if r.Method == http.MethodGet || r.Policy.Permission != authz.ManageMembers {
					continue
				}
				rows[r.ID] = true
				for _, q := range changesOfMembers(r, m, permission) {
					q.Token = less
					if strings.Contains(q.Body, m.Email) && m.InvitedBy == nil {
						continue // an invitation does not tell who has an account
					}
					a := s.Do(t, q)
					if tried++; a.Status != 403 || !strings.Contains(string(a.Body), `"permission":"`+permission+`"`) {
						t.Errorf("%s: %s %s %s: %d %s", permission, q.Method, q.Path, q.Body, a.Status, a.Body)
					}
				}
			}
			if now := apptest.JSON[member.Member](t, s.Get(t, boss, membersPath+"/"+m.ID).Must(t, 200)); now.Status != m.Status ||
				!slices.Equal(now.Permissions, m.Permissions) {
				t.Errorf("%s: %+v became %+v", permission, m, now)
			}
		}
		for _, body := range []string{`{"role":"owner"}`, `{"permissions":["MANAGE_MEMBERS","` + permission + `"]}`} {
			if a := s.Patch(t, less, membersPath+"/"+ed.ID, body); a.Status != 403 {
				t.Errorf("%s: to himself %s: %d %s", permission, body, a.Status, a.Body)
			}
		}
		_, err = people.Grant(t.Context(), metro, s.By(), ed.ID, permission)
		testkit.Must(t, err)
		s.Patch(t, less, membersPath+"/"+boris.ID, `{"role":"viewer","permissions":["`+permission+`"]}`).Must(t, 200)
		s.Do(t, apptest.Request{Method: "DELETE", Path: membersPath + "/" + invited.ID, Token: less}).Must(t, 200)
	}
	if len(rows) != 3 || tried < 300 {
		t.Errorf("%d tries of %v", tried, rows)
	}
}

// TestOneManagerStays: whatever members who manage members do to each other and to themselves
// at once, one enabled manager is left.
func TestOneManagerStays(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	people, metro := person.Store{DB: s.DB}, s.Tenant("metro")
	ends := []func(id string) apptest.Request{
		func(id string) apptest.Request {
			return apptest.Request{Method: "DELETE", Path: membersPath + "/" + id}
		},
		func(id string) apptest.Request {
			return apptest.Request{Method: "PATCH", Path: membersPath + "/" + id, Body: `{"disabled":true}`}
		},
		func(id string) apptest.Request {
			return apptest.Request{Method: "PATCH", Path: membersPath + "/" + id, Body: `{"permissions":["VIEW_TRIPS"]}`}
		},
	}
	testkit.Must(t, people.Leave(t.Context(), metro, s.By(), s.actors[authz.Dashboard].ID))
	var ended atomic.Int64
	for round := range 12 {
		var crew []apptest.Actor
		for n := range 3 {
			crew = append(crew, s.Operator(t, "metro", fmt.Sprintf("m%d-%d", round, n)))
		}
		var group sync.WaitGroup
		begin := make(chan struct{})
		for i, actor := range crew {
			token := s.Token(t, actor)
			target := crew[(i+round%2)%len(crew)] // himself, or the next one
			q := ends[(i+round)%len(ends)](target.ID)
			q.Token = token
			group.Go(func() {
				<-begin
				switch a := s.Do(t, q); {
				case a.Status == 200:
					ended.Add(1)
				case a.Status >= 500 && a.Status != 503:
					t.Errorf("%s %s: %d %s", q.Method, q.Path, a.Status, a.Body)
				}
			})
		}
		close(begin)
		group.Wait()
		all, _, err := people.Members(t.Context(), metro, "", 100)
		testkit.Must(t, err)
		var left []person.Membership
		for _, m := range all {
			if !m.Disabled && slices.Contains(m.Permissions, authz.ManageMembers) {
				left = append(left, m)
			}
		}
		if len(left) == 0 {
			t.Fatalf("round %d: nobody manages the members", round)
		}
		for _, m := range left { // the next round begins without them
			testkit.Must(t, people.Leave(t.Context(), metro, s.By(), m.PersonID))
		}
	}
	if ended.Load() < 12 {
		t.Errorf("only %d changes were made", ended.Load())
	}
	last := s.Operator(t, "metro", "last")
	token := s.Token(t, last)
	for _, end := range ends {
		q := end(last.ID)
		q.Token = token
		if a := s.Do(t, q); a.Status != 409 || a.Code() != "invalid_state" {
			t.Errorf("the last one: %s %s: %d %s", q.Method, q.Body, a.Status, a.Body)
		}
	}
	s.Patch(t, token, membersPath+"/"+last.ID, `{"permissions":["MANAGE_MEMBERS"]}`).Must(t, 200)
}

// TestDisabledMember: disabling ends access and refresh tokens at once, and enabling does not
// bring them back.
func TestDisabledMember(t *testing.T) {
	s := newSuite(t)
	boss, ed := s.Token(t, s.actors[authz.Dashboard]), s.Operator(t, "metro", "ed")
	tokens := s.SignIn(t, ed)
	claims, err := s.Runtime.Keys().Verify(t.Context(), tokens.AccessToken)
	testkit.Must(t, err)
	s.Get(t, tokens.AccessToken, "/api/v1/trips").Must(t, 200)
	path := membersPath + "/" + ed.ID
	refreshed := func() int {
		return s.Form(t, "/oauth/token", nil, "grant_type", "refresh_token", "client_id", claims.ClientID, "refresh_token",
			tokens.RefreshToken).Status
	}
	s.Clock.Advance(time.Second)
	for _, disabled := range []string{"true", "false"} {
		a := s.Patch(t, boss, path, `{"disabled":`+disabled+`}`).Must(t, 200)
		if got := apptest.JSON[member.Member](t, a); fmt.Sprint(got.Disabled) != disabled {
			t.Errorf("%+v", got)
		}
		s.Get(t, tokens.AccessToken, "/api/v1/trips").Must(t, 401)
		if status := refreshed(); status != 400 {
			t.Errorf("a refresh of a member with disabled=%s: %d", disabled, status)
		}
	}
	s.Get(t, s.SignIn(t, ed).AccessToken, "/api/v1/trips").Must(t, 200)
	testkit.Must(t, person.Store{DB: s.DB}.DisableEverywhere(t.Context(), s.By(), ed.ID, true))
	s.Patch(t, boss, path, `{"disabled":false}`).Must(t, 409)
	s.Patch(t, boss, path, `{"role":"viewer"}`).Must(t, 200)
}

// TestTakenMeanwhile: a permission that is taken from the changer while the request runs
// refuses the change, if the change was not made before. At each request to the table is tried.
func TestTakenMeanwhile(t *testing.T) {
	s := newSuite(t)
	s.Still(t)
	people, metro := person.Store{DB: s.DB}, s.Tenant("metro")
	ed, flo := s.Operator(t, "metro", "ed"), s.Operator(t, "metro", "flo")
	token := s.Token(t, ed)
	set := func(id string, permissions ...string) {
		_, _, err := people.Edit(context.Background(), metro, s.By(), "test", id, func(m *person.Membership) error {
			m.Permissions = permissions
			return nil
		})
		testkit.Must(t, err)
	}
	invited := person.InvitationID(metro, "x@new.example")
	for _, q := range []apptest.Request{
		{Method: "PATCH", Path: membersPath + "/" + flo.ID, Body: `{"permissions":["VIEW_TRIPS"]}`},
		{Method: "POST", Path: membersPath, Body: `{"email":"x@new.example","permissions":["VIEW_TRIPS"]}`},
		{Method: "DELETE", Path: membersPath + "/" + invited},
		{Method: "DELETE", Path: membersPath + "/" + flo.ID},
	} {
		refused, first := 0, 0
		if strings.HasSuffix(q.Path, invited) {
			first = 2 // the first two requests run at once, and who takes an invitation back awaits one of them only
		}
		for n, ran := first, true; ran; n++ {
			if strings.HasSuffix(q.Path, flo.ID) {
				set(flo.ID, "VIEW_EVENTS", "VIEW_TRIPS")
			}
			q.Token = token
			s.Wire.Meanwhile(n, func() { set(ed.ID, "MANAGE_MEMBERS", "VIEW_EVENTS") })
			a := s.Do(t, q)
			if ran = s.Wire.Interrupted(); ran {
				refused++
				if a.Status != 403 || !strings.Contains(string(a.Body), `"VIEW_TRIPS"`) {
					t.Errorf("%s %s, taken before request %d: %d %s", q.Method, q.Path, n, a.Status, a.Body)
				}
			} else if a.Status >= 300 {
				t.Errorf("%s %s: %d %s", q.Method, q.Path, a.Status, a.Body)
			}
			set(ed.ID, authz.Permissions()...)
		}
		if refused == 0 {
			t.Errorf("%s %s: never taken", q.Method, q.Path)
		}
	}
}

// TestRolesAreEnough: a member with a role, and nothing else, can do the work of the role:
// everything that the console calls for it.
func TestRolesAreEnough(t *testing.T) {
	s := &suite{Service: apptest.With(t, apptest.Options{Phones: true})}
	s.ServiceType(t, "metro", "0.2")
	people, metro := person.Store{DB: s.DB}, s.Tenant("metro")
	views := []string{"trips", "drivers", "customers", "services", "zones", "settings", "branding", "events", "me"}
	for role, work := range map[string][]string{
		person.Dispatcher: views, person.Viewer: append([]string{"reports/summary?startDate=2026-01-01&endDate=2026-01-31",
			"wallets/postings", "wallets", "withdrawals", "webhooks"}, views...),
		person.Accountant: append([]string{"reports/summary?startDate=2026-01-01&endDate=2026-01-31", "wallets/postings",
			"wallets", "withdrawals", "exports"}, views...),
		person.Owner: append([]string{"members", "roles", "machines", "webhooks", "imports"}, views...),
	} {
		a := s.Operator(t, "metro", role)
		known, _ := person.RoleOf(role)
		_, _, err := people.Edit(t.Context(), metro, s.By(), "test", a.ID, func(m *person.Membership) error {
			m.Role, m.Permissions = role, known.Permissions
			return nil
		})
		testkit.Must(t, err)
		token := s.Token(t, a)
		for _, path := range work {
			if got := s.Get(t, token, "/api/v1/"+path); got.Status == 403 || got.Status == 401 || got.Status >= 500 {
				t.Errorf("a %s reads %s: %d %s", role, path, got.Status, got.Body)
			}
		}
		if role != person.Dispatcher && role != person.Owner {
			s.Post(t, token, "/api/v1/trips", "{}").Must(t, 403)
			continue
		}
		services := apptest.JSON[struct{ Items []struct{ ID string } }](t, s.Get(t, token, "/api/v1/services"))
		made := s.Post(t, token, "/api/v1/trips", fmt.Sprintf(`{"phone":"+12125550177","serviceTypeId":%q,"originLat":40.7,`+
			`"originLng":-74,"originAddress":"A","destLat":40.75,"destLng":-73.98,"destAddress":"B"}`,
			services.Items[0].ID))
		var trip struct{ EstimatedFare json.Number }
		if err := json.Unmarshal(made.Body, &trip); made.Status != 201 || err != nil || trip.EstimatedFare == "0" {
			t.Errorf("a %s books: %d %s", role, made.Status, made.Body)
		}
	}
}
