package profile

import (
	"context"
	"errors"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/machine"
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
				"a token with `openid` alone will do. The `actor` of a machine is `machine`.")),
		api.Patch("/api/v1/me", "svc_update_me", authz.Riders("rider.profile:write"), patchMe, api.Extension(),
			api.Tag("Me"), api.Summary("Change my profile"), api.Confirm("The company sees the new name and phone number."),
			api.Text("Only the given members change; `null` clears one. The mail address is not changed here: the company "+
				"does that.")),
	}
}

type handler struct{ people person.Store }

func (h handler) me(ctx context.Context, c *api.Caller, _ *struct{}) (*Profile, error) {
	switch {
	case c.Machine():
		return ofProgram(ctx, c)
	case c.Audience == authz.Dashboard:
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
	m, err := person.MemberKind.FromItem(state.Actor)
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

// ofProgram returns the profile of a machine, which the checks' batch has read.
func ofProgram(ctx context.Context, c *api.Caller) (*Profile, error) {
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	r, err := machine.Kind.FromItem(state.Actor)
	if err != nil {
		return nil, gone(err)
	}
	p := ofMachine(r, c.Tenant.ID(), state.Flags.Text("slug"), state.Flags.Text("name"))
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

// RiderEdit has the members of a profile that a rider decides.
type RiderEdit struct {
	FirstName *string `json:"firstName,omitempty" maxLength:"100" example:"Ava" doc:"First name. A rider has a first or a last name."`
	LastName  *string `json:"lastName,omitempty" maxLength:"100" example:"Thompson" doc:"Last name."`
	Phone     *string `json:"phone,omitempty" maxLength:"40" example:"+1 212 555 0190" doc:"Phone number."`
}

type patchMeInput struct {
	Body api.Changes[RiderEdit]
}

// patchMe changes the rider's own profile. It has no ETag, because a profile has one editor.
func patchMe(ctx context.Context, c *api.Caller, in *patchMeInput) (*RiderProfile, error) {
	return api.Edit(ctx, c, customer.Store.Changing(c.Tenant, c.By(), c.Actor.Subject, func(r *customer.Record) error {
		if r.Disabled { // between the checks and a later attempt
			return fault.Unauthorized("The token is no longer valid.", true)
		}
		first, last := r.FirstName, r.LastName
		e := RiderEdit{&first, &last, r.Phone}
		if err := in.Body.Apply(&e); err != nil {
			return err
		}
		shown := r.Name == customer.FullName(r.FirstName, r.LastName)
		r.FirstName, r.LastName, r.Phone = "", "", e.Phone
		if e.FirstName != nil {
			r.FirstName = *e.FirstName
		}
		if e.LastName != nil {
			r.LastName = *e.LastName
		}
		if shown { // the name to show follows, unless somebody chose another
			r.Name = ""
		}
		return nil
	}), func(r customer.Record) RiderProfile { return riderProfile(r.Customer) })
}
