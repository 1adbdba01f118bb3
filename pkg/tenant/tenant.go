package tenant

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/currency"

	"svc/pkg/fault"
)

// Tenant is a tenant's record.
type Tenant struct {
	ID              string `json:"id"`
	Slug            string `json:"slug"` // never changes
	Name            string `json:"name"`
	Currency        string `json:"currency"`               // ISO 4217
	Timezone        string `json:"timezone"`               // IANA name
	CustomDomain    string `json:"customDomain,omitempty"` // host without scheme and port; "" for none
	Disabled        bool   `json:"disabled"`
	TaxiEnabled     bool   `json:"taxiEnabled"`
	DeliveryEnabled bool   `json:"deliveryEnabled"`
	ReadShards      int    `json:"readShards"`  // shards that lists merge
	WriteShards     int    `json:"writeShards"` // shards that writes pick from; at most ReadShards
	CreatedAt       string `json:"createdAt"`
	// ReadShardsAt is when ReadShards was last raised: WriteShards may follow a minute later.
	ReadShardsAt string `json:"readShardsAt,omitempty"`
}

// MaxShards is the largest number of shards.
const MaxShards = 64

// SettleShards is how long after ReadShards was raised WriteShards may follow:
// longer than any request or cache that still knows the old number.
const SettleShards = time.Minute

var (
	slugs   = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$`)
	domains = regexp.MustCompile(`^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])$`)
)

// normal puts a record into its stored form and says what is wrong with it.
func (t *Tenant) normal() error {
	t.CustomDomain = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(t.CustomDomain)), ".")
	t.Name = strings.TrimSpace(t.Name)
	switch {
	case !slugs.MatchString(t.Slug):
		return fault.Field("slug", "expected 1 to 40 small letters, digits and inner hyphens")
	case t.Name == "" || utf8.RuneCountInString(t.Name) > 100:
		return fault.Field("name", "expected 1 to 100 characters")
	case !isCurrency(t.Currency):
		return fault.Field("currency", "expected a code of ISO 4217 in capital letters, as in USD")
	case t.CustomDomain != "" && (len(t.CustomDomain) > 253 || !domains.MatchString(t.CustomDomain)):
		return fault.Field("domain", "expected a host name, as in ride.metro.example")
	case t.ReadShards < 1 || t.ReadShards > MaxShards || t.WriteShards < 1 || t.WriteShards > t.ReadShards:
		return fault.Field("shards", "expected 1 to %d, and no more to write than to read", MaxShards)
	}
	if _, err := time.LoadLocation(t.Timezone); err != nil || t.Timezone == "" || t.Timezone == "Local" {
		return fault.Field("timezone", "expected a name of the IANA database, as in Europe/Lisbon")
	}
	return nil
}

// isCurrency says whether text is the code of a currency.
func isCurrency(text string) bool {
	unit, err := currency.ParseISO(text)
	return err == nil && unit.String() == text && text != "XXX" // which stands for none
}

// follows says what is wrong with changing was to t at now.
func (t *Tenant) follows(was Tenant, now time.Time) error {
	switch {
	case t.ID != was.ID || t.Slug != was.Slug || t.CreatedAt != was.CreatedAt:
		return fmt.Errorf("a tenant's id, slug and creation never change")
	case t.ReadShards < was.ReadShards || t.WriteShards < was.WriteShards:
		return fault.Field("shards", "the number of shards never falls (read %d, write %d)", was.ReadShards, was.WriteShards)
	}
	if t.WriteShards > was.WriteShards {
		raised, err := time.Parse(time.RFC3339, was.ReadShardsAt)
		if t.WriteShards > was.ReadShards || (err == nil && now.Before(raised.Add(SettleShards))) {
			return fault.InvalidState("Reads must know of the shards for %d seconds before writes use them.", int(SettleShards.Seconds()))
		}
	}
	return nil
}
