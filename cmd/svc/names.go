package main

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

// names finds the mail addresses and application names that tables show beside
// ids. It reads the name of each id once.
type names struct {
	p     platform
	t     table.Tenant
	found map[string]string
}

func namesOf(p platform, t table.Tenant) names { return names{p, t, map[string]string{}} }

// once returns the cached name of an id. If there is none, it calls read and
// caches the result.
func (n names) once(id string, read func() (string, error)) string {
	name, ok := n.found[id]
	if !ok {
		name, _ = read() // after an error, such as a missing record, the table shows "-"
		n.found[id] = name
	}
	return name
}

func (n names) email(ctx context.Context, audience authz.Audience, id string) string {
	if authz.IsMachine(id) {
		return n.machine(ctx, id)
	}
	return n.once(id, func() (string, error) {
		switch audience {
		case authz.Rider:
			one, err := findRider(ctx, n.t, id)
			return one.Email, err
		case authz.Driver:
			one, err := findDriver(ctx, n.t, id)
			return one.Email, err
		}
		one, err := person.Store{DB: n.p.db}.ByID(ctx, id)
		return one.Email, err
	})
}

func (n names) machine(ctx context.Context, id string) string {
	return n.once(id, func() (string, error) {
		one, err := machine.Kind.Get(ctx, n.t.Get, machine.Key(n.t, id))
		return one.Name, err
	})
}

// person returns the name of a rider or driver.
func (n names) person(ctx context.Context, audience authz.Audience, id string) string {
	return n.once("name "+id, func() (string, error) {
		if audience == authz.Driver {
			one, err := findDriver(ctx, n.t, id)
			return strings.TrimSpace(one.FirstName + " " + one.LastName), err
		}
		one, err := findRider(ctx, n.t, id)
		return one.Name, err
	})
}

// anybody returns the name of a rider, driver or machine, or the mail address of an operator. It
// returns every other text, and the id of somebody without a name, as it is.
func (n names) anybody(ctx context.Context, id string) string {
	name := ""
	switch {
	case ids.Valid(ids.Customer, id):
		name = n.person(ctx, authz.Rider, id)
	case ids.Valid(ids.Driver, id):
		name = n.person(ctx, authz.Driver, id)
	case ids.Valid(ids.Person, id), ids.Valid(ids.Machine, id):
		name = n.email(ctx, authz.Dashboard, id)
	}
	return cmp.Or(name, id)
}

// business returns the name of a business.
func (n names) business(ctx context.Context, id string) string {
	return n.once(id, func() (string, error) {
		one, err := delivery.BusinessKind.Get(ctx, n.t.Get, delivery.BusinessKey(n.t, id))
		return one.Name, err
	})
}

func (n names) app(ctx context.Context, id string) string {
	if _, machine, ok := machine.ParseClientID(id); ok {
		return n.machine(ctx, machine)
	}
	return n.once(id, func() (string, error) {
		one, err := n.p.authorizationServer().ShowClient(ctx, id)
		return one.Name, err
	})
}
