package profile

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/authz"
	"svc/pkg/customer"
	"svc/pkg/driver"
	"svc/pkg/person"
)

// OperatorProfile is an operator's profile: the person and the active membership.
type OperatorProfile struct {
	Actor      string     `json:"actor" enum:"dashboard"`
	ID         string     `json:"id"`
	FirstName  string     `json:"firstName"`
	LastName   string     `json:"lastName"`
	Email      string     `json:"email"`
	Membership Membership `json:"membership"`
}

// Membership is what the operator may do in the token's tenant.
type Membership struct {
	TenantID    string   `json:"tenantId"`
	TenantSlug  string   `json:"tenantSlug"`
	TenantName  string   `json:"tenantName"`
	Role        string   `json:"role"`
	Permissions []string `json:"permissions"`
}

// RiderProfile is a rider's profile (specification, "Profile").
type RiderProfile struct {
	Actor      string       `json:"actor" enum:"rider"`
	ID         string       `json:"id"`
	FirstName  string       `json:"firstName"`
	LastName   string       `json:"lastName"`
	Email      string       `json:"email"`
	Phone      *string      `json:"phone"`
	TotalTrips int64        `json:"totalTrips"`
	Rating     *json.Number `json:"rating" nullable:"true"`
}

// DriverProfile is a driver's profile: the driver record.
type DriverProfile struct {
	Actor string `json:"actor" enum:"driver"`
	driver.Driver
}

// Profile is one of the three.
type Profile struct{ of any }

// MarshalJSON writes the profile of the audience.
func (p Profile) MarshalJSON() ([]byte, error) { return json.Marshal(p.of) }

// Schema names the three shapes.
func (Profile) Schema(r huma.Registry) *huma.Schema {
	schema := &huma.Schema{Discriminator: &huma.Discriminator{PropertyName: "actor", Mapping: map[string]string{}}}
	for actor, shape := range map[string]reflect.Type{"dashboard": reflect.TypeFor[OperatorProfile](), "rider": reflect.TypeFor[RiderProfile](), "driver": reflect.TypeFor[DriverProfile]()} {
		schema.Discriminator.Mapping[actor] = r.Schema(shape, true, shape.Name()).Ref
	}
	for _, actor := range authz.Audiences {
		schema.OneOf = append(schema.OneOf, &huma.Schema{Ref: schema.Discriminator.Mapping[string(actor)]})
	}
	return schema
}

func ofOperator(p person.Person, m person.Membership, slug, name string) Profile {
	return Profile{OperatorProfile{Actor: string(authz.Dashboard), ID: p.ID, FirstName: p.FirstName, LastName: p.LastName, Email: p.Email,
		Membership: Membership{TenantID: m.TenantID, TenantSlug: slug, TenantName: name, Role: m.Role, Permissions: m.Permissions}}}
}

func ofRider(c customer.Customer) Profile {
	return Profile{RiderProfile{Actor: string(authz.Rider), ID: c.ID, FirstName: c.FirstName, LastName: c.LastName, Email: c.Email,
		Phone: c.Phone, TotalTrips: c.TotalTrips, Rating: c.Rating}}
}

func ofDriver(d driver.Driver) Profile {
	return Profile{DriverProfile{Actor: string(authz.Driver), Driver: d}}
}
