package fleet

import (
	"svc/pkg/base/codec"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/external"
)

// ManagedDriver is a driver as those who manage the fleet see one.
type ManagedDriver struct {
	driver.Driver
	Disabled  bool   `json:"disabled" doc:"Whether the driver can neither sign in nor use the API."`
	CreatedAt string `json:"createdAt" format:"date-time" doc:"When the account was created."`
}

func shownDriver(r driver.Record) ManagedDriver {
	return ManagedDriver{r.Driver, r.Disabled, r.CreatedAt}
}

// DriverEdit has the members of a driver that operators decide.
type DriverEdit struct {
	FirstName    *string `json:"firstName,omitempty" maxLength:"100" example:"Lena" doc:"First name. A driver has a first or a last name."`
	LastName     *string `json:"lastName,omitempty" maxLength:"100" example:"Fischer" doc:"Last name."`
	Phone        *string `json:"phone,omitempty" maxLength:"40" example:"+1 212 555 0184" doc:"Phone number."`
	PhotoURL     *string `json:"photoUrl,omitempty" maxLength:"2000" example:"https://cdn.metro.example/lena.jpg" doc:"An https URL of a photo."`
	VehiclePlate *string `json:"vehiclePlate,omitempty" maxLength:"100" example:"MTR-2201" doc:"Licence plate."`
	VehicleModel *string `json:"vehicleModel,omitempty" maxLength:"100" example:"Kia Niro" doc:"Make and model."`
	VehicleColor *string `json:"vehicleColor,omitempty" maxLength:"100" example:"Blue" doc:"Colour of the vehicle."`
	Disabled     *bool   `json:"disabled,omitempty" default:"false" doc:"Whether the driver can neither sign in nor use the API."`
	external.Edit
}

// NewDriver is the request body of an invitation.
type NewDriver struct {
	Email string `json:"email" minLength:"3" maxLength:"254" example:"driver9@metro.example" doc:"The mail address, with which the driver signs in."`
	DriverEdit
}

func driverEditOf(r driver.Record) DriverEdit {
	return DriverEdit{&r.FirstName, &r.LastName, r.Phone, r.PhotoURL, r.VehiclePlate, r.VehicleModel, r.VehicleColor,
		&r.Disabled, r.Members.Edit()}
}

func (e DriverEdit) set(r *driver.Record) error {
	r.FirstName, r.LastName, r.Disabled = codec.OrZero(e.FirstName), codec.OrZero(e.LastName), codec.OrZero(e.Disabled)
	r.Phone, r.PhotoURL, r.VehiclePlate, r.VehicleModel, r.VehicleColor = e.Phone, e.PhotoURL, e.VehiclePlate,
		e.VehicleModel, e.VehicleColor
	return r.Members.Set(e.Edit)
}

// ManagedCustomer is a customer as those who manage customers see one.
type ManagedCustomer struct {
	customer.Customer
	Disabled bool `json:"disabled" doc:"Whether the customer can neither sign in nor use the API."`
}

func shownCustomer(r customer.Record) ManagedCustomer { return ManagedCustomer{r.Customer, r.Disabled} }

// CustomerEdit has the members of a customer that operators decide.
type CustomerEdit struct {
	FirstName *string `json:"firstName,omitempty" maxLength:"100" example:"Iris" doc:"First name."`
	LastName  *string `json:"lastName,omitempty" maxLength:"100" example:"Novak" doc:"Last name."`
	Name      *string `json:"name,omitempty" maxLength:"100" example:"Iris N." doc:"The name to show; if absent, first and last name."`
	Phone     *string `json:"phone,omitempty" maxLength:"40" example:"+1 212 555 0190" doc:"Phone number."`
	Disabled  *bool   `json:"disabled,omitempty" default:"false" doc:"Whether the customer can neither sign in nor use the API."`
	external.Edit
}

// NewCustomer is the request body of an invitation.
type NewCustomer struct {
	Email string `json:"email,omitempty" minLength:"3" maxLength:"254" example:"rider9@metro.example" doc:"The mail address, with which the customer signs in. A customer without one needs a phone."`
	CustomerEdit
}

func customerEditOf(r customer.Record) CustomerEdit {
	return CustomerEdit{&r.FirstName, &r.LastName, &r.Name, r.Phone, &r.Disabled, r.Members.Edit()}
}

func (e CustomerEdit) set(r *customer.Record) error {
	r.FirstName, r.LastName, r.Name = codec.OrZero(e.FirstName), codec.OrZero(e.LastName), codec.OrZero(e.Name)
	r.Disabled = codec.OrZero(e.Disabled)
	r.Phone = e.Phone
	return r.Members.Set(e.Edit)
}
