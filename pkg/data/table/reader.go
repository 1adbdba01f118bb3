package table

import (
	"slices"
	"unsafe"

	"svc/pkg/base/jsonscan"
)

// deepestAnswer is far above the nesting of our responses; DynamoDB itself
// nests attributes up to 32 levels.
const deepestAnswer = 64

// usualAttrs is the maximum number of attributes in most items.
const usualAttrs = 16

// reader parses the JSON of a response. To allocate little, its strings share
// the memory of the response, and the attributes of all items are in one slice.
type reader struct {
	jsonscan.Scanner
	rest    []byte // the response without its items
	attrs   attrs
	ends    []int  // end of each item in attrs
	escaped []int  // texts in attrs that have escapes
	seen    uint64 // a bit for each name of the item; names may share one
}

// readAnswer extracts the items from a response, and returns the rest of the
// response. If ok is true, the items use the memory of body: nothing else may
// change it.
func readAnswer(body []byte) (rest []byte, items []Item, ok bool) {
	r, ok := scanAnswer(body)
	if !ok {
		return nil, nil, false
	}
	return r.rest, r.items(), true
}

// scanAnswer finds the items in the response of a Query ("Items"), a
// BatchGetItem ("Responses", of one table) or a GetItem ("Item"). ok is false for
// invalid JSON, for members of unknown form, and for a response without such a
// member.
func scanAnswer(body []byte) (r *reader, ok bool) {
	r = &reader{Scanner: jsonscan.New(body, deepestAnswer), attrs: make(attrs, 0, usualAttrs)}
	rest := append(make([]byte, 0, 256), '{')
	found := false
	r.Object(func(name jsonscan.Text) {
		isItems, isResponses, isItem := name.Is("Items"), name.Is("Responses"), name.Is("Item")
		switch {
		case found && (isItems || isResponses || isItem):
			r.Fail()
		case isItem:
			r.item(len(body))
			found = true
		case isItems:
			r.Array(func(int) { r.item(len(body)) })
			found = true
		case isResponses:
			r.Object(func(jsonscan.Text) { r.Array(func(int) { r.item(len(body)) }) })
			found = true
		default:
			if len(rest) > 1 {
				rest = append(rest, ',')
			}
			rest = append(append(append(rest, '"'), name.Raw...), '"', ':')
			rest = append(rest, r.Value()...)
		}
	})
	r.rest = append(rest, '}')
	return r, r.End() && found
}

// items decodes the texts with escapes, in the memory of the response, and
// returns the items. A decoded text is never longer than its JSON form.
func (r *reader) items() []Item {
	for _, i := range r.escaped {
		raw := bytesOf(r.attrs[i].text)
		out, _ := jsonscan.Text{Raw: raw, Escaped: true}.Append(raw[:0])
		r.attrs[i].text = stringOf(out)
	}
	items, from := make([]Item, len(r.ends)), 0
	for i, end := range r.ends {
		items[i], from = itemOf(r.attrs[from:end:end]), end
	}
	return items
}

// item reads one item. size is the size of the response, in bytes.
func (r *reader) item(size int) {
	from, begin := len(r.attrs), r.Offset()
	r.seen = 0
	defer func() {
		if r.ends = append(r.ends, len(r.attrs)); len(r.ends) == 1 && !r.Failed() {
			alike := (size - begin) / (r.Offset() - begin) // items of the response, if all are like the first
			r.attrs, r.ends = slices.Grow(r.attrs, alike*len(r.attrs)), slices.Grow(r.ends, alike)
		}
	}()
	r.TypedObject(func(name jsonscan.Text, letter byte, text jsonscan.Text) {
		switch letter {
		case 'S':
			r.add(from, attr{name: r.name(name), kind: kindText}, text)
		case 'N':
			r.add(from, attr{name: r.name(name), kind: kindNumber}, text)
		case 'B':
			r.add(from, attr{name: r.name(name)}, jsonscan.Text{})
		default:
			r.Fail()
		}
	}, func(name jsonscan.Text) {
		a, values := attr{name: r.name(name)}, 0
		var text jsonscan.Text
		r.Object(func(kind jsonscan.Text) { text = r.value(&a, kind); values++ })
		if values != 1 {
			r.Fail()
		}
		r.add(from, a, text)
	})
}

// add adds an attribute with the text to the item that begins at from. If the
// item already has an attribute of that name, add fails the scan.
func (r *reader) add(from int, a attr, text jsonscan.Text) {
	bit := bitOf(a.name)
	if r.seen&bit != 0 {
		if _, twice := r.attrs[from:].get(a.name); twice {
			r.Fail()
		}
	}
	r.seen |= bit
	if a.text = stringOf(text.Raw); text.Escaped {
		r.escaped = append(r.escaped, len(r.attrs))
	}
	r.attrs = append(r.attrs, a)
}

// bitOf returns one of 64 bits, the same one for the same name.
func bitOf(name string) uint64 {
	if name == "" {
		return 1
	}
	return 1 << ((uint(name[0])*31 + uint(name[len(name)-1])*7 + uint(len(name))) % 64)
}

// name returns an attribute's name. If the name has escapes, it fails the scan,
// and the SDK decodes the response.
func (r *reader) name(name jsonscan.Text) string {
	if name.Escaped {
		r.Fail()
	}
	return stringOf(name.Raw)
}

// value reads an attribute value of the named type. It returns the text of a
// string or number.
func (r *reader) value(a *attr, kind jsonscan.Text) (text jsonscan.Text) {
	switch string(kind.Raw) {
	case "S":
		a.kind, text = kindText, r.Text()
	case "N":
		a.kind, text = kindNumber, r.Text()
	case "BOOL":
		a.kind, a.flag = kindFlag, r.Bool()
	case "SS":
		a.kind, a.set = kindSet, []string{}
		r.Array(func(int) {
			if text := r.Text(); !r.Failed() {
				a.set = append(a.set, unescaped(text))
			}
		})
	case "B", "BS", "NS", "L", "M", "NULL":
		r.Value()
	default:
		r.Fail()
	}
	return text
}

// stringOf shares the memory of bytes, which must not change while the string is
// in use.
func stringOf(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // see the comment
}

// bytesOf shares the memory of a string. Only reader.items may write to it,
// because it then replaces the string.
func bytesOf(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s)) //nolint:gosec // see the comment
}
