package demo

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/feedback"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

//go:embed demo.json
var text []byte

// demo is the content of demo.json.
var demo = read()

// content is all of the demo's data, except what exports.go writes. Numbers of people and
// service types count from 1, and 0 means none. Indexes of spots count from 0.
type content struct {
	Tenants   []demoTenant
	Support   account // the operator of metro and harbor
	Rides     []ride  // the trips of each tenant
	Cards     []card
	Addresses []saved
	Roadmap   []suggestion // the posts are in English and Portuguese
}

// demoTenant is one tenant of the demo. The sandbox has no trips of its own: its robots
// (simulated riders and drivers) make them.
type demoTenant struct {
	Tenant     tenant.Tenant
	Branding   map[string]string
	Images     map[string]string // SVG of the branding, by field
	Settings   rules
	Services   []settings.ManagedService
	Zones      []settings.Zone
	Operators  []account
	Drivers    []driver.Record
	Riders     []customer.Record
	Spots      []spot         // start and end points of trips; the fifth is the airport
	Shift      age            // added to the age of trips in rides that are older than an hour
	Notes      map[int]string // notes of trips, by number of the trip, from 1
	Reasons    []string       // reasons of cancelled trips
	Businesses []delivery.Business
	Menus      map[int][]dish // by number of the business, from 1
	Orders     []order
}

// rules is a settings document. A setting that demo.json does not set has its default.
type rules settings.Document

// UnmarshalJSON implements json.Unmarshaler: it sets the defaults, then the given settings.
func (r *rules) UnmarshalJSON(text []byte) error {
	*r = rules(settings.Default)
	from := json.NewDecoder(bytes.NewReader(text))
	from.DisallowUnknownFields()
	return from.Decode((*settings.Document)(r))
}

// account is an operator.
type account struct{ ID, Email, FirstName, LastName string }

// spot is an address with its coordinates.
type spot struct {
	Address  string
	Lat, Lng json.Number
}

// ride is one demo trip: when, who, from where to where, and its final status. Rider,
// Driver and Service are numbers from 1; 0 means none.
type ride struct {
	Ago           age // time since the request
	Rider, Driver int
	From, To      int // indexes of spots
	Service       int
	Pays          string
	Status        trip.Status
}

// order is one delivery order of the demo. Business, Rider and Driver are numbers from 1; a
// Driver of 0 means none.
type order struct {
	Business, Rider, Driver int
	Status                  string
	Ago                     age
	Fee                     money.Amount
	Lines                   []delivery.Line
}

// dish is an item of a menu of the demo.
type dish struct {
	Section, Name string
	Price         money.Amount
}

// card is a payment card of a rider. It expires in the month Month, Years years after the
// demo is loaded.
type card struct {
	Rider, Month, Years int
	Brand, Last4        string
}

// saved is an address that a rider saved.
type saved struct {
	Rider, Spot  int
	Label, Notes string
	Uses         int64
	Ago          age
}

// suggestion is one feedback post of the demo's roadmap.
type suggestion struct {
	By       voter
	Kind     string
	Status   feedback.Status
	Category string
	Title    string
	TitleEn  string
	Texts    feedback.Texts
	Days     int // age in days when the demo is loaded
	Voters   []voter
	Comments []reply
}

// reply is one comment on a post.
type reply struct {
	By   voter
	Days int // age in days when the demo is loaded
	Text string
}

// voter is a demo operator and the tenant in which the operator acts, written as slug and
// person, such as "metro both".
type voter struct{ slug, person string }

// UnmarshalText parses a slug, a blank and a person.
func (v *voter) UnmarshalText(text []byte) error {
	v.slug, v.person, _ = strings.Cut(string(text), " ")
	return nil
}

// id returns the operator's id.
func (v voter) id() string { return id(ids.Person, v.person, 1) }

// age is a duration such as 30h.
type age struct{ time.Duration }

// UnmarshalText parses a duration.
func (a *age) UnmarshalText(text []byte) (err error) {
	a.Duration, err = time.ParseDuration(string(text))
	return err
}

// read decodes demo.json. Images become data URIs, so a page that shows them sends no
// request to another host.
func read() (out content) {
	from := json.NewDecoder(bytes.NewReader(text))
	from.DisallowUnknownFields()
	if err := from.Decode(&out); err != nil {
		panic(fmt.Errorf("demo.json: %w", err))
	}
	for _, p := range out.Tenants {
		for field, svg := range p.Images {
			p.Branding[field] = "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(svg))
		}
	}
	return out
}

// bySlug returns a demo tenant, the zero one if there is none.
func (c content) bySlug(slug string) (one demoTenant) {
	for _, p := range c.Tenants {
		if p.Tenant.Slug == slug {
			one = p
		}
	}
	return one
}
