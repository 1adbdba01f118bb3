package tenant

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/money"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/table"
)

// Tenant is a tenant's record.
type Tenant struct {
	ID              string `json:"id"`
	Slug            string `json:"slug"` // never changes
	Name            string `json:"name"`
	Currency        string `json:"currency"`               // ISO 4217
	Timezone        string `json:"timezone"`               // IANA name
	Country         string `json:"country,omitempty"`      // ISO 3166, for phone numbers without a country code; "" for none
	CustomDomain    string `json:"customDomain,omitempty"` // host without scheme and port; "" for none
	Disabled        bool   `json:"disabled"`
	TaxiEnabled     bool   `json:"taxiEnabled"`
	DeliveryEnabled bool   `json:"deliveryEnabled"`
	ReadShards      int    `json:"readShards"`  // number of shards that lists merge
	WriteShards     int    `json:"writeShards"` // number of shards that writes use; at most ReadShards
	CreatedAt       string `json:"createdAt"`
	// MaxFare is the largest fare of a trip in currency units; "" means
	// money.DefaultMaxFare.
	MaxFare money.Amount `json:"maxFare,omitempty"`
	// MaxPosting is the largest posting of an operator to a wallet, in currency
	// units; "" means money.MaxPosting.
	MaxPosting money.Amount `json:"maxPosting,omitempty"`
	// WalletFloor is the lowest balance, in currency units, to which a requested ride or a
	// posting may bring a rider's wallet; "" means no limit.
	WalletFloor money.Amount `json:"walletFloor,omitempty"`
	// MaxOpenTrips is how many open trips a rider may have: 1 to MostOpenTrips,
	// NoOpenTripsLimit, or 0 for MostOpenTrips. A new tenant has NewOpenTrips.
	MaxOpenTrips int `json:"maxOpenTrips,omitempty"`
	// AgentActions is what agents may do: off, read, confirm or all; "" means
	// confirm.
	AgentActions string `json:"agentActions,omitempty"`
	// RiderSignUp is who may sign up as a rider: SignUpOpen, SignUpInvite, or "" for
	// nobody.
	RiderSignUp string `json:"riderSignUp,omitempty"`
	// TermsVersion names the current version of the terms and the privacy policy,
	// which the branding links to. It is stored with a rider's agreement.
	TermsVersion string `json:"termsVersion,omitempty"`
	// Retain is for how long the tenant keeps personal data.
	Retain Retention `json:"retain,omitzero"`
	// ReadShardsAt is when ReadShards was last raised. WriteShards may be raised a minute
	// after that (SettleShards).
	ReadShardsAt string `json:"readShardsAt,omitempty"`
	// Sandbox marks a tenant for tests: its events say livemode false, and it may have
	// robots, which are simulated people. It is set at creation and never changes.
	Sandbox bool `json:"sandbox,omitempty"`
	// DeletingAt is when the deletion began, "" for none. From then on the tenant
	// is disabled and nothing can change it.
	DeletingAt string `json:"deletingAt,omitempty"`
}

// Values of Tenant.MaxOpenTrips.
const (
	MostOpenTrips    = 200
	NewOpenTrips     = 20
	NoOpenTripsLimit = -1
)

// OpenTrips returns, from a copy of the tenant's flags, how many open trips a rider may
// have; 0 means no limit. Flags that were written before this limit existed have
// MostOpenTrips.
func OpenTrips(flags table.Item) int {
	return max(0, cmp.Or(int(flags.Int("maxOpenTrips")), MostOpenTrips))
}

// Values of Tenant.RiderSignUp. With SignUpInvite, only customers whom an operator
// has added, and who have no password yet, may sign up.
const (
	SignUpOpen   = "open"
	SignUpInvite = "invite"
)

// SignUpFlag is the attribute of a tenant's flags that has Tenant.RiderSignUp.
const SignUpFlag = "riderSignUp"

// MaxShards is the largest number of shards of a tenant's lists.
const MaxShards = 64

// SettleShards is for how long after Tenant.ReadShards was raised WriteShards must
// stay. No request or cache uses the old number of ReadShards longer than that.
const SettleShards = time.Minute

// The valid forms of a slug, of the code of a country and of a domain.
var (
	slugs     = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$`)
	countries = regexp.MustCompile(`^[A-Z]{2}$`)
	domains   = regexp.MustCompile(`^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])$`)
)

// normalize converts a tenant's record to its stored form. The error lists every fault in
// the record. was is the record before the change: its currency stays valid even if it has
// gone out of use since.
func (t *Tenant) normalize(was Tenant) error {
	t.Slug = strings.ToLower(t.Slug)
	t.CustomDomain = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(t.CustomDomain)), ".")
	t.Name, t.TermsVersion = strings.TrimSpace(t.Name), strings.TrimSpace(t.TermsVersion)
	if t.RiderSignUp == "off" {
		t.RiderSignUp = ""
	}
	var wrong fault.Faults
	wrong.Unless(slugs.MatchString(t.Slug), "slug", "expected 1 to 40 letters from a to z, digits and inner hyphens")
	wrong.Unless(plaintext.IsLine(t.Name, 100), "name", "expected %s", plaintext.Rule(100))
	wrong.Unless(t.Currency == was.Currency || money.IsCurrency(t.Currency), "currency",
		"expected the code of a currency in use (ISO 4217) in capital letters, as in USD")
	wrong.Unless(t.Country == "" || countries.MatchString(t.Country), "country",
		"expected the code of a country (ISO 3166) in capital letters, as in DE")
	wrong.Unless(t.CustomDomain == "" || (len(t.CustomDomain) <= 253 && domains.MatchString(t.CustomDomain)), "domain",
		"expected a host name, as in ride.metro.example")
	wrong.Unless(t.ReadShards >= 1 && t.ReadShards <= MaxShards && t.WriteShards >= 1 && t.WriteShards <= t.ReadShards,
		"shards", "expected 1 to %d, and not more write shards than read shards", MaxShards)
	wrong.Unless(slices.Contains([]string{"", authz.AgentsOff, authz.AgentsRead, authz.AgentsConfirm, authz.AgentsAll},
		t.AgentActions), authz.AgentActions, "expected off, read, confirm or all")
	wrong.Unless(slices.Contains([]string{"", SignUpOpen, SignUpInvite}, t.RiderSignUp), SignUpFlag,
		"expected off, open or invite")
	wrong.Unless(plaintext.IsOptional(t.TermsVersion, 100), "termsVersion",
		"expected at most 100 characters, none of them a control character")
	wrong.Unless(t.MaxOpenTrips >= NoOpenTripsLimit && t.MaxOpenTrips <= MostOpenTrips, "maxOpenTrips",
		"expected 1 to %d, or none", MostOpenTrips)
	t.Retain.check(&wrong)
	t.limit(&wrong, "maxFare", &t.MaxFare)
	t.limit(&wrong, "maxPosting", &t.MaxPosting)
	if digits, negative := strings.CutPrefix(string(t.WalletFloor), "-"); digits != "" {
		floor, err := money.Accept(digits, t.Currency)
		wrong.Unless(err == nil, "walletFloor", "expected an amount, as in 0 or -20, with at most %d decimals (%s)",
			money.Decimals(t.Currency), t.Currency)
		if negative {
			floor = floor.Neg()
		}
		t.WalletFloor = money.Of(floor)
	}
	_, err := time.LoadLocation(t.Timezone)
	wrong.Unless(err == nil && t.Timezone != "" && t.Timezone != "Local", "timezone",
		"expected a name of the IANA database, as in Europe/Lisbon")
	return wrong.Err()
}

// Check returns what is wrong with a field of a new tenant, "" if nothing is.
func (t Tenant) Check(field string) string {
	var f *fault.Error
	if errors.As(t.normalize(Tenant{}), &f) {
		for _, d := range f.Details {
			if d.Field == field {
				return d.Message
			}
		}
	}
	return ""
}

// limit converts the limit n, the largest amount of some kind, to its stored form. An empty
// limit stays empty. If n is invalid, limit adds a fault to wrong, under the name field.
func (t *Tenant) limit(wrong *fault.Faults, field string, n *money.Amount) {
	if *n == "" {
		return
	}
	most, err := money.Accept(*n, t.Currency)
	positive := err == nil && most.IsPositive()
	wrong.Unless(positive, field, "expected an amount above 0, at most %s, with at most %d decimals (%s)", money.Max,
		money.Decimals(t.Currency), t.Currency)
	if positive {
		*n = money.Of(most)
	}
}

// Zone returns the time zone of a tenant's record.
func Zone(it table.Item) (*time.Location, error) {
	t, err := Kind.FromItem(it)
	if err != nil {
		return nil, err
	}
	return t.Zone()
}

// Zone returns the tenant's time zone.
func (t Tenant) Zone() (*time.Location, error) {
	zone, err := time.LoadLocation(t.Timezone)
	if err != nil {
		return nil, fmt.Errorf("time zone of the tenant: %w", err)
	}
	return zone, nil
}

// follows validates the change of a tenant's record from was to t, made at the time now.
func (t *Tenant) follows(was Tenant, now time.Time) error {
	switch {
	case was.DeletingAt != "":
		return ErrDeleting
	case t.ID != was.ID || t.Slug != was.Slug || t.CreatedAt != was.CreatedAt:
		return fmt.Errorf("a tenant's id, slug and creation time cannot change")
	case t.Sandbox != was.Sandbox:
		return fault.Field(sandbox, "a tenant is a sandbox from its creation and for ever, or never")
	case t.ReadShards < was.ReadShards || t.WriteShards < was.WriteShards:
		return fault.Field("shards", "the number of shards never falls (read %d, write %d)", was.ReadShards, was.WriteShards)
	}
	if t.WriteShards > was.WriteShards {
		raised, err := time.Parse(time.RFC3339, was.ReadShardsAt)
		if t.WriteShards > was.ReadShards || (err == nil && now.Before(raised.Add(SettleShards))) {
			return fault.InvalidState("Raise the read shards first, and wait %d seconds before you raise the write shards.",
				int(SettleShards.Seconds()))
		}
	}
	return nil
}
