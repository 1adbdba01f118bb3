package table

import (
	"slices"
	"unsafe"

	"svc/pkg/base/jsonscan"
)

// deepestAnswer is far above the nesting of our responses; DynamoDB itself
// nests attributes up to 32 levels.
const deepestAnswer = 64

// reader parses the JSON of a response. All strings share one block of memory
// and all attributes one slice, for any number of items.
type reader struct {
	jsonscan.Scanner
	arena []byte // never grows beyond its first capacity, so its strings never move
	attrs attrs
	ends  []int // end of each item in attrs
}

// readAnswer extracts the items from the response of a Query ("Items"), a
// BatchGetItem ("Responses", of one table) or a GetItem ("Item"). It returns the
// rest of the response. ok is false for invalid JSON and for members of unknown form.
func readAnswer(body []byte) (rest []byte, items []Item, ok bool) {
	r := &reader{Scanner: jsonscan.New(body, deepestAnswer), arena: make([]byte, 0, len(body))}
	rest = append(make([]byte, 0, 256), '{')
	found := false
	r.Object(func(name jsonscan.Text) {
		isItems, isResponses, isItem := name.Is("Items"), name.Is("Responses"), name.Is("Item")
		switch {
		case found && (isItems || isResponses || isItem):
			r.Fail()
		case isItem:
			r.item(0)
			found = true
		case isItems:
			r.Array(r.item)
			found = true
		case isResponses:
			r.Object(func(jsonscan.Text) { r.Array(r.item) })
			found = true
		default:
			if len(rest) > 1 {
				rest = append(rest, ',')
			}
			rest = append(append(append(rest, '"'), name.Raw...), '"', ':')
			rest = append(rest, r.Value()...)
		}
	})
	if !r.End() || !found {
		return nil, nil, false
	}
	items = make([]Item, len(r.ends))
	from := 0
	for i, end := range r.ends {
		items[i], from = itemOf(r.attrs[from:end:end]), end
	}
	return append(rest, '}'), items, true
}

// item reads one item.
func (r *reader) item(int) {
	from, begin := len(r.attrs), r.Offset()
	defer func() {
		if r.ends = append(r.ends, len(r.attrs)); len(r.ends) == 1 && !r.Failed() {
			alike := (cap(r.arena) - begin) / (r.Offset() - begin) // items of the response, if all are like the first
			r.attrs, r.ends = slices.Grow(r.attrs, alike*len(r.attrs)), slices.Grow(r.ends, alike)
		}
	}()
	r.TypedObject(func(name jsonscan.Text, letter byte, text jsonscan.Text) {
		switch letter {
		case 'S':
			r.add(from, attr{name: r.keep(name), kind: kindText, text: r.keep(text)})
		case 'N':
			r.add(from, attr{name: r.keep(name), kind: kindNumber, text: r.keep(text)})
		case 'B':
			r.add(from, attr{name: r.keep(name)})
		default:
			r.Fail()
		}
	}, func(name jsonscan.Text) {
		a, values := attr{name: r.keep(name)}, 0
		r.Object(func(kind jsonscan.Text) { r.value(&a, kind); values++ })
		if values != 1 {
			r.Fail()
		}
		r.add(from, a)
	})
}

// add adds an attribute to the item that begins at from. It must be the only
// one of its name.
func (r *reader) add(from int, a attr) {
	if _, twice := r.attrs[from:].get(a.name); twice {
		r.Fail()
	}
	r.attrs = append(r.attrs, a)
}

// value reads an attribute value of the named type.
func (r *reader) value(a *attr, kind jsonscan.Text) {
	switch string(kind.Raw) {
	case "S":
		a.kind, a.text = kindText, r.keep(r.Text())
	case "N":
		a.kind, a.text = kindNumber, r.keep(r.Text())
	case "BOOL":
		a.kind, a.flag = kindFlag, r.Bool()
	case "SS":
		a.kind, a.set = kindSet, []string{}
		r.Array(func(int) { a.set = append(a.set, r.keep(r.Text())) })
	case "B", "BS", "NS", "L", "M", "NULL":
		r.Value()
	default:
		r.Fail()
	}
}

// keep copies a string into the arena. A decoded string is never longer than
// its JSON form, so the arena is large enough.
func (r *reader) keep(text jsonscan.Text) string {
	from := len(r.arena)
	r.arena, _ = text.Append(r.arena)
	return stringOf(r.arena[from:])
}

// stringOf shares the memory of bytes, which must not change any more.
func stringOf(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // see the comment
}

// bytesOf shares the memory of a string; nobody may write to it.
func bytesOf(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s)) //nolint:gosec // see the comment
}
