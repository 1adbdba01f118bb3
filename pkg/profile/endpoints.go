package profile

import (
	"context"
	"errors"

	"svc/pkg/api"
	"svc/pkg/authz"
	"svc/pkg/customer"
	"svc/pkg/driver"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/person"
)

// Rows is the endpoint of profiles. People are the operators, who are not of
// one tenant.
func Rows(people person.Store) []api.Row {
	h := handler{people}
	policy := authz.Policy{Scopes: map[authz.Audience]string{
		authz.Dashboard: "", authz.Rider: "rider.profile:read", authz.Driver: "driver.profile:read"}}
	return []api.Row{
		api.Get("/api/v1/me", "svc_me", policy, h.me, api.Tag("Me"), api.Summary("Who am I"),
			api.Text("The caller's profile, in the shape of the token's audience.")),
	}
}

type handler struct{ people person.Store }

func (h handler) me(ctx context.Context, c *api.Caller, _ *struct{}) (*Profile, error) {
	if c.Audience == authz.Dashboard {
		return h.operator(ctx, c)
	}
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	if c.Audience == authz.Driver {
		r, err := driver.Of(state.Actor)
		if err != nil {
			return nil, gone(err)
		}
		p := ofDriver(r.Driver)
		return &p, nil
	}
	r, err := customer.Of(state.Actor)
	if err != nil {
		return nil, gone(err)
	}
	p := ofRider(r.Customer)
	return &p, nil
}

// operator reads the person beside the checks; membership and tenant come with
// them.
func (h handler) operator(ctx context.Context, c *api.Caller) (*Profile, error) {
	one, err := h.people.ByID(ctx, c.Actor.Subject)
	if err != nil {
		return nil, gone(err)
	}
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	m, err := person.MembershipOf(state.Actor)
	if err != nil {
		return nil, gone(err)
	}
	flags, err := c.Item(ctx, authz.FlagsKey(c.Tenant, ids.Pick(c.Actor.ID, authz.Copies)))
	if err != nil {
		return nil, err
	}
	p := ofOperator(one, m, flags.Text("slug"), flags.Text("name"))
	return &p, nil
}

// gone is an actor without a record: the checks will have refused the token.
func gone(err error) error {
	if errors.Is(err, fault.NotFound()) {
		return fault.Unauthorized("The token is no longer good.", true)
	}
	return err
}
