package table

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"svc/pkg/base/codec"
)

// usualAttrs is the number of attributes for which a decoder allocates memory at once.
// Most items have no more.
const usualAttrs = 16

// errUnusual is the error of a response that only the SDK can decode.
var errUnusual = errors.New("an unusual response")

// decoder parses the JSON of a response. To allocate little, its strings share
// the memory of one copy of the response, and the attributes of all items are in
// one slice.
type decoder struct {
	*jsontext.Decoder
	all     string // text of the response
	attrs   attrs
	ends    []int  // end of each item in attrs
	scratch []byte // memory for the decoded form of a string
}

// decodeResponse extracts the items from the response of a Query ("Items"), a
// BatchGetItem ("Responses", of one table) or a GetItem ("Item"), and returns
// the rest of the response. ok is false for invalid JSON, for repeated members,
// for members of unknown form, and for a response without such a member.
func decodeResponse(body []byte) (rest []byte, items []Item, ok bool) {
	d := &decoder{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowInvalidUTF8(true)),
		all: string(body), attrs: make(attrs, 0, usualAttrs)}
	rest, found := append(make([]byte, 0, 256), '{'), false
	err := d.object(func(name string) error {
		isItems := name == "Items" || name == "Responses" || name == "Item"
		if !isItems {
			value, err := d.ReadValue()
			if len(rest) > 1 {
				rest = append(rest, ',')
			}
			rest, _ = jsontext.AppendQuote(rest, name)
			rest = append(append(rest, ':'), value...)
			return err
		}
		if found {
			return errUnusual
		}
		found = true
		switch name {
		case "Items":
			return d.array(d.item)
		case "Responses":
			return d.object(func(string) error { return d.array(d.item) })
		}
		return d.item()
	})
	if err != nil || !found || codec.End(d.Decoder) != nil {
		return nil, nil, false
	}
	items, from := make([]Item, len(d.ends)), 0
	for i, end := range d.ends {
		items[i], from = itemOf(d.attrs[from:end:end]), end
	}
	return append(rest, '}'), items, true
}

// object reads a JSON object. It calls member with each member's name, and member must
// read the value.
func (d *decoder) object(member func(name string) error) error {
	return d.each('{', '}', func() error {
		name, err := d.string()
		if err != nil {
			return err
		}
		return member(name)
	})
}

// array reads a JSON array. It calls element for each element, and element must read it.
func (d *decoder) array(element func() error) error { return d.each('[', ']', element) }

// each reads a JSON object or array that starts with begin and ends with end. It calls
// element for each member or element, and element must read it.
func (d *decoder) each(begin, end jsontext.Kind, element func() error) error {
	if d.PeekKind() != begin {
		return errUnusual
	}
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() != end {
		err = element()
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	return err
}

// string reads a JSON string and returns its text.
func (d *decoder) string() (string, error) {
	if d.PeekKind() != '"' {
		return "", errUnusual
	}
	quoted, err := d.ReadValue()
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(quoted, '\\') >= 0 {
		// jsontext has checked the string. AppendUnquote still returns an error for half a
		// surrogate pair, which it replaces as the SDK does.
		d.scratch, _ = jsontext.AppendUnquote(d.scratch[:0], quoted)
		return string(d.scratch), nil
	}
	end := int(d.InputOffset()) - 1
	return d.all[end-len(quoted)+2 : end], nil
}

// item reads one item, as in {"status":{"S":"ONLINE"}}, and appends its attributes to
// d.attrs.
func (d *decoder) item() error {
	err := d.object(func(name string) error {
		a, values := attr{name: name}, 0
		err := d.object(func(kind string) error { values++; return d.value(&a, kind) })
		if d.attrs = append(d.attrs, a); err == nil && values != 1 {
			err = errUnusual
		}
		return err
	})
	d.ends = append(d.ends, len(d.attrs))
	return err
}

// value reads the value of an attribute into a. kind is DynamoDB's name of its type, such
// as S for a string.
func (d *decoder) value(a *attr, kind string) (err error) {
	switch kind {
	case "S":
		a.kind = kindText
		a.text, err = d.string()
	case "N":
		a.kind = kindNumber
		a.text, err = d.string()
	case "BOOL":
		var flag jsontext.Token
		if flag, err = d.ReadToken(); err == nil && flag.Kind() != 't' && flag.Kind() != 'f' {
			return errUnusual
		}
		a.kind, a.flag = kindFlag, flag.Kind() == 't'
	case "SS":
		a.kind, a.set = kindSet, []string{}
		err = d.array(func() error {
			text, err := d.string()
			a.set = append(a.set, text)
			return err
		})
	case "B", "BS", "NS", "L", "M", "NULL":
		_, err = d.ReadValue()
	default:
		err = errUnusual
	}
	return err
}
