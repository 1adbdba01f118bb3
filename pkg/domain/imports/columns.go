package imports

import (
	"slices"
	"strings"
	"unicode"

	"svc/pkg/base/search"
)

// aliases are headings that other programs write, folded, and their columns.
var aliases = map[string]string{
	"mail": "email", "emailaddress": "email", "emailadresse": "email", "correo": "email", "courriel": "email",
	"customeremail": "email", "phonenumber": "phone", "mobile": "phone", "mobilephone": "phone", "tel": "phone",
	"telephone": "phone", "telefon": "phone", "telefono": "phone", "handy": "phone",
	"givenname": "firstName", "vorname": "firstName", "prenom": "firstName", "nombre": "firstName",
	"surname": "lastName", "familyname": "lastName", "nachname": "lastName", "apellido": "lastName", "nom": "lastName",
	"apellidos": "lastName", "fullname": "name", "displayname": "name", "externalreference": "externalId",
	"customernumber": "externalId", "kundennummer": "externalId", "plate": "vehiclePlate",
	"licenseplate": "vehiclePlate", "licenceplate": "vehiclePlate", "kennzeichen": "vehiclePlate",
	"model": "vehicleModel", "color": "vehicleColor", "colour": "vehicleColor", "vehiclecolour": "vehicleColor",
	"latitude": "lat", "longitude": "lng", "lon": "lng", "long": "lng", "street": "address", "adresse": "address",
	"id": "tripId", "rideid": "tripId", "finalfare": "fare", "amount": "fare", "pickupaddress": "originAddress",
	"dropoffaddress": "destAddress", "pickuplat": "originLat", "pickuplng": "originLng", "dropofflat": "destLat",
	"dropofflng": "destLng", "driveremailaddress": "driverEmail",
}

// columnOf returns the column that a heading means, "" for none.
func columnOf(heading string, known []string) string {
	folded := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, search.Fold(heading))
	i := slices.IndexFunc(known, func(name string) bool {
		return strings.ToLower(name) == folded || name == aliases[folded]
	})
	if i < 0 {
		return ""
	}
	return known[i]
}

// plain returns the text of a cell: without the apostrophe that an export or a
// spreadsheet has put before a sign, and of ="0612" what is within. ok is false for
// a formula.
func plain(cell string) (text string, ok bool) {
	if rest, is := strings.CutPrefix(cell, "'"); is && rest != "" && strings.ContainsAny(rest[:1], "=+-@") {
		return rest, true
	}
	if rest, is := strings.CutPrefix(cell, `="`); is && strings.HasSuffix(rest, `"`) && strings.Count(rest, `"`) == 1 {
		return strings.TrimSuffix(rest, `"`), true
	}
	return cell, !strings.HasPrefix(cell, "=") && !strings.HasPrefix(cell, "@")
}

// split returns the first and last name of a whole name: "Novak, Iris" or "Iris
// Novak".
func split(name string) (first, last string) {
	if last, first, ok := strings.Cut(name, ","); ok {
		return strings.TrimSpace(first), strings.TrimSpace(last)
	}
	i := strings.LastIndexFunc(name, unicode.IsSpace)
	if i < 0 {
		return name, ""
	}
	return strings.TrimSpace(name[:i]), strings.TrimSpace(name[i:])
}
