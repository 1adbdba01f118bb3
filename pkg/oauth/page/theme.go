package page

import (
	_ "embed"
	"strings"
)

//go:embed style.css
var sheet string

// palette is what a scheme has of its own, whatever the tenant chose.
type palette struct {
	scheme                                             string
	ground, card, ink, muted, edge, problem, problemOn Color
}

var (
	light = palette{scheme: "light", ground: Color{243, 244, 247}, card: white, ink: Color{22, 24, 29}, muted: Color{84, 91, 105},
		edge: Color{118, 126, 142}, problem: Color{150, 27, 20}, problemOn: Color{253, 236, 234}}
	dark = palette{scheme: "dark", ground: Color{16, 18, 23}, card: Color{26, 29, 36}, ink: Color{241, 243, 247}, muted: Color{180, 187, 200},
		edge: Color{139, 147, 163}, problem: Color{255, 180, 171}, problemOn: Color{59, 21, 18}}
	// The platform's own colours, for what a tenant did not choose.
	primaryDefault, secondaryDefault = Color{29, 78, 216}, Color{14, 116, 144}
)

// style gives the page's whole style: the sheet and the tenant's colours, each
// mended for the ground it stands on. Buttons and the badge keep the chosen
// colour: their text is the one of two that reads on it, and a button's edge
// is mended.
func (b Brand) style() string {
	switch strings.ToLower(b.Theme) {
	case "light":
		return ":root{" + b.colors(light) + "}\n" + sheet
	case "dark":
		return ":root{" + b.colors(dark) + "}\n" + sheet
	}
	return ":root{" + b.colors(light) + "}\n@media (prefers-color-scheme:dark){:root{" + b.colors(dark) + "}}\n" + sheet
}

func (b Brand) colors(p palette) string {
	primary, secondary := pick(b.Primary, primaryDefault), pick(b.Secondary, secondaryDefault)
	badge := pick(b.IconBackground, primary)
	link := mend(primary, 4.5, p.card, p.ground)
	var css strings.Builder
	css.WriteString("color-scheme:" + p.scheme)
	for _, v := range []struct {
		name  string
		color Color
	}{
		{"ground", p.ground}, {"card", p.card}, {"ink", p.ink}, {"muted", p.muted}, {"edge", p.edge},
		{"problem", p.problem}, {"problem-ground", p.problemOn},
		{"primary", primary}, {"on-primary", on(primary)}, {"primary-edge", mend(primary, 3, p.card)}, {"link", link}, {"stripe", mend(secondary, 1.5, p.card)},
		{"badge", badge}, {"on-badge", on(badge)},
	} {
		css.WriteString(";--" + v.name + ":" + v.color.String())
	}
	return css.String()
}

func pick(chosen string, otherwise Color) Color {
	if c, ok := ParseColor(chosen); ok {
		return c
	}
	return otherwise
}
