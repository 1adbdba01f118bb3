// Package phone owns the stored form of phone numbers. The package does not know
// the numbering plans of countries: package plans does, and is large.
package phone

// Number is the number that a typed text stands for, in digits.
type Number struct {
	Typed    string `json:"typed"`
	E164     string `json:"e164"`     // country code and number, without "+"
	National string `json:"national"` // as it is called in its country
}

// Of reports whether n is the number of the typed text. It is not if an older
// build has changed the text.
func (n *Number) Of(typed *string) bool { return n != nil && typed != nil && n.Typed == *typed }
