package cli

import (
	"cmp"
	"context"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/machine"
	"svc/pkg/domain/person"
)

// Names finds the mail addresses and application names that tables show beside
// ids. It reads the name of each id once.
type Names struct {
	p     Platform
	t     table.Tenant
	found map[string]string
}

// NamesOf returns an empty cache of a tenant's names.
func NamesOf(p Platform, t table.Tenant) Names { return Names{p, t, map[string]string{}} }

// once returns the cached name of an id. If there is none, it calls read and
// caches the result.
func (n Names) once(id string, read func() (string, error)) string {
	name, ok := n.found[id]
	if !ok {
		name, _ = read() // after an error, such as a missing record, the table shows "-"
		n.found[id] = name
	}
	return name
}

// Email returns the mail address of an account, or the name of a machine.
func (n Names) Email(ctx context.Context, audience authz.Audience, id string) string {
	if authz.IsMachine(id) {
		return n.machine(ctx, id)
	}
	return n.once(id, func() (string, error) {
		switch audience {
		case authz.Rider:
			one, err := FindRider(ctx, n.t, id)
			return one.Email, err
		case authz.Driver:
			one, err := FindDriver(ctx, n.t, id)
			return one.Email, err
		}
		one, err := person.Store{DB: n.p.DB}.ByID(ctx, id)
		return one.Email, err
	})
}

func (n Names) machine(ctx context.Context, id string) string {
	return n.once(id, func() (string, error) {
		one, err := machine.Kind.Get(ctx, n.t.Get, machine.Key(n.t, id))
		return one.Name, err
	})
}

// Person returns the name of a rider or driver.
func (n Names) Person(ctx context.Context, audience authz.Audience, id string) string {
	return n.once("name "+id, func() (string, error) {
		if audience == authz.Driver {
			one, err := FindDriver(ctx, n.t, id)
			return strings.TrimSpace(one.FirstName + " " + one.LastName), err
		}
		one, err := FindRider(ctx, n.t, id)
		return one.Name, err
	})
}

// Anybody returns the name of a rider, driver or machine, or the mail address of an operator. It
// returns every other text, and the id of somebody without a name, as it is.
func (n Names) Anybody(ctx context.Context, id string) string {
	name := ""
	switch {
	case ids.Valid(ids.Customer, id):
		name = n.Person(ctx, authz.Rider, id)
	case ids.Valid(ids.Driver, id):
		name = n.Person(ctx, authz.Driver, id)
	case ids.Valid(ids.Person, id), ids.Valid(ids.Machine, id):
		name = n.Email(ctx, authz.Dashboard, id)
	}
	return cmp.Or(name, id)
}

// business returns the name of a business.
func (n Names) business(ctx context.Context, id string) string {
	return n.once(id, func() (string, error) {
		one, err := delivery.BusinessKind.Get(ctx, n.t.Get, delivery.BusinessKey(n.t, id))
		return one.Name, err
	})
}

// App returns the name of an OAuth client or a machine.
func (n Names) App(ctx context.Context, id string) string {
	if _, machine, ok := machine.ParseClientID(id); ok {
		return n.machine(ctx, machine)
	}
	return n.once(id, func() (string, error) {
		one, err := n.p.AuthorizationServer().ShowClient(ctx, id)
		return one.Name, err
	})
}

// Called is anybody, and knows businesses too.
func (n Names) Called(ctx context.Context, id string) string {
	if ids.Valid(ids.Business, id) {
		if name := n.business(ctx, id); name != "" {
			return name
		}
	}
	return n.Anybody(ctx, id)
}
