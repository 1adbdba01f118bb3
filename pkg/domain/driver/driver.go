package driver

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"svc/pkg/base/email"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/phone"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/external"
)

// Driver is a driver as the API shows one (specification, "Driver").
type Driver struct {
	ID                string        `json:"id" doc:"Identifier of the driver."`
	FirstName         string        `json:"firstName" doc:"First name."`
	LastName          string        `json:"lastName" doc:"Last name."`
	Email             string        `json:"email" doc:"Email address."`
	Phone             *string       `json:"phone" doc:"Phone number."`
	PhotoURL          *string       `json:"photoUrl" format:"uri" doc:"An https URL of a photo."`
	Status            string        `json:"status" enum:"OFFLINE,ONLINE,BUSY" doc:"The status that was last set. Trips change it only if the company's dispatch.driverStatus is strict. A disabled driver is OFFLINE."`
	Rating            *money.Amount `json:"rating" nullable:"true" doc:"Mean rating, 0 to 5; null before the first rating."`
	TotalTrips        int64         `json:"totalTrips" doc:"Completed trips."`
	VehiclePlate      *string       `json:"vehiclePlate" doc:"Licence plate."`
	VehicleModel      *string       `json:"vehicleModel" doc:"Make and model."`
	VehicleColor      *string       `json:"vehicleColor" doc:"Colour of the vehicle."`
	CurrentLat        *json.Number  `json:"currentLat" nullable:"true" doc:"Latitude of the last known position, WGS 84 degrees."`
	CurrentLng        *json.Number  `json:"currentLng" nullable:"true" doc:"Longitude of the last known position, WGS 84 degrees."`
	LocationUpdatedAt *string       `json:"locationUpdatedAt" format:"date-time" doc:"When the last known position was measured. It says where the driver is now only if the driver is not OFFLINE and this is at most five minutes ago."`
	ErasedAt          *string       `json:"erasedAt,omitempty" format:"date-time" doc:"When the person was erased; absent otherwise. Name, address and vehicle are then empty. An extension of the specification."`
	external.Members
}

// The statuses of a driver.
const (
	Offline = "OFFLINE"
	Online  = "ONLINE"
	Busy    = "BUSY"
)

// Record is a driver with the fields that the API does not show.
type Record struct {
	Driver
	// ServiceTypeIDs are the service types that the driver takes by dispatch. Without
	// any, the driver takes all.
	ServiceTypeIDs []string `json:"serviceTypeIds,omitempty"`
	// Number is the number that Phone stands for. Only programs that link the
	// numbering plans of all countries write it.
	Number          *phone.Number `json:"number,omitempty"`
	Disabled        bool          `json:"disabled"`
	CreatedAt       string        `json:"createdAt"`
	StatusUpdatedAt string        `json:"statusUpdatedAt,omitempty"`
	Trip            string        `json:"-"` // the ride that made the driver BUSY; "" if there is none
	// RatingSum and RatingCount are the sum and the number of the riders' ratings. The
	// projection counts them. After the first rating, Rating is their mean.
	RatingSum   int64 `json:"-"`
	RatingCount int64 `json:"-"`
}

// mostServices is the largest number of service types of a driver.
const mostServices = 50

// FromItem decodes a driver from the item. It returns fault.NotFound if there
// is none. Status, TotalTrips, Disabled, Trip and the sums of ratings
// are attributes of the item; everything else is in its document.
func FromItem(it table.Item) (Record, error) {
	r, err := table.DecodeDoc[Record](it)
	if err != nil {
		return Record{}, err
	}
	r.Status, r.TotalTrips, r.Disabled = it.Text("status"), it.Int("totalTrips"), it.Flag("disabled")
	r.Trip, r.RatingSum, r.RatingCount = it.Text("trip"), it.Int("ratingSum"), it.Int("ratingCount")
	if r.RatingCount > 0 {
		r.Rating = money.Ptr(decimal.NewFromInt(r.RatingSum).DivRound(decimal.NewFromInt(r.RatingCount), 2))
	}
	return r, nil
}

// Shown returns the driver as others see one: OFFLINE if disabled, also if an older
// build disabled the driver and kept the status.
func (r Record) Shown() Driver {
	if r.Disabled {
		r.Status = Offline
	}
	return r.Driver
}

func (r *Record) normalize() error {
	if r.Disabled {
		r.Status = Offline
	}
	r.FirstName, r.LastName, r.Email = strings.TrimSpace(r.FirstName), strings.TrimSpace(r.LastName),
		strings.TrimSpace(r.Email)
	for _, p := range []**string{&r.Phone, &r.PhotoURL, &r.VehiclePlate, &r.VehicleModel, &r.VehicleColor} {
		if *p != nil && strings.TrimSpace(**p) == "" {
			*p = nil
		}
	}
	var wrong fault.Faults
	wrong.Unless(r.FirstName != "" || r.LastName != "", "firstName", "expected a first or last name")
	wrong.Unless(email.Valid(email.Fold(r.Email)), "email", "expected a mail address")
	wrong.Unless(len(r.ServiceTypeIDs) <= mostServices && !slices.ContainsFunc(r.ServiceTypeIDs, func(id string) bool {
		return !ids.Valid(ids.Service, id)
	}), "services", "expected at most %d identifiers of service types", mostServices)
	wrong.Unless(r.Status == Offline || r.Status == Online || r.Status == Busy, "status",
		"expected OFFLINE, ONLINE or BUSY")
	wrong.Unless((r.CurrentLat == nil) == (r.CurrentLng == nil) && within(&r.CurrentLat, 90) && within(&r.CurrentLng, 180),
		"location", "expected a latitude and a longitude in degrees")
	wrong.Unless(within(&r.Rating, 5) && (r.Rating == nil || !strings.HasPrefix(string(*r.Rating), "-")), "rating",
		"expected 0 to 5")
	for _, label := range []struct {
		field string
		text  *string
	}{{"firstName", &r.FirstName}, {"lastName", &r.LastName},
		{"vehiclePlate", r.VehiclePlate}, {"vehicleModel", r.VehicleModel}, {"vehicleColor", r.VehicleColor}} {
		wrong.Unless(label.text == nil || plaintext.IsOptional(*label.text, 100), label.field,
			"expected at most 100 characters, none of them a control character")
	}
	if !r.Number.Of(r.Phone) {
		r.Number = nil
	}
	wrong.Unless(r.Phone == nil || phone.Is(*r.Phone), "phone", "expected a phone number, as in +1 212 555 0181")
	if r.PhotoURL != nil {
		message, uri := branding.CheckURL(*r.PhotoURL), branding.URI(*r.PhotoURL)
		r.PhotoURL = &uri
		wrong.Unless(message == "", "photoUrl", "%s", message)
	}
	return wrong.Err()
}

// within reports whether the number is absent or from -bound to bound. It
// makes *n point to a copy in the number's shortest form, and does not change the
// caller's number.
func within[T ~string](n **T, bound int64) bool {
	if *n == nil {
		return true
	}
	short := **n
	*n = &short
	return money.Within(*n, bound)
}
