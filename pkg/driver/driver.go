package driver

import (
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"

	"svc/pkg/email"
	"svc/pkg/fault"
	"svc/pkg/money"
	"svc/pkg/table"
)

// Driver is a driver as the API shows one (specification, "Driver").
type Driver struct {
	ID                string       `json:"id"`
	FirstName         string       `json:"firstName"`
	LastName          string       `json:"lastName"`
	Email             string       `json:"email"`
	Phone             *string      `json:"phone"`
	PhotoURL          *string      `json:"photoUrl" format:"uri"`
	Status            string       `json:"status" enum:"OFFLINE,ONLINE,BUSY"`
	Rating            *json.Number `json:"rating" nullable:"true" doc:"Mean rating, 0 to 5; null before the first."`
	TotalTrips        int64        `json:"totalTrips" doc:"Completed trips."`
	VehiclePlate      *string      `json:"vehiclePlate"`
	VehicleModel      *string      `json:"vehicleModel"`
	VehicleColor      *string      `json:"vehicleColor"`
	CurrentLat        *json.Number `json:"currentLat" nullable:"true" doc:"Last known position, WGS 84 degrees."`
	CurrentLng        *json.Number `json:"currentLng" nullable:"true" doc:"Last known position, WGS 84 degrees."`
	LocationUpdatedAt *string      `json:"locationUpdatedAt" format:"date-time"`
}

// The statuses.
const (
	Offline = "OFFLINE"
	Online  = "ONLINE"
	Busy    = "BUSY"
)

// Record is a driver with what the API does not show.
type Record struct {
	Driver
	Disabled        bool   `json:"disabled"`
	CreatedAt       string `json:"createdAt"`
	StatusUpdatedAt string `json:"statusUpdatedAt,omitempty"`
}

// Of reads a driver of the item; fault.NotFound when there is none. Status,
// trips and the disabled flag are attributes; the rest is the document.
func Of(it table.Item) (Record, error) {
	if !it.Found() {
		return Record{}, fault.NotFound()
	}
	var r Record
	var room table.Pointers
	if err := it.Members(func(name, text string, quoted bool) { r.read(&room, name, text, quoted) }); err != nil {
		return Record{}, err
	}
	r.Status, r.TotalTrips, r.Disabled = it.Text("status"), it.Int("totalTrips"), it.Flag("disabled")
	return r, nil
}

// read takes one member of a stored record.
func (r *Record) read(room *table.Pointers, name, text string, quoted bool) {
	var word **string
	var number **json.Number
	switch name {
	case "id":
		r.ID = text
	case "firstName":
		r.FirstName = text
	case "lastName":
		r.LastName = text
	case "email":
		r.Email = text
	case "createdAt":
		r.CreatedAt = text
	case "statusUpdatedAt":
		r.StatusUpdatedAt = text
	case "phone":
		word = &r.Phone
	case "photoUrl":
		word = &r.PhotoURL
	case "vehiclePlate":
		word = &r.VehiclePlate
	case "vehicleModel":
		word = &r.VehicleModel
	case "vehicleColor":
		word = &r.VehicleColor
	case "locationUpdatedAt":
		word = &r.LocationUpdatedAt
	case "rating":
		number = &r.Rating
	case "currentLat":
		number = &r.CurrentLat
	case "currentLng":
		number = &r.CurrentLng
	}
	switch {
	case word != nil && quoted:
		*word = room.Text(text)
	case number != nil && !quoted:
		*number = room.Number(text)
	}
}

func (r *Record) normal() error {
	r.FirstName, r.LastName, r.Email = strings.TrimSpace(r.FirstName), strings.TrimSpace(r.LastName), strings.TrimSpace(r.Email)
	for _, p := range []**string{&r.Phone, &r.PhotoURL, &r.VehiclePlate, &r.VehicleModel, &r.VehicleColor} {
		if *p != nil && strings.TrimSpace(**p) == "" {
			*p = nil
		}
	}
	switch {
	case r.FirstName == "" && r.LastName == "":
		return fault.Field("name", "expected a first or last name")
	case !email.Valid(email.Fold(r.Email)):
		return fault.Field("email", "expected a mail address")
	case r.Status != Offline && r.Status != Online && r.Status != Busy:
		return fault.Field("status", "expected OFFLINE, ONLINE or BUSY")
	case (r.CurrentLat == nil) != (r.CurrentLng == nil) || !within(r.CurrentLat, 90) || !within(r.CurrentLng, 180):
		return fault.Field("location", "expected a latitude and a longitude in degrees")
	case !within(r.Rating, 5) || (r.Rating != nil && strings.HasPrefix(string(*r.Rating), "-")):
		return fault.Field("rating", "expected 0 to 5")
	}
	for _, label := range []struct {
		field string
		text  *string
	}{{"firstName", &r.FirstName}, {"lastName", &r.LastName}, {"phone", r.Phone},
		{"vehiclePlate", r.VehiclePlate}, {"vehicleModel", r.VehicleModel}, {"vehicleColor", r.VehicleColor}} {
		if label.text != nil && utf8.RuneCountInString(*label.text) > 100 {
			return fault.Field(label.field, "expected at most 100 characters")
		}
	}
	if r.PhotoURL != nil {
		if u, err := url.Parse(*r.PhotoURL); err != nil || u.Scheme != "https" || u.Host == "" || utf8.RuneCountInString(*r.PhotoURL) > 2000 {
			return fault.Field("photoUrl", "expected an https URL of at most 2,000 characters")
		}
	}
	return nil
}

// within says whether the number is absent or between -bound and bound; it is
// put into its shortest form.
func within(n *json.Number, bound int64) bool {
	if n == nil {
		return true
	}
	d, err := money.Parse(*n)
	if err != nil || d.Abs().GreaterThan(money.Must(json.Number(itoa(bound)))) {
		return false
	}
	*n = money.Number(d)
	return true
}
