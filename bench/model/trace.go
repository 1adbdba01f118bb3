package model

import (
	"cmp"
	"strings"
)

// Load is read and write units.
type Load struct{ Reads, Writes float64 }

func (l Load) plus(m Load) Load { return Load{l.Reads + m.Reads, l.Writes + m.Writes} }

func (l Load) times(x float64) Load { return Load{l.Reads * x, l.Writes * x} }

// Operation is what one of the service's operations consumes, by the shape of the
// key, such as "by-g1 T#{tenant}#TRIPS#n". In a shape, {name} stands for an id, and
// #n for the number of a copy or shard.
type Operation struct {
	Name     string
	Requests float64 // number of the operation's requests to the service
	Loads    map[string]Load
}

// Trace is what was recorded in a tenant with a number of shards.
type Trace struct {
	Shards     int
	Ride       Operation // with its settlement and projection
	Operations []Operation
	Stored     map[string]float64 // bytes that a ride leaves, by index; "" is the table

	// Parameters to vary; 0 means the service's own value.
	Copies   int // of a tenant's flags and of a client's state
	Counters int // most shards of a counter
}

// The service's own values: authz.Copies and counter.MaxShards.
const (
	hasCopies   = 16
	hasCounters = 3
)

// Share is how often an operation happens for each ride.
type Share struct {
	Name string
	Of   float64 // times for each ride
}

// City is the assumed mix of a city's day: how often each operation happens for
// each ride, in addition to the ride's own five requests.
var City = []Share{
	{"GET /me/trips?limit=20 (rider)", 20}, {"GET /me/trips?limit=20 (driver)", 20}, {"GET /me (rider)", 1},
	{"PATCH /me/status (driver)", 2}, {"GET /trips?limit=20 (dashboard)", 2}, {"GET /trips/{trip} (dashboard)", 0.5},
	{"GET /reports/summary (dashboard)", 0.1}, {"POST /oauth/token refresh_token (rider)", 1},
	{"sign-in, five pages (rider)", 0.02}, {"POST /me/addresses (rider)", 0.05},
}

// unit is what a ride and its share of the mix consume at the keys of one
// shape.
type unit struct {
	shape  string
	load   Load
	keys   int     // of a tenant; 0 for very many
	hot    float64 // share of the load at those keys; the rest is spread over very many
	merges bool    // one batch of stream records writes a key only once
	shared bool    // all tenants share the keys
}

// mixed returns the units of a ride with its share of the mix, and the number
// of its requests.
func (t Trace) mixed(mix []Share) (units []unit, requests float64) {
	loads, order := map[string]Load{}, []string(nil)
	add := func(o Operation, times float64) {
		requests += o.Requests * times
		for _, shape := range sorted(o.Loads) {
			if _, known := loads[shape]; !known {
				order = append(order, shape)
			}
			loads[shape] = loads[shape].plus(o.Loads[shape].times(times))
		}
	}
	add(t.Ride, 1)
	for _, share := range mix {
		for _, o := range t.Operations {
			if o.Name == share.Name {
				add(o, share.Of)
			}
		}
	}
	for _, shape := range order {
		units = append(units, t.unit(shape, loads[shape]))
	}
	return units, requests
}

// unit describes the keys of a shape.
func (t Trace) unit(shape string, l Load) unit {
	u := unit{shape: shape, load: l, hot: 1, keys: 1}
	counter := strings.Contains(shape, "#REPORT#") || strings.Contains(shape, "#TOTALS#")
	switch {
	case strings.Contains(shape, "#REPORT#ms#"): // a key for each tenth of a second in which rides were requested
		u.keys, u.hot = 10, 0.2
	case strings.Contains(shape, "#REPORT#tenth#"): // a key for ten seconds
		u.hot, u.merges = 0.2, true
	case counter:
		u.keys, u.merges = min(t.Shards, cmp.Or(t.Counters, hasCounters)), true
	case strings.Contains(shape, "{tenant}#FLAGS#"), strings.HasPrefix(shape, "CLIENT#"):
		u.keys = cmp.Or(t.Copies, hasCopies)
	case strings.Contains(strings.ReplaceAll(shape, "{tenant}", ""), "{"):
		u.keys, u.hot = 0, 0
	case strings.HasSuffix(shape, "#n"):
		u.keys = t.Shards
	}
	u.shared = u.keys > 0 && !strings.Contains(shape, "{tenant}") && !strings.HasPrefix(shape, "CLIENT#")
	return u
}

// index returns the index of a shape, "" for the table.
func index(shape string) string {
	name, _, found := strings.Cut(shape, " ")
	if !found {
		return ""
	}
	return name
}
