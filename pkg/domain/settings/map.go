package settings

import (
	"net/url"
	"regexp"
	"strings"

	"svc/pkg/base/fault"
	"svc/pkg/base/outbound"
	"svc/pkg/domain/branding"
)

// origin matches an origin that a content security policy can name without quotes (CSP,
// "host-source").
var origin = regexp.MustCompile(`^https://[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$`)

// tile replaces the placeholders in the address of map tiles, which gives the address of
// one tile.
var tile = strings.NewReplacer("{z}", "0", "{x}", "0", "{y}", "0")

// Origin returns the origin from which the operators' console loads the map, "" if there is
// none.
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

// check adds what is wrong with the map's members to wrong.
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

// checkHosts checks the hosts of the addresses that a change sets, with the rule for
// webhook addresses (outbound.CheckHost). A stored address that breaks the rule does not
// block other changes. local is true in svc dev, where a map may come from the machine
// itself.
func (d Document) checkHosts(was Document, local bool) error {
	var wrong fault.Faults
	for _, address := range []struct {
		field    string
		old, now *string
	}{{"routing.url", was.Routing.URL, d.Routing.URL}, {"map.tiles", was.Map.Tiles, d.Map.Tiles}} {
		if address.now == nil || address.old != nil && *address.old == *address.now {
			continue
		}
		u, err := url.Parse(tile.Replace(*address.now))
		if err != nil {
			continue // Document.normalize reports a malformed address
		}
		if message := outbound.CheckHost(u); message != "" {
			own := local && address.now == d.Map.Tiles && outbound.IsLoopback(u.Hostname()) && outbound.CheckPort(u) == ""
			wrong.Unless(own, address.field, "%s", message)
		}
		// The HTTP client for routing engines connects to no other port.
		wrong.Unless(address.now != d.Routing.URL || u.Port() == "" || u.Port() == "443", address.field, "expected port 443")
	}
	return wrong.Err()
}
