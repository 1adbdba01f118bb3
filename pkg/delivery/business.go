package delivery

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"
	"golang.org/x/text/cases"

	"svc/pkg/branding"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/money"
	"svc/pkg/table"
)

// Business is a business that the tenant delivers for (decisions, "Shapes not
// shown").
type Business struct {
	ID       string      `json:"id"`
	Name     string      `json:"name"`
	Category string      `json:"category" example:"restaurant"`
	Address  string      `json:"address"`
	Lat      json.Number `json:"lat" doc:"Degrees."`
	Lng      json.Number `json:"lng" doc:"Degrees."`
	Phone    *string     `json:"phone"`
	LogoURL  *string     `json:"logoUrl" format:"uri"`
	Active   bool        `json:"active"`
}

// BusinessKey is the key of a business.
func BusinessKey(t table.Tenant, id string) table.Key { return t.Key("BUSINESS", "BUSINESS", id) }

// BusinessOf reads a business of its item; fault.NotFound when there is none.
func BusinessOf(it table.Item) (Business, error) {
	if !it.Found() {
		return Business{}, fault.NotFound()
	}
	var b Business
	return b, it.Decode(&b)
}

// BusinessItem is the stored form of a new business: by-g1 has the active ones
// by name, by-g2 all of them.
func BusinessItem(t table.Tenant, b Business, writeShards int) table.Item {
	return businessItem(t, b, shard(b.ID, writeShards))
}

func businessItem(t table.Tenant, b Business, shard string) table.Item {
	it := table.Item{Key: BusinessKey(t, b.ID), Type: "business", Version: 1, Doc: b, R: byName(b.Name) + "#" + b.ID}
	it.G[1] = t.Partition("BUSINESSES", "ALL", shard)
	if b.Active {
		it.G[0] = t.Partition("BUSINESSES", shard)
	}
	return it
}

// byName is a name as lists order it, cut to 64 characters.
func byName(name string) string {
	folded := []rune(cases.Fold().String(name))
	return string(folded[:min(len(folded), 64)])
}

func (b *Business) normal() error {
	b.Name, b.Category, b.Address = strings.TrimSpace(b.Name), strings.TrimSpace(b.Category), strings.TrimSpace(b.Address)
	switch {
	case !ids.Valid(ids.Business, b.ID):
		return fault.NotFound()
	case b.Name == "" || utf8.RuneCountInString(b.Name) > 100:
		return fault.Field("name", "expected 1 to 100 characters")
	case b.Category == "" || utf8.RuneCountInString(b.Category) > 100:
		return fault.Field("category", "expected 1 to 100 characters")
	case b.Address == "" || utf8.RuneCountInString(b.Address) > 300:
		return fault.Field("address", "expected 1 to 300 characters")
	case !degrees(&b.Lat, 90) || !degrees(&b.Lng, 180):
		return fault.Field("lat", "expected a latitude and a longitude in degrees")
	case b.Phone != nil && utf8.RuneCountInString(*b.Phone) > 100:
		return fault.Field("phone", "expected at most 100 characters")
	}
	if b.LogoURL != nil {
		if message := branding.CheckURL(*b.LogoURL); message != "" {
			return fault.Field("logoUrl", "%s", message)
		}
	}
	return nil
}

func degrees(n *json.Number, bound int64) bool {
	d, err := money.Parse(*n)
	if err != nil || d.Abs().GreaterThan(decimal.NewFromInt(bound)) {
		return false
	}
	*n = money.Number(d)
	return true
}
