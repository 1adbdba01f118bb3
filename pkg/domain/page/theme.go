package page

import (
	_ "embed"
	"strings"
)

//go:embed style.css
var sheet string

// palette contains the colours of a colour scheme, light or dark, that do not depend on
// the tenant.
type palette struct {
	scheme                                                   string
	ground, card, ink, muted, edge, line, problem, problemOn Color
}

// The palettes of the colour schemes, and the colours for a tenant that chose none.
var (
	light = palette{scheme: "light", ground: Color{243, 244, 247}, card: white, ink: Color{22, 24, 29},
		muted: Color{84, 91, 105},
		edge:  Color{118, 126, 142}, line: Color{222, 226, 233}, problem: Color{150, 27, 20}, problemOn: Color{253, 236, 234}}
	dark = palette{scheme: "dark", ground: Color{16, 18, 23}, card: Color{26, 29, 36}, ink: Color{241, 243, 247},
		muted: Color{180, 187, 200},
		edge:  Color{139, 147, 163}, line: Color{52, 57, 68}, problem: Color{255, 180, 171}, problemOn: Color{59, 21, 18}}
	// The platform's colours, used if the tenant chose none.
	primaryDefault, secondaryDefault = Color{29, 78, 216}, Color{14, 116, 144}
)

// style returns the complete CSS of a page: the style sheet and the tenant's colours.
// Links, the stripe and the edges of buttons get the tenant's colours, adjusted
// until they have enough contrast with the background. Buttons and the badge
// keep the chosen colour. Their text is white, near black or black, with a
// contrast of at least 4.5 (see on).
func (b Brand) style() string {
	switch strings.ToLower(b.Theme) {
	case "light":
		return ":root{" + b.colors(light) + "}\n" + sheet
	case "dark":
		return ":root{" + b.colors(dark) + "}\n" + sheet
	}
	return ":root{" + b.colors(light) + "}\n@media (prefers-color-scheme:dark){:root{" + b.colors(dark) + "}}\n" + sheet
}

// colors returns the CSS variables for the colours of the page, in the given scheme.
func (b Brand) colors(p palette) string {
	primary, secondary := pick(b.Primary, primaryDefault), pick(b.Secondary, secondaryDefault)
	badge := pick(b.IconBackground, primary)
	link := adjust(primary, 4.5, p.card, p.ground)
	var css strings.Builder
	css.WriteString("color-scheme:" + p.scheme)
	for _, v := range []struct {
		name  string
		color Color
	}{
		{"ground", p.ground}, {"card", p.card}, {"ink", p.ink}, {"muted", p.muted}, {"edge", p.edge}, {"line", p.line},
		{"problem", p.problem}, {"problem-ground", p.problemOn},
		{"primary", primary}, {"on-primary", on(primary)}, {"primary-edge", adjust(primary, 3, p.card)}, {"link", link},
		{"stripe", adjust(secondary, 1.5, p.card)},
		{"badge", badge}, {"on-badge", on(badge)},
	} {
		css.WriteString(";--" + v.name + ":" + v.color.String())
	}
	return css.String()
}

// pick parses the colour that the tenant chose. If it is not valid, pick returns
// otherwise.
func pick(chosen string, otherwise Color) Color {
	if c, ok := ParseColor(chosen); ok {
		return c
	}
	return otherwise
}
