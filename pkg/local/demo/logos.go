package demo

import (
	"encoding/base64"
	"maps"
)

// The demo companies' logos and icons. They are data URIs, so a page that shows
// them sends no request to another host.
var (
	metroLogo, metroIcon   = images(metroMark, "Metro Rides", "#0A2540", "98")
	harborLogo, harborIcon = images(harborMark, "Harbor Cabs", "#134E4A", "100")
)

// Marks of 40 by 40 units.
const (
	metroMark = `<circle cx="20" cy="20" r="17" fill="#0B5FFF"/><path d="M12 27V14l8 8 8-8v13" fill="none" ` +
		`stroke="#fff" stroke-width="3.5" stroke-linecap="round" stroke-linejoin="round"/>`
	harborMark = `<circle cx="20" cy="20" r="17" fill="#0F766E"/><path d="M20 8v12M20 10l8 9h-8M9 24q5.5-4 11 0t11 0` +
		`M12 30q4-3 8 0t8 0" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/>`
)

// images returns the logo (the mark and the name) and the icon (the mark
// alone). width is the width of the name in any font.
func images(mark, name, color, width string) (logo, icon string) {
	svg := func(width, content string) string {
		return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(
			`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 `+width+` 40">`+content+`</svg>`))
	}
	return svg("150", mark+`<text x="45" y="26" font-family="system-ui,sans-serif" font-size="17" font-weight="700" `+
		`textLength="`+width+`" lengthAdjust="spacingAndGlyphs" fill="`+color+`">`+name+`</text>`), svg("40", mark)
}

// Look returns the name and the branding of a demo company, metro or harbor.
func Look(slug string) (name string, look map[string]string) {
	p := map[string]demoTenant{metro.tenant.Slug: metro, harbor.tenant.Slug: harbor}[slug]
	return p.tenant.Name, maps.Clone(p.branding)
}
