package profile

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/access/authz"
	"svc/pkg/base/money"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/external"
	"svc/pkg/domain/machine"
	"svc/pkg/domain/person"
)

// OperatorProfile is an operator's profile: the person and the active membership.
type OperatorProfile struct {
	Actor      string     `json:"actor" enum:"dashboard" doc:"The audience of the token."`
	ID         string     `json:"id" doc:"Identifier of the person."`
	FirstName  string     `json:"firstName" doc:"First name."`
	LastName   string     `json:"lastName" doc:"Last name."`
	Email      string     `json:"email" doc:"Email address."`
	Membership Membership `json:"membership" doc:"Role and permissions in the token's tenant."`
}

// Membership is the operator's role and permissions in the token's tenant.
type Membership struct {
	TenantID    string   `json:"tenantId" doc:"Identifier of the tenant."`
	TenantSlug  string   `json:"tenantSlug" doc:"Short name of the tenant."`
	TenantName  string   `json:"tenantName" doc:"Name of the tenant."`
	Role        string   `json:"role" doc:"The operator's role."`
	Permissions []string `json:"permissions" doc:"What the operator may do."`
}

// RiderProfile is a rider's profile (specification, "Profile").
type RiderProfile struct {
	Actor      string        `json:"actor" enum:"rider" doc:"The audience of the token."`
	ID         string        `json:"id" doc:"Identifier of the rider."`
	FirstName  string        `json:"firstName" doc:"First name."`
	LastName   string        `json:"lastName" doc:"Last name."`
	Email      string        `json:"email" doc:"Email address."`
	Phone      *string       `json:"phone" doc:"Phone number."`
	TotalTrips int64         `json:"totalTrips" doc:"Completed trips."`
	Rating     *money.Amount `json:"rating" nullable:"true" doc:"Mean rating, 0 to 5; null before the first rating."`
}

// DriverProfile is a driver's profile: the driver record.
type DriverProfile struct {
	Actor string `json:"actor" enum:"driver" doc:"The audience of the token."`
	driver.Driver
}

// MachineProfile is a machine's profile. An extension of the specification.
type MachineProfile struct {
	Actor      string     `json:"actor" enum:"machine" doc:"A program of the company."`
	ID         string     `json:"id" doc:"Identifier of the machine."`
	Name       string     `json:"name" doc:"Name of the machine."`
	Purpose    string     `json:"purpose" doc:"What it is for."`
	EndsAt     *string    `json:"endsAt" format:"date-time" doc:"When it ends; null for never."`
	Membership Membership `json:"membership" doc:"What it may do in its company. The role is machine."`
}

// Profile is one of the profiles.
type Profile struct{ of any }

// MarshalJSON encodes the profile that p holds.
func (p Profile) MarshalJSON() ([]byte, error) { return json.Marshal(p.of) }

// Schema returns a schema of the shapes.
func (Profile) Schema(r huma.Registry) *huma.Schema {
	schema := &huma.Schema{Discriminator: &huma.Discriminator{PropertyName: "actor", Mapping: map[string]string{}}}
	for actor, shape := range map[string]reflect.Type{"dashboard": reflect.TypeFor[OperatorProfile](),
		"rider": reflect.TypeFor[RiderProfile](), "driver": reflect.TypeFor[DriverProfile](),
		machineActor: reflect.TypeFor[MachineProfile]()} {
		schema.Discriminator.Mapping[actor] = r.Schema(shape, true, shape.Name()).Ref
	}
	for _, actor := range append(slices.Clone(authz.Audiences), machineActor) {
		schema.OneOf = append(schema.OneOf, &huma.Schema{Ref: schema.Discriminator.Mapping[string(actor)]})
	}
	return schema
}

// machineActor is the actor of a machine's profile. Its token has the audience dashboard.
const machineActor = "machine"

func ofMachine(r machine.Record, tenantID, slug, name string) Profile {
	return Profile{MachineProfile{Actor: machineActor, ID: r.ID, Name: r.Name, Purpose: r.Purpose, EndsAt: r.EndsAt,
		Membership: Membership{TenantID: tenantID, TenantSlug: slug, TenantName: name, Role: machineActor,
			Permissions: r.Permissions}}}
}

func ofOperator(p person.Person, m person.Membership, slug, name string) Profile {
	return Profile{OperatorProfile{Actor: string(authz.Dashboard), ID: p.ID, FirstName: p.FirstName, LastName: p.LastName,
		Email: p.Email,
		Membership: Membership{TenantID: m.TenantID, TenantSlug: slug, TenantName: name, Role: m.Role,
			Permissions: m.Permissions}}}
}

func ofRider(c customer.Customer) Profile { return Profile{riderProfile(c)} }

func riderProfile(c customer.Customer) RiderProfile {
	return RiderProfile{Actor: string(authz.Rider), ID: c.ID, FirstName: c.FirstName, LastName: c.LastName,
		Email: c.Email, Phone: c.Phone, TotalTrips: c.TotalTrips, Rating: c.Rating}
}

func ofDriver(d driver.Driver) Profile {
	d.Members = external.Members{}
	return Profile{DriverProfile{Actor: string(authz.Driver), Driver: d}}
}
