package oauth_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/tenant"
)

// addRider adds a customer of metro without a password, as an operator's invitation
// does.
func (f *fixture) addRider(email string) customer.Record {
	f.t.Helper()
	r, err := customer.Store.Create(f.t.Context(), f.tenant, f.by(),
		customer.Record{Customer: customer.Customer{FirstName: "Ivy", LastName: "Added", Email: email}}, "")
	testkit.Must(f.t, err)
	return r
}

// Whom an operator has added, proves the address and sets a password. The account
// stays the operator's, with its name.
func TestSignUpOfAnAddedCustomer(t *testing.T) {
	t.Parallel()
	for _, who := range []string{tenant.SignUpOpen, tenant.SignUpInvite} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			f, mails := newFixtureWithMail(t)
			f.letSignUp(f.metro.ID, who)
			f.setTerms(metroTerms)
			added := f.addRider("Ivy@home.example")
			b := f.newBrowser()
			where := mails.signUpLink(b, b.get(ownSignUp), "ivy@HOME.example")
			if len(mails.sent) != 1 || mails.sent[0].to != "Ivy@home.example" {
				t.Fatalf("%+v", mails.sent)
			}
			form := b.get(where)
			if strings.Contains(form.body, `name="given"`) {
				t.Errorf("it asks for the name: %s", form.text())
			}
			if s := b.fill(form, "agree", ""); s.status != http.StatusBadRequest {
				t.Errorf("without agreeing: %d", s.status)
			}
			s := b.follow(b.fill(form))
			if !strings.Contains(s.text(), "Connected applications") {
				t.Errorf("it does not go on: %s", s.text())
			}
			r := f.rider("ivy@home.example")
			if r.ID != added.ID || r.Name != "Ivy Added" || r.Agreed == nil || r.Agreed.Version != "2026-03" {
				t.Errorf("%+v agreed %+v", r, r.Agreed)
			}
			if s := f.newBrowser().get(where); s.status != http.StatusBadRequest {
				t.Errorf("the link again: %d", s.status)
			}
			f.advance(time.Hour + time.Minute)
			if again := mails.signUpLink(b, b.get(ownSignUp), "ivy@home.example"); again != "" {
				t.Errorf("a link for an account with a password: %s", again)
			}
		})
	}
}

// Two links of one address, used at the same moment, make one rider. So does an
// operator who adds the customer meanwhile.
func TestSignUpRace(t *testing.T) {
	testkit.LongHere(t)
	t.Parallel()
	f, mails := newSignUps(t)
	for round, other := range []string{"a link", "an operator", "a link", "an operator"} {
		email := strings.Replace(newcomer, "@", string(rune('a'+round))+"@", 1)
		var forms []response
		var browsers []*browser
		for range 2 {
			b := f.newBrowser()
			where := mails.signUpLink(b, b.get(ownSignUp), email)
			browsers, forms = append(browsers, b), append(forms, b.get(where))
			f.advance(time.Hour + time.Minute)
		}
		var both sync.WaitGroup
		got := make([]response, 2)
		both.Go(func() { got[0] = browsers[0].fill(forms[0]) })
		both.Go(func() {
			if other == "a link" {
				got[1] = browsers[1].fill(forms[1])
				return
			}
			got[1].status = http.StatusSeeOther
			if _, err := customer.Store.Create(t.Context(), f.tenant, f.by(), customer.Record{Customer: customer.Customer{
				FirstName: "Ivy", Email: email}}, ""); err != nil {
				got[1].status = http.StatusBadRequest
			}
		})
		both.Wait()
		if got[0].status+got[1].status != http.StatusSeeOther+http.StatusBadRequest {
			t.Errorf("with %s: %d and %d", other, got[0].status, got[1].status)
		}
		found, _, err := customer.List(t.Context(), f.tenant, "", 100)
		testkit.Must(t, err)
		n := 0
		for _, r := range found {
			if r.Email == email {
				n++
			}
		}
		if n != 1 {
			t.Errorf("with %s: %d riders", other, n)
		}
		for i, b := range browsers {
			if s := b.fill(forms[i]); s.status != http.StatusBadRequest {
				t.Errorf("with %s: the form again: %d %s", other, s.status, s.text())
			}
		}
	}
}

// If the company ends the sign-ups while a link is being used, either the rider was
// there before, or there is none.
func TestSignUpEndsMeanwhile(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	f, mails := newSignUps(t)
	tried, late := 0, 0
	for p := range testkit.Points(t, 20) {
		email := strings.Replace(newcomer, "@", string(rune('a'+p.N))+"@", 1)
		b := f.newBrowser()
		form := b.get(mails.signUpLink(b, b.get(ownSignUp), email))
		first := false
		f.wire.Meanwhile(p.N, func() {
			first = f.rider(email).ID == ""
			f.letSignUp(f.metro.ID, "off")
		})
		s := b.fill(form)
		p.Reached(f.wire.Interrupted())
		f.letSignUp(f.metro.ID, tenant.SignUpOpen)
		if made := f.rider(email).ID != ""; made == first || (s.status == http.StatusSeeOther) != made {
			t.Errorf("before %v: ended first %v, rider made %v, %d %s", p, first, made, s.status, s.text())
		}
		tried++
		if !first { // the last sign-up does not end meanwhile
			late++
		}
	}
	if late == 0 || late == tried {
		t.Errorf("%d of %d ends came after the rider", late, tried)
	}
}

// In another browser than that of the sign-up, the link makes the account, but signs
// nobody in and leads to no application: a stranger may have begun the sign-up.
func TestSignUpInAnotherBrowser(t *testing.T) {
	t.Parallel()
	f, mails := newSignUps(t)
	b, other := f.newBrowser(), f.newBrowser()
	q := authorization(f.storeClient(forRiders), "tenant_hint", "metro", "scope", "openid", "prompt", "create")
	where := mails.signUpLink(b, b.authorize(q), newcomer)
	s := other.fill(other.get(where))
	if s.page() != "Your account is ready" || s.cookie("__Host-svc-session").Value != "" {
		t.Fatalf("%d %s %v", s.status, s.text(), s.cookies)
	}
	if got := other.get(s.link(t, "apps?")); got.page() != "sign-in" {
		t.Errorf("signed in: %s", got.text())
	}
	if got := b.get(baseURL + "/oauth/apps?audience=rider&tenant_hint=metro"); got.page() != "sign-in" {
		t.Errorf("the first browser is signed in: %s", got.text())
	}
}

// OpenID Connect Initiating User Registration 1.0: prompt=create leads to the page,
// also a person who is signed in, and only where riders may sign up.
func TestPromptCreate(t *testing.T) {
	t.Parallel()
	f, mails := newSignUps(t)
	riders := f.storeClient(forRiders)
	q := authorization(riders, "tenant_hint", "metro", "scope", "openid", "prompt", "create", "login_hint", newcomer)
	b := f.newBrowser()
	b.obtainCode(authorization(riders, "tenant_hint", "metro", "scope", "openid"), "rita@home.example")
	page := b.authorize(q)
	if page.page() != "Create an account" || !strings.Contains(page.body, `value="`+newcomer+`"`) {
		t.Fatalf("signed in: %s", page.text())
	}
	if got := b.follow(b.get(page.link(t, "authorize?"))); got.page() != "sign-in" {
		t.Errorf("with an account: %s", got.text())
	}
	s := b.follow(b.fill(b.get(mails.signUpLink(b, page, newcomer))))
	if s.page() != "consent" || !strings.Contains(s.text(), newcomer) {
		t.Fatalf("it does not go on with the new account: %s", s.text())
	}
	if s = b.consent(s); s.answer.Get("code") == "" ||
		f.storedCode(s.answer.Get("code")).Actor != f.rider(newcomer).ID {
		t.Errorf("the code: %s", s.text())
	}
	if got := b.authorize(q).page(); got != "Create an account" {
		t.Errorf("the same request again: %s", got)
	}
	for name, test := range map[string]struct {
		c     client
		pairs []string
		want  string
	}{
		"none too":         {riders, []string{"scope", "openid", "prompt", "none create"}, "invalid_request"},
		"login too":        {riders, []string{"scope", "openid", "prompt", "login create"}, "Create an account"},
		"off":              {riders, []string{"tenant_hint", "nova", "scope", "openid", "prompt", "create"}, "sign-in"},
		"an operator":      {f.storeClient(nil), []string{"prompt", "create"}, "sign-in"},
		"an unknown value": {riders, []string{"scope", "openid", "prompt", "make"}, "invalid_request"},
	} {
		b := f.newBrowser()
		if name == "off" {
			b.base = novaURL
		}
		got := b.authorize(authorization(test.c, append([]string{"tenant_hint", "metro"}, test.pairs...)...))
		if got.page() != test.want && !strings.Contains(got.text(), test.want) {
			t.Errorf("%s: %s, want %s", name, got.text(), test.want)
		}
	}
}

// A native application gets the code by a redirect of the form, which the policy of the
// form must allow.
func TestSignUpForANativeApplication(t *testing.T) {
	t.Parallel()
	f, mails := newSignUps(t)
	c := f.storeClient(func(c *client) {
		forRiders(c)
		c.RedirectURIs, c.ApplicationType = []string{"com.example.ride:/cb"}, "native"
	})
	b := f.newBrowser()
	page := b.authorize(authorization(c, "redirect_uri", "com.example.ride:/cb", "tenant_hint", "metro", "scope", "openid",
		"prompt", "create"))
	form := b.get(mails.signUpLink(b, page, newcomer))
	policy := form.header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "form-action 'self' com.example.ride:") {
		t.Error(policy)
	}
	if s := b.follow(b.fill(form)); s.page() != "consent" {
		t.Errorf("%d %s", s.status, s.text())
	}
}

// A link is good for 24 hours, at its company's address only, and leads to a new one.
func TestSignUpLink(t *testing.T) {
	t.Parallel()
	f, mails := newSignUps(t)
	f.letSignUp(f.nova.ID, tenant.SignUpOpen)
	b := f.newBrowser()
	b.base = novaURL
	where := mails.signUpLink(b, b.get("/oauth/signup?audience=rider&tenant_hint=nova"), newcomer)
	if !strings.HasPrefix(where, novaURL+"/") {
		t.Fatalf("%s", where)
	}
	elsewhere := f.newBrowser().get(strings.Replace(where, novaURL, baseURL, 1))
	if elsewhere.status != http.StatusFound || !strings.HasPrefix(elsewhere.location, novaURL+"/oauth/password?") {
		t.Errorf("at the platform's address: %d %s", elsewhere.status, elsewhere.text())
	}
	// The link belongs to its company, whatever tenant_hint in its address says.
	if s := b.follow(b.fill(b.get(strings.Replace(where, "tenant_hint=nova", "tenant_hint=metro", 1)))); s.status !=
		http.StatusOK {
		t.Errorf("%d %s", s.status, s.text())
	}
	if l, err := login.Find(t.Context(), f.db.Tenant(f.nova.ID), authz.Rider, newcomer); err != nil || l.Actor == "" ||
		f.rider(newcomer).ID != "" {
		t.Errorf("the account is not at the link's company: %v", err)
	}
	b = f.newBrowser()
	late := mails.signUpLink(b, b.get(ownSignUp), newcomer)
	f.advance(login.LinkLife)
	s := b.get(late)
	if s.status != http.StatusBadRequest || b.get(s.link(t, "signup?")).page() != "Create an account" {
		t.Errorf("a link of a day ago: %d %s", s.status, s.text())
	}
}

// What a rider types is text on every page. A sign-up keeps nothing of the person but
// the address, until it is proved.
func TestSignUpKeepsLittle(t *testing.T) {
	t.Parallel()
	f, mails := newSignUps(t)
	b := f.newBrowser()
	const evil = `"><script>alert(1)</script>`
	if s := b.post(b.get(ownSignUp+"&login_hint=%22%3E%3Cscript%3E"), "email", evil); strings.Contains(s.body, "<script") {
		t.Error(s.body)
	}
	where := mails.signUpLink(b, b.get(ownSignUp), newcomer)
	p := f.db.Platform("LINK")
	pending, err := p.Query(t.Context(), login.LinksOf(p, login.Newcomer(f.metro.ID, " NINA@home.example")),
		table.Query{Index: 1, Limit: 10})
	testkit.Must(t, err)
	if len(pending.Items) != 1 || pending.Items[0].Expires.Sub(f.now()) > 24*time.Hour {
		t.Fatalf("%+v", pending.Items)
	}
	var n login.Link
	testkit.Must(t, pending.Items[0].Decode(&n))
	if n.Actor != "" || n.Email != newcomer || n.SignUp.Query != "audience=rider&tenant_hint=metro" {
		t.Errorf("%+v", n)
	}
	s := b.fill(b.get(where), "given", evil, "family", evil, "again", "other")
	if s.status != http.StatusBadRequest || strings.Contains(s.body, "<script") ||
		!strings.Contains(s.body, "&lt;script") {
		t.Errorf("%d %s", s.status, s.body)
	}
	if s = b.follow(b.fill(s, "given", evil)); strings.Contains(s.body, "<script") || f.rider(newcomer).FirstName != evil {
		t.Errorf("%d %s", s.status, s.body)
	}
}

// A new rider is in the feed of events, in the search of operators, and may use the API.
func TestSignUpIsAnnounced(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s := apptest.New(t)
	s.Change(t, "metro", func(n *tenant.Tenant) { n.RiderSignUp = tenant.SignUpOpen })
	p := s.DB.Platform("LINK")
	tx := p.Write()
	path := login.AddLink(tx, p, login.Link{Audience: authz.Rider, TenantID: s.Tenant("metro").ID(), Email: newcomer,
		SignUp: &login.SignUp{Query: "audience=rider&tenant_hint=metro"}}, login.LinkHints(authz.Rider, "metro"),
		s.Clock.Now().Add(login.LinkLife))
	testkit.Must(t, tx.Commit(t.Context()))
	b := newServiceBrowser(t, s)
	if got := b.fill(b.get(path), "password", password, "again", password); got.page() != "Your account is ready" {
		t.Fatalf("%d %s", got.status, got.text())
	}
	s.Drain(t)
	boss := s.Token(t, s.Operator(t, "metro", "boss"))
	for path, want := range map[string]string{"/api/v1/events?type=customer.created": `"customer.created"`,
		"/api/v1/customers?q=nuñez": `"Nina Nuñez"`} {
		if got := string(s.Get(t, boss, path).Must(t, http.StatusOK).Body); strings.Count(got, want) != 1 {
			t.Errorf("%s: %s", path, got)
		}
	}
	rider := s.Token(t, apptest.Actor{Tenant: "metro", Audience: authz.Rider, Email: newcomer})
	if got := string(s.Get(t, rider, "/api/v1/me").Must(t, http.StatusOK).Body); !strings.Contains(got, newcomer) {
		t.Errorf("the profile: %s", got)
	}
}
