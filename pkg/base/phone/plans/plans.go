// Package plans reads phone numbers by the numbering plans of all countries, which are
// about a megabyte of data. Only functions that parse phone numbers import the package.
package plans

import (
	"strings"

	"github.com/nyaruka/phonenumbers"

	"svc/pkg/base/phone"
)

// Read returns the number that a typed text stands for in a country, an ISO 3166
// code. If country is "", it reads international forms only. It returns nil if the
// text is no possible number.
func Read(typed, country string) *phone.Number {
	// Parse reads letters as the digits of a keypad, also those of a word for "extension".
	number, err := phonenumbers.Parse(phone.WithoutExtension(typed), country)
	if err != nil || !phonenumbers.IsPossibleNumber(number) {
		return nil
	}
	digits := func(f phonenumbers.PhoneNumberFormat) string {
		return strings.Map(func(r rune) rune {
			if r < '0' || r > '9' {
				return -1
			}
			return r
		}, phonenumbers.Format(number, f))
	}
	number.Extension = nil
	return &phone.Number{Typed: typed, E164: digits(phonenumbers.E164), National: digits(phonenumbers.NATIONAL)}
}

// IsCountry reports whether a text is the code (ISO 3166, two letters) of a country with
// a numbering plan.
func IsCountry(code string) bool { return phonenumbers.GetCountryCodeForRegion(code) != 0 }
