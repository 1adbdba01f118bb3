package table

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"svc/pkg/base/codec"
)

// usualAttrs is the maximum number of attributes in most items.
const usualAttrs = 16

// errAnswer is the error of a response that only the SDK can decode.
var errAnswer = errors.New("an unusual response")

// reader parses the JSON of a response. To allocate little, its strings share
// the memory of one copy of the response, and the attributes of all items are in
// one slice.
type reader struct {
	*jsontext.Decoder
	all     string // the response
	attrs   attrs
	ends    []int  // end of each item in attrs
	scratch []byte // memory for the decoded form of a string
}

// readAnswer extracts the items from the response of a Query ("Items"), a
// BatchGetItem ("Responses", of one table) or a GetItem ("Item"), and returns
// the rest of the response. ok is false for invalid JSON, for repeated members,
// for members of unknown form, and for a response without such a member.
func readAnswer(body []byte) (rest []byte, items []Item, ok bool) {
	r := &reader{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowInvalidUTF8(true)),
		all: string(body), attrs: make(attrs, 0, usualAttrs)}
	rest, found := append(make([]byte, 0, 256), '{'), false
	err := r.object(func(name string) error {
		isItems := name == "Items" || name == "Responses" || name == "Item"
		if !isItems {
			value, err := r.ReadValue()
			if len(rest) > 1 {
				rest = append(rest, ',')
			}
			rest, _ = jsontext.AppendQuote(rest, name)
			rest = append(append(rest, ':'), value...)
			return err
		}
		if found {
			return errAnswer
		}
		found = true
		switch name {
		case "Items":
			return r.array(r.item)
		case "Responses":
			return r.object(func(string) error { return r.array(r.item) })
		}
		return r.item()
	})
	if err != nil || !found || codec.End(r.Decoder) != nil {
		return nil, nil, false
	}
	items, from := make([]Item, len(r.ends)), 0
	for i, end := range r.ends {
		items[i], from = itemOf(r.attrs[from:end:end]), end
	}
	return append(rest, '}'), items, true
}

// object reads an object. member must read the value of each member.
func (r *reader) object(member func(name string) error) error {
	return r.each('{', '}', func() error {
		name, err := r.string()
		if err != nil {
			return err
		}
		return member(name)
	})
}

// array reads an array. element must read each element.
func (r *reader) array(element func() error) error { return r.each('[', ']', element) }

func (r *reader) each(begin, end jsontext.Kind, element func() error) error {
	if r.PeekKind() != begin {
		return errAnswer
	}
	_, err := r.ReadToken()
	for err == nil && r.PeekKind() != end {
		err = element()
	}
	if err == nil {
		_, err = r.ReadToken()
	}
	return err
}

// string reads a string.
func (r *reader) string() (string, error) {
	if r.PeekKind() != '"' {
		return "", errAnswer
	}
	quoted, err := r.ReadValue()
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(quoted, '\\') >= 0 {
		// The decoder has checked the string. AppendUnquote replaces half a surrogate
		// pair, as the SDK does, and returns an error.
		r.scratch, _ = jsontext.AppendUnquote(r.scratch[:0], quoted)
		return string(r.scratch), nil
	}
	end := int(r.InputOffset()) - 1
	return r.all[end-len(quoted)+2 : end], nil
}

// item reads one item.
func (r *reader) item() error {
	err := r.object(func(name string) error {
		a, values := attr{name: name}, 0
		err := r.object(func(kind string) error { values++; return r.value(&a, kind) })
		if r.attrs = append(r.attrs, a); err == nil && values != 1 {
			err = errAnswer
		}
		return err
	})
	r.ends = append(r.ends, len(r.attrs))
	return err
}

// value reads an attribute value of the named type.
func (r *reader) value(a *attr, kind string) (err error) {
	switch kind {
	case "S":
		a.kind = kindText
		a.text, err = r.string()
	case "N":
		a.kind = kindNumber
		a.text, err = r.string()
	case "BOOL":
		var flag jsontext.Token
		if flag, err = r.ReadToken(); err == nil && flag.Kind() != 't' && flag.Kind() != 'f' {
			return errAnswer
		}
		a.kind, a.flag = kindFlag, flag.Kind() == 't'
	case "SS":
		a.kind, a.set = kindSet, []string{}
		err = r.array(func() error {
			text, err := r.string()
			a.set = append(a.set, text)
			return err
		})
	case "B", "BS", "NS", "L", "M", "NULL":
		_, err = r.ReadValue()
	default:
		err = errAnswer
	}
	return err
}
