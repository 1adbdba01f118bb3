package settings

import (
	"net/url"
	"regexp"
	"strings"

	"svc/pkg/base/fault"
	"svc/pkg/domain/branding"
)

// A policy for content can name such an origin without quotes (CSP, "host-source").
var origin = regexp.MustCompile(`^https://[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$`)

// tile is the place of one image in an address of tiles.
var tile = strings.NewReplacer("{z}", "0", "{x}", "0", "{y}", "0")

// Origin returns the only other origin that the map is loaded from, "" if there is none.
func (m BaseMap) Origin() string {
	if m.Tiles == nil {
		return ""
	}
	u, err := url.Parse(tile.Replace(*m.Tiles))
	if err != nil || !origin.MatchString(strings.ToLower(u.Scheme+"://"+u.Host)) {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

func (m BaseMap) check(wrong *fault.Faults) {
	if m.Tiles != nil {
		places := 0
		for _, place := range []string{"{z}", "{x}", "{y}"} {
			places += min(1, strings.Count(*m.Tiles, place))
		}
		wrong.Unless(branding.CheckURL(tile.Replace(*m.Tiles)) == "" && m.Origin() != "" && (places == 0 || places == 3),
			"map.tiles", "expected an https URL of at most 2,000 characters, of a style, or of tiles with {z}, {x} and {y}")
	}
	wrong.Unless(m.Credit == nil || len(*m.Credit) <= 200, "map.credit", "expected at most 200 bytes")
}
