package table

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc/pkg/base/codec"
	"svc/pkg/base/fault"
	"svc/pkg/base/money"
)

// Item is one stored item. Keys, conditions, filters and arithmetic use
// attributes. The rest is one JSON document.
type Item struct {
	Key
	Type     string         // "trip", "wallet", …: stream filters match it
	Layout   int            // version of the layout of Doc, attribute v; 0 is written as 1
	Version  int64          // Replace checks and increments it; 0 if the item has none
	G        [4]string      // partitions in the indexes by-g1…by-g4; "" keeps the item out of that index
	R        string         // position in those partitions, unique in each
	Attrs    map[string]any // string, int, int64, bool, money.Amount, []string (a set; empty: omitted); nil: absent
	Doc      any            // marshalled as JSON; nil for none. Read it with Decode
	Expires  time.Time      // attribute expiresAt; zero means never. Deletion comes later: readers must check Live
	Preserve Unknown        // data of the stored item that this build does not know, and that must be kept

	raw attrs
}

// Found reports whether a read found the item in the table.
func (it Item) Found() bool { return it.raw != nil }

// Live reports whether the item exists and has not expired at now.
func (it Item) Live(now time.Time) bool {
	return it.Found() && (it.Expires.IsZero() || now.Before(it.Expires))
}

// Decode reads the item's document into out.
func (it Item) Decode(out any) error {
	doc, ok := it.raw.get("doc")
	if !ok || doc.kind != kindText {
		return fmt.Errorf("item of type %q has no document", it.Type)
	}
	if err := codec.Unmarshal([]byte(doc.text), out); err != nil {
		return fmt.Errorf("document of an item of type %q: %w", it.Type, err)
	}
	return nil
}

// Raw returns the document's JSON text, "" if absent.
func (it Item) Raw() string { return it.raw.of("doc", kindText) }

// Text returns the string attribute with the name, "" if it is absent.
func (it Item) Text(name string) string { return it.raw.of(name, kindText) }

// Number returns the number attribute with the name, "0" if it is absent.
func (it Item) Number(name string) money.Amount {
	return money.Amount(cmp.Or(it.raw.of(name, kindNumber), "0")) // money.Amount has room for every number of DynamoDB
}

// Amount returns an amount that is stored as the string attribute with the name. It
// returns "" if the attribute is absent or not a number.
func (it Item) Amount(name string) money.Amount {
	text := it.Text(name)
	if _, err := money.Parse(text); err != nil {
		return ""
	}
	return money.Amount(text)
}

// Int returns the integer attribute with the name, 0 if it is absent.
func (it Item) Int(name string) int64 {
	n, _ := strconv.ParseInt(string(it.Number(name)), 10, 64)
	return n
}

// Flag returns the boolean attribute with the name, false if it is absent.
func (it Item) Flag(name string) bool {
	b, ok := it.raw.get(name)
	return ok && b.flag
}

// Has reports whether the item has an attribute with the name.
func (it Item) Has(name string) bool { _, ok := it.raw.get(name); return ok }

// Strings returns the elements of the set attribute with the name, nil if it is absent.
func (it Item) Strings(name string) []string {
	set, _ := it.raw.get(name)
	return set.set
}

// Shard returns the last part of the item's first index partition: the number of its
// shard, if the lists with the item have shards. It returns "" for an item in no index.
func (it Item) Shard() string {
	first := cmp.Or(it.G[0], it.G[1], it.G[2], it.G[3])
	return first[strings.LastIndexByte(first, '#')+1:]
}

// Counters returns all number attributes whose names begin with prefix. The
// keys are the names without the prefix.
func (it Item) Counters(prefix string) map[string]money.Amount { return it.raw.counters(prefix) }

// Decoded converts attributes in the SDK's form, such as those of a stream
// record, into an Item.
func Decoded(raw map[string]types.AttributeValue) Item { return itemOf(attrsOf(raw)) }

// itemOf converts stored attributes into an Item.
func itemOf(raw attrs) Item {
	it := Item{raw: raw}
	for i := range raw {
		a := &raw[i]
		switch a.kind {
		case kindText:
			switch a.name {
			case "pk":
				it.PK = a.text
			case "sk":
				it.SK = a.text
			case "type":
				it.Type = a.text
			case "r":
				it.R = a.text
			case "g1", "g2", "g3", "g4":
				it.G[a.name[1]-'1'] = a.text
			}
		case kindNumber:
			switch n, _ := strconv.ParseInt(a.text, 10, 64); a.name {
			case "v":
				it.Layout = int(n)
			case "version":
				it.Version = n
			case "expiresAt":
				if n > 0 {
					it.Expires = time.Unix(n, 0).UTC()
				}
			}
		case kindOther, kindFlag, kindSet:
		}
	}
	return it
}

// stringOf returns the text of an attribute, "" if it is no text.
func stringOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// encode returns the item's attributes as they are stored, in the SDK's form.
func (it Item) encode() (map[string]types.AttributeValue, error) {
	raw := map[string]types.AttributeValue{"pk": str(it.PK), "sk": str(it.SK), "type": str(it.Type),
		"v": num(strconv.Itoa(it.Preserve.layout(it.Layout)))}
	if it.Version != 0 {
		raw["version"] = num(strconv.FormatInt(it.Version, 10))
	}
	indexed := false
	for i, partition := range it.G {
		if partition != "" {
			raw[indexNames[i]], indexed = str(partition), true
		}
	}
	if it.R != "" {
		raw["r"] = str(it.R)
	} else if indexed {
		return nil, fmt.Errorf("item of type %q has an index partition (G) but no position (R)", it.Type)
	}
	if !it.Expires.IsZero() {
		raw["expiresAt"] = num(strconv.FormatInt(it.Expires.Unix(), 10))
	}
	for name, value := range it.Attrs {
		encoded, err := attribute(value)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		if _, used := raw[name]; used || name == "doc" {
			return nil, fmt.Errorf("attribute %s is reserved", name)
		}
		if encoded != nil {
			raw[name] = encoded
		}
	}
	it.Preserve.attributes(raw, it.Attrs)
	if it.Doc != nil {
		doc, err := codec.Marshal(it.Doc)
		if err != nil {
			return nil, fmt.Errorf("document of an item of type %q: %w", it.Type, err)
		}
		raw["doc"] = str(string(it.Preserve.document(it.Doc, doc)))
	}
	return raw, nil
}

// indexNames are the attributes for Item.G: the partition keys of by-g1 to by-g4.
var indexNames = [...]string{"g1", "g2", "g3", "g4"}

// str encodes a string as an attribute in the SDK's form.
func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// num encodes a number as an attribute in the SDK's form.
func num(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// attribute encodes a value of Item.Attrs in the SDK's form. It returns nil for nil, and
// for an empty set, because DynamoDB has no empty sets.
func attribute(value any) (types.AttributeValue, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		return str(v), nil
	case int:
		return num(strconv.Itoa(v)), nil
	case int64:
		return num(strconv.FormatInt(v, 10)), nil
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}, nil
	case money.Amount:
		return num(string(v)), nil
	case []string:
		if len(v) == 0 {
			return nil, nil
		}
		return &types.AttributeValueMemberSS{Value: v}, nil
	}
	return nil, fmt.Errorf("a %T cannot be an attribute", value)
}

// DecodeDoc decodes the document of an item. It returns fault.NotFound if
// there is no item.
func DecodeDoc[T any](it Item) (T, error) {
	var doc T
	if !it.Found() {
		return doc, fault.NotFound()
	}
	err := it.Decode(&doc)
	return doc, err
}

// DecodeOr decodes the document of an item. Members that the document does not have keep
// their values of otherwise. DecodeOr returns otherwise if there is no item.
func DecodeOr[T any](it Item, otherwise T) (T, error) {
	if !it.Found() {
		return otherwise, nil
	}
	err := it.Decode(&otherwise)
	return otherwise, err
}

// DecodeAll decodes each item with fromItem, and returns the values in the same order.
func DecodeAll[T any](items []Item, fromItem func(Item) (T, error)) ([]T, error) {
	out := make([]T, len(items))
	for i, it := range items {
		var err error
		if out[i], err = fromItem(it); err != nil {
			return nil, err
		}
	}
	return out, nil
}
