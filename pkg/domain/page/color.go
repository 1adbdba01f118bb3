package page

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
)

// Color is an opaque colour in sRGB.
type Color struct{ R, G, B uint8 }

var (
	white = Color{255, 255, 255}
	black = Color{17, 17, 17} // near black
)

// ParseColor parses #rgb, #rgba, #rrggbb or #rrggbbaa. It ignores the alpha
// part.
func ParseColor(s string) (Color, bool) {
	digits, ok := strings.CutPrefix(strings.TrimSpace(s), "#")
	if !ok {
		return Color{}, false
	}
	if len(digits) == 3 || len(digits) == 4 {
		long := ""
		for _, r := range digits {
			long += string(r) + string(r)
		}
		digits = long
	}
	raw, err := hex.DecodeString(digits)
	if err != nil || (len(raw) != 3 && len(raw) != 4) {
		return Color{}, false
	}
	return Color{raw[0], raw[1], raw[2]}, true
}

// String returns the colour in CSS form, #rrggbb.
func (c Color) String() string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// luminance returns the colour's relative luminance as WCAG 2.2 defines it, from 0 to 1.
func (c Color) luminance() float64 {
	linear := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// Contrast returns the contrast ratio of two colours as WCAG 2.2 defines it, from 1 to 21.
func Contrast(a, b Color) float64 {
	la, lb := a.luminance(), b.luminance()
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// adjust returns the colour nearest to c whose contrast with each of the backgrounds,
// grounds, is at least ratio. It moves c towards white or towards black. If no such colour
// exists, adjust returns the text colour for the first background (on).
func adjust(c Color, ratio float64, grounds ...Color) Color {
	enough := func(c Color) bool {
		for _, ground := range grounds {
			if Contrast(c, ground) < ratio {
				return false
			}
		}
		return true
	}
	const steps = 64
	for step := range steps + 1 {
		for _, end := range []Color{{0, 0, 0}, white} {
			if mixed := mix(c, end, float64(step)/steps); enough(mixed) {
				return mixed
			}
		}
	}
	return on(grounds[0])
}

// on returns the text colour for the background c: the first of white, near black
// and black whose contrast with c is at least 4.5. One of them always has that
// contrast.
func on(c Color) Color {
	if Contrast(c, white) >= 4.5 {
		return white
	}
	if Contrast(c, black) >= 4.5 {
		return black
	}
	return Color{}
}

// mix returns the colour between a and b at the given share (0 to 1) of the
// way.
func mix(a, b Color, share float64) Color {
	channel := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + (float64(y)-float64(x))*share)) }
	return Color{channel(a.R, b.R), channel(a.G, b.G), channel(a.B, b.B)}
}
