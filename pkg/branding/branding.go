package branding

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"svc/pkg/fault"
	"svc/pkg/table"
)

// Branding is a tenant's branding (specification, "Branding"). What is not set
// is null.
type Branding struct {
	AppName             *string `json:"appName" example:"Metro Rides"`
	PrimaryColor        *string `json:"primaryColor" example:"#0B5FFF"`
	SecondaryColor      *string `json:"secondaryColor" example:"#0A2540"`
	IconBackgroundColor *string `json:"iconBackgroundColor" example:"#FFF"`
	ThemeMode           *string `json:"themeMode" enum:"light,dark,system" example:"system"`
	LogoURL             *string `json:"logoUrl" format:"uri"`
	FaviconURL          *string `json:"faviconUrl" format:"uri"`
	SupportURL          *string `json:"supportUrl" format:"uri"`
	TermsURL            *string `json:"termsUrl" format:"uri"`
	PrivacyURL          *string `json:"privacyUrl" format:"uri"`
}

// Patch changes some fields of a branding: what is Set gets its Value, null
// clears.
type Patch struct {
	AppName             Field `json:"appName,omitempty" minLength:"1" maxLength:"100" example:"Metro Rides" doc:"What riders and drivers read as the service's name."`
	PrimaryColor        Field `json:"primaryColor,omitempty" pattern:"^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$" patternDescription:"#RGB or #RRGGBB" example:"#0B5FFF"`
	SecondaryColor      Field `json:"secondaryColor,omitempty" pattern:"^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$" patternDescription:"#RGB or #RRGGBB" example:"#0A2540"`
	IconBackgroundColor Field `json:"iconBackgroundColor,omitempty" pattern:"^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$" patternDescription:"#RGB or #RRGGBB" example:"#FFF"`
	ThemeMode           Field `json:"themeMode,omitempty" pattern:"^(light|dark|system)$" patternDescription:"light, dark or system" example:"system"`
	LogoURL             Field `json:"logoUrl,omitempty" maxLength:"2000" doc:"An https URL." example:"https://cdn.metro.example/logo.svg"`
	FaviconURL          Field `json:"faviconUrl,omitempty" maxLength:"2000" doc:"An https URL." example:"https://cdn.metro.example/favicon.ico"`
	SupportURL          Field `json:"supportUrl,omitempty" maxLength:"2000" doc:"An https URL." example:"https://metro.example/help"`
	TermsURL            Field `json:"termsUrl,omitempty" maxLength:"2000" doc:"An https URL." example:"https://metro.example/terms"`
	PrivacyURL          Field `json:"privacyUrl,omitempty" maxLength:"2000" doc:"An https URL." example:"https://metro.example/privacy"`
}

// Field is a member that may be absent, null or a text.
type Field struct {
	Set   bool
	Value *string
}

// UnmarshalJSON notes that the member was there.
func (f *Field) UnmarshalJSON(text []byte) error {
	f.Set = true
	return json.Unmarshal(text, &f.Value)
}

var color = regexp.MustCompile(`^#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$`)

// Apply gives the branding after the patch, or a 400 with every fault of it.
func (b Branding) Apply(p Patch) (Branding, error) {
	var faults []fault.Detail
	for _, f := range fields {
		change := f.of(&p)
		if !change.Set {
			continue
		}
		if change.Value != nil {
			if message := f.check(*change.Value); message != "" {
				faults = append(faults, fault.Detail{Field: "body." + f.name, Message: message})
				continue
			}
		}
		*f.in(&b) = change.Value
	}
	if faults != nil {
		return Branding{}, fault.Invalid(faults...)
	}
	return b, nil
}

// ParsePatch makes a patch of texts by field name, "" for null; a fault for a
// name that is no field.
func ParsePatch(values map[string]string) (Patch, error) {
	var p Patch
	for name, value := range values {
		found := false
		for _, f := range fields {
			if f.name == name {
				found, f.of(&p).Set = true, true
				if value != "" {
					f.of(&p).Value = &value
				}
			}
		}
		if !found {
			return Patch{}, fault.Field(name, "there is no such field of branding")
		}
	}
	return p, nil
}

type field struct {
	name  string
	of    func(*Patch) *Field
	in    func(*Branding) **string
	check func(string) string
}

var fields = []field{
	{"appName", func(p *Patch) *Field { return &p.AppName }, func(b *Branding) **string { return &b.AppName }, checkName},
	{"primaryColor", func(p *Patch) *Field { return &p.PrimaryColor }, func(b *Branding) **string { return &b.PrimaryColor }, checkColor},
	{"secondaryColor", func(p *Patch) *Field { return &p.SecondaryColor }, func(b *Branding) **string { return &b.SecondaryColor }, checkColor},
	{"iconBackgroundColor", func(p *Patch) *Field { return &p.IconBackgroundColor }, func(b *Branding) **string { return &b.IconBackgroundColor }, checkColor},
	{"themeMode", func(p *Patch) *Field { return &p.ThemeMode }, func(b *Branding) **string { return &b.ThemeMode }, checkTheme},
	{"logoUrl", func(p *Patch) *Field { return &p.LogoURL }, func(b *Branding) **string { return &b.LogoURL }, CheckURL},
	{"faviconUrl", func(p *Patch) *Field { return &p.FaviconURL }, func(b *Branding) **string { return &b.FaviconURL }, CheckURL},
	{"supportUrl", func(p *Patch) *Field { return &p.SupportURL }, func(b *Branding) **string { return &b.SupportURL }, CheckURL},
	{"termsUrl", func(p *Patch) *Field { return &p.TermsURL }, func(b *Branding) **string { return &b.TermsURL }, CheckURL},
	{"privacyUrl", func(p *Patch) *Field { return &p.PrivacyURL }, func(b *Branding) **string { return &b.PrivacyURL }, CheckURL},
}

func checkName(s string) string {
	if strings.TrimSpace(s) == "" || utf8.RuneCountInString(s) > 100 || strings.ContainsFunc(s, unicode.IsControl) {
		return "expected 1 to 100 characters"
	}
	return ""
}

func checkColor(s string) string {
	if !color.MatchString(s) {
		return "expected a colour as #RGB or #RRGGBB"
	}
	return ""
}

func checkTheme(s string) string {
	if s != "light" && s != "dark" && s != "system" {
		return "expected light, dark or system"
	}
	return ""
}

// noURL are the characters that a URL cannot hold (RFC 3986 section 2), and that
// would end it where a page or a style sheet has it.
const noURL = "\"<>\\^`{|}"

// CheckURL says, in words for the caller, why the text is not an https URL of
// at most 2,000 characters; "" when it is one.
func CheckURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" ||
		utf8.RuneCountInString(s) > 2000 || strings.ContainsAny(s, noURL) || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || unicode.IsSpace(r) }) {
		return "expected an https URL of at most 2,000 characters"
	}
	return ""
}

// Key is the key of the tenant's branding.
func Key(t table.Tenant) table.Key { return t.Key("BRANDING", "BRANDING") }

// Of reads a branding of its item; none is one without any field set.
func Of(it table.Item) (Branding, error) {
	var b Branding
	if !it.Found() {
		return b, nil
	}
	return b, it.Decode(&b)
}

// Read reads the tenant's branding as it is now.
func Read(ctx context.Context, t table.Tenant) (Branding, error) {
	it, err := t.Get(ctx, Key(t))
	if err != nil {
		return Branding{}, fmt.Errorf("branding: %w", err)
	}
	return Of(it)
}
