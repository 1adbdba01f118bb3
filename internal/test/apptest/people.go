package apptest

import (
	"context"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/money"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/person"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/oauth/flow"
)

// Password is the password of every actor.
const Password = "demo-password"

var hash = testkit.PasswordHash(Password)

// By is the author of a test's changes.
func (s *Service) By() audit.By { return audit.By{Who: "svc:test", At: s.Clock.Now()} }

// tenants creates the tenants metro and harbor.
func (s *Service) tenants(t testing.TB) {
	t.Helper()
	store := tenant.Store{DB: s.DB}
	for _, n := range []struct {
		into *tenant.Tenant
		want tenant.Tenant
	}{
		{&s.Metro, tenant.Tenant{Slug: "metro", Name: "Metro Rides", Currency: "USD", Timezone: "America/New_York",
			TaxiEnabled: true, DeliveryEnabled: true, MaxOpenTrips: tenant.MostOpenTrips}},
		{&s.Harbor, tenant.Tenant{Slug: "harbor", Name: "Harbor Cabs", Currency: "EUR", Timezone: "Europe/Lisbon",
			TaxiEnabled: true, DeliveryEnabled: true, MaxOpenTrips: tenant.MostOpenTrips}},
	} {
		made, err := store.Create(context.Background(), s.By(), n.want)
		testkit.Must(t, err)
		*n.into = made
	}
}

// Tenant returns the handle of harbor's data for "harbor", and of metro's for
// any other slug.
func (s *Service) Tenant(slug string) table.Tenant {
	if slug == "harbor" {
		return s.DB.Tenant(s.Harbor.ID)
	}
	return s.DB.Tenant(s.Metro.ID)
}

// Change changes a tenant: flags, shards, and so on.
func (s *Service) Change(t testing.TB, slug string, change func(*tenant.Tenant)) {
	t.Helper()
	_, err := tenant.Store{DB: s.DB}.Change(context.Background(), s.Tenant(slug).ID(), s.By(),
		func(n *tenant.Tenant) error {
			change(n)
			return nil
		})
	testkit.Must(t, err)
}

// Actor is a person who can sign in.
type Actor struct {
	Tenant   string // slug
	Audience authz.Audience
	Email    string
	ID       string
}

// Operator returns the named operator of the tenant, who has every permission.
// The first call creates the person.
func (s *Service) Operator(t testing.TB, slug, name string) Actor {
	t.Helper()
	return s.actor(t, slug, name, authz.Dashboard)
}

// Rider returns the named rider of the tenant. The first call creates the
// rider.
func (s *Service) Rider(t testing.TB, slug, name string) Actor {
	t.Helper()
	return s.actor(t, slug, name, authz.Rider)
}

// Driver returns the named driver of the tenant. The first call creates the
// driver.
func (s *Service) Driver(t testing.TB, slug, name string) Actor {
	t.Helper()
	return s.actor(t, slug, name, authz.Driver)
}

// actor returns the named person of the audience. The first call creates the person.
func (s *Service) actor(t testing.TB, slug, name string, audience authz.Audience) Actor {
	t.Helper()
	a := Actor{Tenant: slug, Audience: audience, Email: name + "@" + slug + ".example"}
	key := slug + "/" + string(audience) + "/" + name
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, ok := s.people[key]; ok {
		a.ID = id
		return a
	}
	ctx, tn := context.Background(), s.Tenant(slug)
	first := strings.ToUpper(name[:1]) + name[1:]
	switch audience {
	case authz.Dashboard:
		store := person.Store{DB: s.DB}
		p, err := store.Create(ctx, s.By(), person.Person{Email: a.Email, FirstName: first, LastName: "Operator"}, hash)
		testkit.Must(t, err)
		_, err = store.Join(ctx, tn, s.By(), p.ID, "owner", authz.Permissions())
		testkit.Must(t, err)
		a.ID = p.ID
	case authz.Rider:
		r, err := customer.Store.Create(ctx, tn, s.By(), customer.Record{Customer: customer.Customer{FirstName: first,
			LastName: "Rider", Email: a.Email}}, hash)
		testkit.Must(t, err)
		a.ID = r.ID
	case authz.Driver:
		r, err := driver.Create(ctx, tn, s.By(), driver.Record{Driver: driver.Driver{FirstName: first, LastName: "Driver",
			Email: a.Email}}, hash)
		testkit.Must(t, err)
		a.ID = r.ID
	}
	s.people[key] = a.ID
	return a
}

// ServiceType creates a service type with the commission rate and returns its
// id.
func (s *Service) ServiceType(t testing.TB, slug, rate string) string {
	t.Helper()
	made, err := settings.AddService(context.Background(), s.Tenant(slug), s.By(),
		settings.Service{CommissionRate: money.Amount(rate),
			ServiceType: settings.ServiceType{Name: "Standard", BaseFare: "3", PerKm: "1.2", PerMinute: "0.3", MinimumFare: "5",
				Capacity: 4, Active: true}})
	testkit.Must(t, err)
	return made.ID
}

// Token signs the actor in through the real flow and returns an access token
// with the scopes. If no scopes are given, the token has all scopes of the
// audience that the actor may have. A second call with the same actor and
// scopes returns the same token until that has ended.
func (s *Service) Token(t testing.TB, a Actor, scopes ...string) string {
	t.Helper()
	key := a.Tenant + "/" + string(a.Audience) + "/" + a.Email + "/" + strings.Join(scopes, " ")
	s.mu.Lock()
	known := s.tokens[key]
	s.mu.Unlock()
	if s.Clock.Now().Before(known.ends) {
		return known.token
	}
	now := s.Clock.Now()
	got := s.SignIn(t, a, scopes...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[key] = signedIn{got.AccessToken, now.Add(time.Duration(got.ExpiresIn) * time.Second)}
	return got.AccessToken
}

// signedIn is an access token and its end.
type signedIn struct {
	token string
	ends  time.Time
}

// SignIn registers a new client and signs the actor in with it.
func (s *Service) SignIn(t testing.TB, a Actor, scopes ...string) flow.Tokens {
	t.Helper()
	return s.signIn(t, a, flow.Options{Tenant: a.Tenant, Scope: strings.Join(scopes, " ")})
}

// SignInFor is SignIn for the protected resources at the paths, separated by
// blanks. Its authorization request has no tenant_hint.
func (s *Service) SignInFor(t testing.TB, a Actor, paths string, scopes ...string) flow.Tokens {
	t.Helper()
	resource := s.URL + strings.Join(strings.Fields(paths), " "+s.URL)
	return s.signIn(t, a, flow.Options{Resource: resource, Scope: strings.Join(scopes, " ")})
}

// signIn signs the actor in with the options, through the real flow.
func (s *Service) signIn(t testing.TB, a Actor, o flow.Options) flow.Tokens {
	t.Helper()
	o.BaseURL, o.Audience, o.Email, o.Password, o.HTTPClient = s.URL, string(a.Audience), a.Email, Password, s.client
	tokens, err := flow.Token(context.Background(), o)
	if err != nil {
		t.Fatalf("signing in as %s %s: %v\n%s", a.Audience, a.ID, err, s.logs.tail())
	}
	return tokens
}
