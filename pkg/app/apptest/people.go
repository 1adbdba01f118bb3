package apptest

import (
	"context"
	"strings"
	"testing"

	"svc/pkg/audit"
	"svc/pkg/authz"
	"svc/pkg/customer"
	"svc/pkg/driver"
	"svc/pkg/oauth/flow"
	"svc/pkg/password"
	"svc/pkg/person"
	"svc/pkg/settings"
	"svc/pkg/table"
	"svc/pkg/tenant"
)

// Password is everybody's.
const Password = "demo-password"

var hash = password.Hash(Password)

// By is who makes a test's changes.
func (s *Service) By() audit.By { return audit.By{Who: "svc:test", At: s.Clock.Now()} }

func (s *Service) tenants(t testing.TB) {
	t.Helper()
	store := tenant.Store{DB: s.DB}
	for _, n := range []struct {
		into *tenant.Tenant
		want tenant.Tenant
	}{
		{&s.Metro, tenant.Tenant{Slug: "metro", Name: "Metro Rides", Currency: "USD", Timezone: "America/New_York", TaxiEnabled: true, DeliveryEnabled: true}},
		{&s.Harbor, tenant.Tenant{Slug: "harbor", Name: "Harbor Cabs", Currency: "EUR", Timezone: "Europe/Lisbon", TaxiEnabled: true, DeliveryEnabled: true}},
	} {
		made, err := store.Create(context.Background(), s.By(), n.want)
		must(t, err)
		*n.into = made
	}
}

// Tenant gives the handle of metro's or harbor's data.
func (s *Service) Tenant(slug string) table.Tenant {
	if slug == "harbor" {
		return s.DB.Tenant(s.Harbor.ID)
	}
	return s.DB.Tenant(s.Metro.ID)
}

// Change changes a tenant: flags, shards, and so on.
func (s *Service) Change(t testing.TB, slug string, change func(*tenant.Tenant)) {
	t.Helper()
	_, err := tenant.Store{DB: s.DB}.Change(context.Background(), s.Tenant(slug).ID(), s.By(), func(n *tenant.Tenant) error {
		change(n)
		return nil
	})
	must(t, err)
}

// Actor is somebody who can sign in.
type Actor struct {
	Tenant   string // slug
	Audience authz.Audience
	Email    string
	ID       string
}

// Operator, Rider and Driver give the named person of the tenant, made at the
// first call. An operator has every permission.
func (s *Service) Operator(t testing.TB, slug, name string) Actor {
	t.Helper()
	return s.actor(t, slug, name, authz.Dashboard)
}

// Rider gives a rider.
func (s *Service) Rider(t testing.TB, slug, name string) Actor {
	t.Helper()
	return s.actor(t, slug, name, authz.Rider)
}

// Driver gives a driver.
func (s *Service) Driver(t testing.TB, slug, name string) Actor {
	t.Helper()
	return s.actor(t, slug, name, authz.Driver)
}

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
		must(t, err)
		_, err = store.Join(ctx, tn, s.By(), p.ID, "owner", authz.Permissions())
		must(t, err)
		a.ID = p.ID
	case authz.Rider:
		r, err := customer.Create(ctx, tn, s.By(), customer.Record{Customer: customer.Customer{FirstName: first, LastName: "Rider", Email: a.Email}}, hash)
		must(t, err)
		a.ID = r.ID
	case authz.Driver:
		r, err := driver.Create(ctx, tn, s.By(), driver.Record{Driver: driver.Driver{FirstName: first, LastName: "Driver", Email: a.Email}}, hash)
		must(t, err)
		a.ID = r.ID
	}
	s.people[key] = a.ID
	return a
}

// Service makes a service type with the commission rate and gives its id.
func (s *Service) ServiceType(t testing.TB, slug, rate string) string {
	t.Helper()
	made, err := settings.AddService(context.Background(), s.Tenant(slug), s.By(), settings.Service{CommissionRate: jsonNumber(rate),
		ServiceType: settings.ServiceType{Name: "Standard", BaseFare: "3", PerKm: "1.2", PerMinute: "0.3", MinimumFare: "5", Capacity: 4, Active: true}})
	must(t, err)
	return made.ID
}

// Token signs the actor in through the real flow and gives an access token
// with the scopes, all of the audience when none is named. A second call gives
// the same token.
func (s *Service) Token(t testing.TB, a Actor, scopes ...string) string {
	t.Helper()
	key := a.Tenant + "/" + string(a.Audience) + "/" + a.Email + "/" + strings.Join(scopes, " ")
	s.mu.Lock()
	token, ok := s.tokens[key]
	s.mu.Unlock()
	if ok {
		return token
	}
	token = s.SignIn(t, a, scopes...).AccessToken
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[key] = token
	return token
}

// SignIn signs the actor in with a client of its own.
func (s *Service) SignIn(t testing.TB, a Actor, scopes ...string) flow.Tokens {
	t.Helper()
	tokens, err := flow.Token(context.Background(), flow.Options{BaseURL: s.URL, Tenant: a.Tenant, Audience: string(a.Audience),
		Email: a.Email, Password: Password, Scope: strings.Join(scopes, " "), HTTPClient: s.client})
	if err != nil {
		t.Fatalf("signing in as %s %s: %v\n%s", a.Audience, a.ID, err, s.logs.tail())
	}
	return tokens
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
