package table

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is one stored item. What keys, conditions, filters and arithmetic name
// is an attribute; the rest is one JSON document.
type Item struct {
	Key
	Type    string         // "trip", "wallet", …: what stream filters look at
	Layout  int            // version of the layout of Doc, attribute v; 0 is written as 1
	Version int64          // grows by one with every change; 0 where the item has none
	G       [4]string      // partitions in the indexes by-g1…by-g4; "" is: not in that index
	R       string         // position in those partitions, unique in each
	Attrs   map[string]any // string, int, int64, bool, json.Number or []string (a set; empty is left out)
	Doc     any            // marshalled by encoding/json; nil for none. Read it with Decode
	Expires time.Time      // attribute expiresAt; zero is never. Deletion is lazy: whoever reads it checks Live

	raw attrs
}

// Found says whether a read brought the item.
func (it Item) Found() bool { return it.raw != nil }

// Live says whether the item was found and has not expired at now.
func (it Item) Live(now time.Time) bool {
	return it.Found() && (it.Expires.IsZero() || now.Before(it.Expires))
}

// Decode reads the item's document into out.
func (it Item) Decode(out any) error {
	doc, ok := it.raw.get("doc")
	if !ok || doc.kind != kindText {
		return fmt.Errorf("item of type %q has no document", it.Type)
	}
	text := unsafe.Slice(unsafe.StringData(doc.text), len(doc.text)) //nolint:gosec // it is only read, so it need not be copied
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("document of an item of type %q: %w", it.Type, err)
	}
	return nil
}

// Raw gives the document's JSON text, "" where there is none.
func (it Item) Raw() string { return it.raw.of("doc", kindText) }

// Text gives a string attribute, "" where it is absent.
func (it Item) Text(name string) string { return it.raw.of(name, kindText) }

// Number gives a number attribute, "0" where it is absent.
func (it Item) Number(name string) json.Number {
	if n := it.raw.of(name, kindNumber); n != "" {
		return json.Number(n)
	}
	return "0"
}

// Int gives an integer attribute, 0 where it is absent.
func (it Item) Int(name string) int64 {
	n, _ := strconv.ParseInt(string(it.Number(name)), 10, 64)
	return n
}

// Flag gives a boolean attribute, false where it is absent.
func (it Item) Flag(name string) bool {
	b, ok := it.raw.get(name)
	return ok && b.flag
}

// Has says whether the attribute is there.
func (it Item) Has(name string) bool { _, ok := it.raw.get(name); return ok }

// Strings gives a set attribute, nil where it is absent.
func (it Item) Strings(name string) []string {
	set, _ := it.raw.get(name)
	return set.set
}

// Counters gives all number attributes whose names begin with prefix, by the
// rest of the name.
func (it Item) Counters(prefix string) map[string]json.Number { return it.raw.counters(prefix) }

// Decoded is a stored item of its attributes, as a stream record brings it.
func Decoded(raw map[string]types.AttributeValue) Item { return itemOf(attrsOf(raw)) }

// itemOf is a stored item of its attributes.
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

func text(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

func (it Item) encode() (map[string]types.AttributeValue, error) {
	const own = 12 // pk, sk, type, v, version, g1…g4, r, expiresAt, doc
	raw, values := make(map[string]types.AttributeValue, own+len(it.Attrs)), make(texts, 0, own+len(it.Attrs))
	raw["pk"], raw["sk"], raw["type"], raw["v"] = values.str(it.PK), values.str(it.SK), values.str(it.Type), num(strconv.Itoa(max(it.Layout, 1)))
	if it.Version != 0 {
		raw["version"] = num(strconv.FormatInt(it.Version, 10))
	}
	indexed := false
	for i, partition := range it.G {
		if partition != "" {
			raw[indexNames[i]], indexed = values.str(partition), true
		}
	}
	if it.R != "" {
		raw["r"] = values.str(it.R)
	} else if indexed {
		return nil, fmt.Errorf("item of type %q is in an index without a position", it.Type)
	}
	if !it.Expires.IsZero() {
		raw["expiresAt"] = num(strconv.FormatInt(it.Expires.Unix(), 10))
	}
	for name, value := range it.Attrs {
		encoded, err := attribute(value, &values)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		if _, taken := raw[name]; taken || name == "doc" {
			return nil, fmt.Errorf("attribute %s is reserved", name)
		}
		if encoded != nil {
			raw[name] = encoded
		}
	}
	if it.Doc != nil {
		doc, err := json.Marshal(it.Doc)
		if err != nil {
			return nil, fmt.Errorf("document of an item of type %q: %w", it.Type, err)
		}
		raw["doc"] = values.str(string(doc))
	}
	return raw, nil
}

var indexNames = [...]string{"g1", "g2", "g3", "g4"}

// texts is one piece of memory for an item's texts; what it has no room for
// gets its own.
type texts []types.AttributeValueMemberS

func (t *texts) str(s string) types.AttributeValue {
	if len(*t) == cap(*t) {
		return str(s)
	}
	*t = append(*t, types.AttributeValueMemberS{Value: s})
	return &(*t)[len(*t)-1]
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// attribute encodes one value; nil for an empty set, which DynamoDB has not.
func attribute(value any, room *texts) (types.AttributeValue, error) {
	switch v := value.(type) {
	case string:
		return room.str(v), nil
	case int:
		return num(strconv.Itoa(v)), nil
	case int64:
		return num(strconv.FormatInt(v, 10)), nil
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}, nil
	case json.Number:
		return num(string(v)), nil
	case []string:
		if len(v) == 0 {
			return nil, nil
		}
		return &types.AttributeValueMemberSS{Value: v}, nil
	}
	return nil, fmt.Errorf("a %T cannot be an attribute", value)
}
