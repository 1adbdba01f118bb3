package branding

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"svc/pkg/base/email"
	"svc/pkg/base/fault"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// Branding is a tenant's branding (specification, "Branding"). A field that is
// not set is null.
type Branding struct {
	AppName             *string `json:"appName" example:"Metro Rides" doc:"The service's name, as people see it. If it is null, the sign-in pages show the company's name."`
	PrimaryColor        *string `json:"primaryColor" example:"#0B5FFF" doc:"Main colour, #RGB, #RGBA, #RRGGBB or #RRGGBBAA."`
	SecondaryColor      *string `json:"secondaryColor" example:"#0A2540" doc:"Second colour, in the same forms."`
	IconBackgroundColor *string `json:"iconBackgroundColor" example:"#FFF" doc:"Background of the app's icon, in the same forms."`
	ThemeMode           *string `json:"themeMode" enum:"light,dark,system" example:"system" doc:"Light, dark, or the setting of the person's system."`
	LogoURL             *string `json:"logoUrl" format:"uri" doc:"The logo, as an https URL or as a data URI."`
	FaviconURL          *string `json:"faviconUrl" format:"uri" doc:"The icon for browser tabs, as an https URL or as a data URI."`
	SupportURL          *string `json:"supportUrl" format:"uri" doc:"Where people get help: a page, a mail address or a phone number."`
	TermsURL            *string `json:"termsUrl" format:"uri" doc:"The terms of service."`
	PrivacyURL          *string `json:"privacyUrl" format:"uri" doc:"The privacy policy."`
}

// Patch is a change of some fields of a branding. A field whose Set is true gets its
// Value; a nil Value clears the field. The other fields stay as they are.
type Patch struct {
	AppName             api.Field `json:"appName,omitempty" minLength:"1" maxLength:"100" example:"Metro Rides" doc:"The service's name, as people see it; null clears it."`
	PrimaryColor        api.Field `json:"primaryColor,omitempty" pattern:"^#([0-9A-Fa-f]{3,4}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})$" patternDescription:"#RGB, #RGBA, #RRGGBB or #RRGGBBAA" example:"#0B5FFF" doc:"Main colour; null clears it."`
	SecondaryColor      api.Field `json:"secondaryColor,omitempty" pattern:"^#([0-9A-Fa-f]{3,4}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})$" patternDescription:"#RGB, #RGBA, #RRGGBB or #RRGGBBAA" example:"#0A2540" doc:"Second colour; null clears it."`
	IconBackgroundColor api.Field `json:"iconBackgroundColor,omitempty" pattern:"^#([0-9A-Fa-f]{3,4}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})$" patternDescription:"#RGB, #RGBA, #RRGGBB or #RRGGBBAA" example:"#FFF" doc:"Background of the app's icon; null clears it."`
	ThemeMode           api.Field `json:"themeMode,omitempty" pattern:"^(light|dark|system)$" patternDescription:"light, dark or system" example:"system" doc:"light, dark or system; null clears it."`
	LogoURL             api.Field `json:"logoUrl,omitempty" maxLength:"2000" doc:"An https URL, or the image itself as a data URI (PNG, JPEG, WebP or SVG, in base64)." example:"https://cdn.metro.example/logo.svg"`
	FaviconURL          api.Field `json:"faviconUrl,omitempty" maxLength:"2000" doc:"An https URL, or the image itself as a data URI (PNG, JPEG, WebP or SVG, in base64)." example:"https://cdn.metro.example/favicon.ico"`
	SupportURL          api.Field `json:"supportUrl,omitempty" maxLength:"2000" doc:"An https, http, mailto or tel URL." example:"https://metro.example/help"`
	TermsURL            api.Field `json:"termsUrl,omitempty" maxLength:"2000" doc:"An https or http URL." example:"https://metro.example/terms"`
	PrivacyURL          api.Field `json:"privacyUrl,omitempty" maxLength:"2000" doc:"An https or http URL." example:"https://metro.example/privacy"`
}

// color matches a colour in the forms that CSS has with "#".
var color = regexp.MustCompile(`^#(?:[0-9A-Fa-f]{3,4}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})$`)

// Apply returns the branding after the patch, or a 400 with every fault of the
// patch.
func (b Branding) Apply(p Patch) (Branding, error) {
	var wrong fault.Faults
	for _, f := range fields(&p, &b) {
		if !f.change.Set {
			continue
		}
		if f.change.Value != nil {
			if message := f.check(*f.change.Value); message != "" {
				wrong.Add("body."+f.name, message)
				continue
			}
			if strings.HasSuffix(f.name, "Url") {
				uri := URI(*f.change.Value)
				f.change.Value = &uri
			}
		}
		*f.value = f.change.Value
	}
	return b, wrong.Err()
}

// ParsePatch builds a patch from texts by field name; "" means null. It returns
// a fault for an unknown field name.
func ParsePatch(values map[string]string) (Patch, error) {
	var p Patch
	for name, value := range values {
		all := fields(&p, &Branding{})
		i := slices.IndexFunc(all, func(f field) bool { return f.name == name })
		if i < 0 {
			return Patch{}, fault.Field(name, "there is no such field of branding")
		}
		if all[i].change.Set = true; value != "" {
			all[i].change.Value = &value
		}
	}
	return p, nil
}

// field is one field of a branding with its part of a patch. check returns "" for a valid
// value, else a message for the caller.
type field struct {
	name   string
	change *api.Field
	value  **string
	check  func(string) string
}

// fields lists all fields of a branding. change and value of each point into p and b.
func fields(p *Patch, b *Branding) []field {
	return []field{
		{"appName", &p.AppName, &b.AppName, checkName},
		{"primaryColor", &p.PrimaryColor, &b.PrimaryColor, checkColor},
		{"secondaryColor", &p.SecondaryColor, &b.SecondaryColor, checkColor},
		{"iconBackgroundColor", &p.IconBackgroundColor, &b.IconBackgroundColor, checkColor},
		{"themeMode", &p.ThemeMode, &b.ThemeMode, checkTheme},
		{"logoUrl", &p.LogoURL, &b.LogoURL, checkImage},
		{"faviconUrl", &p.FaviconURL, &b.FaviconURL, checkImage},
		{"supportUrl", &p.SupportURL, &b.SupportURL, checkSupport},
		{"termsUrl", &p.TermsURL, &b.TermsURL, checkLink},
		{"privacyUrl", &p.PrivacyURL, &b.PrivacyURL, checkLink},
	}
}

// checkName returns "" if s may be the app's name, else a message for the caller.
func checkName(s string) string {
	switch {
	case plaintext.IsBlank(s) || utf8.RuneCountInString(s) > 100:
		return "expected 1 to 100 characters"
	case plaintext.HasInvisible(s):
		return "must not contain control, invisible or private-use characters"
	case plaintext.LooksLikePlatform(s):
		return "must not look like the platform's own name"
	}
	return ""
}

// checkColor returns "" for a colour in the forms of color, else a message for the caller.
func checkColor(s string) string {
	if !color.MatchString(s) {
		return "expected a colour as #RGB, #RGBA, #RRGGBB or #RRGGBBAA"
	}
	return ""
}

// checkTheme returns "" for a theme mode, else a message for the caller.
func checkTheme(s string) string {
	if s != "light" && s != "dark" && s != "system" {
		return "expected light, dark or system"
	}
	return ""
}

// URI returns a URL as a URI (RFC 3986): its host in ASCII (IDNA), and each other
// character beyond ASCII as the escapes of its bytes.
func URI(text string) string {
	if u, err := url.Parse(text); err == nil {
		if host, err := idna.Lookup.ToASCII(u.Hostname()); err == nil {
			text = strings.Replace(text, u.Hostname(), host, 1)
		}
	}
	var b strings.Builder
	for i := range len(text) {
		if text[i] < utf8.RuneSelf {
			b.WriteByte(text[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", text[i])
		}
	}
	return b.String()
}

// noURL lists characters that no URL may contain (RFC 3986 section 2). In a page or a
// style sheet, such a character could end the URL early.
const noURL = "\"<>\\^`{|}"

// CheckURL returns "" for a well-formed https URL of at most 2,000 characters and
// without user information. Otherwise it returns a message for the caller.
func CheckURL(s string) string {
	if !isURL(s, "https") {
		return "expected an https URL of at most 2,000 characters"
	}
	return ""
}

// dataImage matches a data URI (RFC 2397) of an image. A browser that shows such a URI
// as an image runs no script in it and loads nothing for it, not even for an SVG.
var dataImage = regexp.MustCompile(`^data:image/(png|jpeg|webp|svg\+xml);base64,[A-Za-z0-9+/]+={0,2}$`)

// IsDataImage reports whether a text is a data URI that may be shown as an
// image.
func IsDataImage(s string) bool { return dataImage.MatchString(s) && wellFormed(s) }

// checkImage is like CheckURL, but also accepts a data URI of an image.
func checkImage(s string) string {
	if isURL(s, "https") || IsDataImage(s) {
		return ""
	}
	return "expected an https URL or a data URI of an image (PNG, JPEG, WebP or SVG, in base64), " +
		"of at most 2,000 characters"
}

// checkLink is like CheckURL, but also accepts an http URL: a person opens the link.
func checkLink(s string) string {
	if !isURL(s, "https", "http") {
		return "expected an https or http URL of at most 2,000 characters"
	}
	return ""
}

// phoneURL matches a tel URL (RFC 3966) without parameters.
var phoneURL = regexp.MustCompile(`^tel:\+?[0-9][0-9().-]{2,30}$`)

// checkSupport is like checkLink, but also accepts a mailto URL and a tel URL.
func checkSupport(s string) string {
	address, mail := strings.CutPrefix(s, "mailto:")
	address, _, _ = strings.Cut(address, "?")
	if isURL(s, "https", "http") || phoneURL.MatchString(s) ||
		(mail && wellFormed(s) && email.Valid(email.Fold(address))) {
		return ""
	}
	return "expected an https, http, mailto or tel URL of at most 2,000 characters"
}

// isURL reports whether the text is wellFormed and a URL with a host, one of the
// schemes, and no user information.
func isURL(s string, schemes ...string) bool {
	u, err := url.Parse(s)
	return err == nil && slices.Contains(schemes, u.Scheme) && u.Hostname() != "" && u.User == nil && u.Opaque == "" &&
		wellFormed(s)
}

// wellFormed reports whether the text has at most 2,000 characters, and none
// that is in noURL, invisible or white space.
func wellFormed(s string) bool {
	return utf8.RuneCountInString(s) <= 2000 && !strings.ContainsAny(s, noURL) && !plaintext.HasInvisible(s) &&
		!strings.ContainsFunc(s, unicode.IsSpace)
}

// Key returns the key of the tenant's branding.
func Key(t table.Tenant) table.Key { return t.Key("BRANDING", "BRANDING") }

// Kind says how the branding is stored. If there is no item, the branding has no field
// set.
var Kind = table.Kind[Branding]{Type: "branding", Personal: "nothing",
	Row:  func(t table.Tenant, _ string, _ Branding) table.Item { return table.Item{Key: Key(t), Version: 1} },
	Read: func(it table.Item) (Branding, error) { return table.DecodeOr(it, Branding{}) }}
