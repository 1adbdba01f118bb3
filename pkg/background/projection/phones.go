package projection

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/base/phone"
	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
)

// Phones parses the typed phones of drivers, riders and businesses, and stores the number
// beside the typed text. After a change of the company's country, svc rebuild parses all
// of them again.
type Phones struct {
	DB *table.DB
	// Read parses a phone in a country; if Read is nil, Phones stores nothing. Only
	// programs that link the numbering plans of all countries have it.
	Read func(typed, country string) *phone.Number
}

// phoned has the fields of an item's document that Phones reads.
type phoned struct {
	Phone  *string       `json:"phone"`
	Number *phone.Number `json:"number"`
}

// current reports whether the stored Number was parsed from Phone. It is true if both are
// absent.
func (p phoned) current() bool {
	return p.Phone == nil && p.Number == nil || p.Number.Of(p.Phone)
}

// phonedTypes are the types of items with a phone.
var phonedTypes = []string{"customer", "driver", "business"}

// Process stores the numbers of changed phones in a batch of the stream, and returns the
// changes that failed. An item whose number is stored already costs no request.
func (p Phones) Process(ctx context.Context, event events.DynamoDBEvent) []stream.Failure {
	if p.Read == nil {
		return nil
	}
	var groups [][]stream.Change
	for _, c := range stream.Changes(event) {
		var has phoned
		if c.New.Found() && slices.Contains(phonedTypes, c.New.Type) && c.New.Decode(&has) == nil &&
			!has.current() {
			groups = append(groups, []stream.Change{c})
		}
	}
	return stream.Each(ctx, groups, 1, func(ctx context.Context, changes []stream.Change) error {
		t, ok := stream.TenantOf(p.DB, changes[0].Key)
		if !ok {
			return nil
		}
		country, err := CountryOf(ctx, t)
		if err != nil {
			return err
		}
		_, err = p.store(ctx, t, changes[0].Key, country)
		return err
	})
}

// CountryOf returns the country in which a tenant's phones are read, "" for none.
func CountryOf(ctx context.Context, t table.Tenant) (string, error) {
	it, err := t.Get(ctx, tenant.Key(t))
	if err != nil || !it.Found() {
		return "", err
	}
	n, err := tenant.Kind.FromItem(it)
	return n.Country, err
}

// number returns the number that an item's phone stands for, nil for none. differs
// reports whether the item must be changed. If the phone cannot be parsed, a stored
// number that was parsed from it stays.
func (p Phones) number(it table.Item, country string) (n *phone.Number, differs bool, err error) {
	var has phoned
	if !it.Found() {
		return nil, false, nil
	}
	if err := it.Decode(&has); err != nil {
		return nil, false, stream.BadData(err)
	}
	if has.Phone != nil {
		n = p.Read(*has.Phone, country)
	}
	if n == nil {
		return nil, has.Number != nil && !has.current(), nil
	}
	return n, has.Number == nil || *n != *has.Number, nil
}

// store reads the item and stores the number of its phone, or removes a number that was
// not parsed from its phone, on the condition that the item has not changed meanwhile.
// The item's version stays, because nobody sees the change. A concurrent write may drop
// the number; the stream record of that write brings it back. changed reports whether
// store changed the item.
func (p Phones) store(ctx context.Context, t table.Tenant, key table.Key, country string) (changed bool, err error) {
	err = table.Retry(ctx, func(ctx context.Context) error {
		it, err := t.Get(ctx, key)
		if err != nil {
			return err
		}
		n, differs, err := p.number(it, country)
		if changed = differs; err != nil || !differs {
			return err
		}
		var doc map[string]any
		if err := it.Decode(&doc); err != nil {
			return stream.BadData(err)
		}
		if doc["number"] = n; n == nil {
			delete(doc, "number")
		}
		text, err := json.Marshal(doc)
		if err != nil {
			return err
		}
		tx := t.Write()
		tx.Update(key, table.Change{Set: map[string]any{"doc": string(text)}}).
			If("'version' = ?", it.Version)
		return conflicting(tx.Commit(ctx))
	})
	return changed, err
}

// All stores the missing and outdated numbers of a tenant, and returns how many
// items have a phone and how many changed.
func (p Phones) All(ctx context.Context, t table.Tenant) (phones, changed int, err error) {
	country, err := CountryOf(ctx, t)
	if err != nil {
		return 0, 0, err
	}
	visit := func(items []table.Item) error {
		for _, it := range items {
			_, differs, err := p.number(it, country)
			var has phoned
			if err = errors.Join(err, it.Decode(&has)); err != nil {
				return err
			}
			if has.Phone != nil {
				phones++
			}
			if !differs {
				continue
			}
			stored, err := p.store(ctx, t, it.Key, country)
			if err != nil {
				return err
			}
			if stored {
				changed++
			}
		}
		return nil
	}
	err = tenant.EachShard(ctx, t, func(shard int) error {
		n := strconv.Itoa(shard)
		for _, list := range []struct {
			partition string
			index     int
		}{{t.Partition("CUSTOMERS", n), 1}, {t.Partition("DRIVERS", n), 1}, {t.Partition("BUSINESSES", "ALL", n), 2}} {
			for items, err := range t.Pages(ctx, list.partition, table.Query{Index: list.index, Limit: rebuildPage}) {
				if err = errors.Join(err, visit(items)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return phones, changed, err
}
