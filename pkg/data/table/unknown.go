package table

import (
	"reflect"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/go-json-experiment/json/jsontext"

	"svc/pkg/base/codec"
)

// Unknown is data of a stored item that this build does not know. A newer build
// wrote the data, during a canary deployment or before a rollback. Assign
// Unknown to Preserve of the replacing item, which then keeps:
//
//   - attributes that Item.Attrs does not name. Attrs must therefore name every
//     attribute of the type, with nil for one that is absent.
//   - members of the document that the type of Item.Doc has no field for.
//   - v, if it is higher than ours.
type Unknown struct{ raw attrs }

// Unknown returns what a replacement of the item must preserve. For an absent
// item that is nothing.
func (it Item) Unknown() Unknown { return Unknown{it.raw} }

// Equal reports true, because preserved data is not part of the value that this
// build knows. go-cmp calls it in tests.
func (u Unknown) Equal(Unknown) bool { return true }

// layout returns the version of the item's layout to store: ours, or that of the stored
// item if it is higher.
func (u Unknown) layout(ours int) int {
	return max(ours, itemOf(u.raw).Layout, 1)
}

// ownAttributes are the attributes that Item.encode writes from Item's fields.
var ownAttributes = map[string]bool{"pk": true, "sk": true, "type": true, "v": true, "version": true, "g1": true,
	"g2": true,
	"g3": true, "g4": true, "r": true, "expiresAt": true, "doc": true}

// attributes adds the stored attributes that this build does not know to the attributes
// of a new item, to. named are the attributes that this build knows (Item.Attrs).
func (u Unknown) attributes(to map[string]types.AttributeValue, named map[string]any) {
	for _, a := range u.raw {
		if _, known := named[a.name]; known || ownAttributes[a.name] {
			continue
		}
		switch a.kind {
		case kindText:
			to[a.name] = str(a.text)
		case kindNumber:
			to[a.name] = num(a.text)
		case kindFlag:
			to[a.name] = &types.AttributeValueMemberBOOL{Value: a.flag}
		case kindSet:
			to[a.name] = &types.AttributeValueMemberSS{Value: a.set}
		case kindOther: // no build of ours writes such an attribute
		}
	}
}

// document returns doc, the JSON of the new document ours, with the members of the
// stored document that the type of ours has no field for. If ours is not a struct, it
// adds nothing.
func (u Unknown) document(ours any, doc []byte) []byte {
	stored := u.raw.of("doc", kindText)
	t := reflect.TypeOf(ours)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if stored == "" || t.Kind() != reflect.Struct || len(doc) < 2 || doc[0] != '{' {
		return doc
	}
	known := memberNames(t)
	_ = codec.Members([]byte(stored), func(name string, value jsontext.Value) { // a broken document has none to keep
		if known[name] {
			return
		}
		if doc = doc[:len(doc)-1]; len(doc) > 1 {
			doc = append(doc, ',')
		}
		doc, _ = jsontext.AppendQuote(doc, name)
		doc = append(append(append(doc, ':'), value...), '}')
	})
	return doc
}

var knownMembers sync.Map // cache of memberNames: reflect.Type → map[string]bool

// memberNames returns the names of the members that encoding/json reads into a
// struct of the type.
func memberNames(t reflect.Type) map[string]bool {
	if known, ok := knownMembers.Load(t); ok {
		return known.(map[string]bool)
	}
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && !f.Anonymous {
			name = f.Name
		}
		if name != "" && name != "-" && f.IsExported() {
			names[name] = true
		}
	}
	knownMembers.Store(t, names)
	return names
}
