package profile

import (
	"context"
	"errors"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/person"
	"svc/pkg/edge/api"
)

// Rows returns the endpoint of profiles. people is the store of the operators,
// who do not belong to one tenant.
func Rows(people person.Store) []api.Row {
	h := handler{people}
	policy := authz.Policy{Scopes: map[authz.Audience]string{
		authz.Dashboard: "", authz.Rider: "rider.profile:read", authz.Driver: "driver.profile:read"}}
	return []api.Row{
		api.Get("/api/v1/me", "svc_me", policy, h.me, api.Tag("Me"), api.Summary("Who am I"),
			api.Text("The caller's profile, in the shape of the token's audience. An operator needs no scope: "+
				"a token with `openid` alone will do.")),
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
		r, err := driver.FromItem(state.Actor)
		if err != nil {
			return nil, gone(err)
		}
		p := ofDriver(r.Driver)
		return &p, nil
	}
	r, err := customer.FromItem(state.Actor)
	if err != nil {
		return nil, gone(err)
	}
	p := ofRider(r.Customer)
	return &p, nil
}

// operator reads the person concurrently with the checks. The checks' batch
// returns the membership and the tenant's flags.
func (h handler) operator(ctx context.Context, c *api.Caller) (*Profile, error) {
	one, err := h.people.ByID(ctx, c.Actor.Subject)
	if err != nil {
		return nil, gone(err)
	}
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	m, err := person.MembershipFromItem(state.Actor)
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

// gone turns fault.NotFound for the actor's record into the 401 that the checks
// return for such a token.
func gone(err error) error {
	if errors.Is(err, fault.NotFound()) {
		return fault.Unauthorized("The token is no longer valid.", true)
	}
	return err
}
