package gateway

import (
	"bytes"
	"unicode/utf8"
	"unsafe"

	"svc/pkg/base/jsonscan"
)

// deepestEvent is the nesting limit of a scanned event. A gateway nests an
// authorizer's claims, and little else.
const deepestEvent = 100

// scan decodes an event as encoding/json does, in a third of its time. ok is
// false for an event that it cannot decode: encoding/json then says why. Member
// names must have the letter case of the gateway.
func scan(raw []byte) (e *event, ok bool) {
	if !utf8.Valid(raw) { // encoding/json replaces what is not
		return nil, false
	}
	s := &scanner{Scanner: jsonscan.New(raw, deepestEvent), texts: make([]byte, 0, len(raw))}
	e = new(event)
	s.Object(func(name jsonscan.Text) { s.member(e, name) })
	return e, s.End()
}

// scanner reads an event. All strings share one block of memory.
type scanner struct {
	jsonscan.Scanner
	texts []byte // never grows beyond its first capacity
}

func (s *scanner) member(e *event, name jsonscan.Text) {
	if name.Escaped {
		s.Fail()
	}
	switch string(name.Raw) {
	case "version":
		s.text(&e.Version)
	case "routeKey":
		s.text(&e.RouteKey)
	case "rawPath":
		s.text(&e.RawPath)
	case "rawQueryString":
		s.text(&e.RawQueryString)
	case "cookies":
		s.list(&e.Cookies)
	case "resource":
		s.text(&e.Resource)
	case "path":
		s.text(&e.Path)
	case "httpMethod":
		s.text(&e.HTTPMethod)
	case "multiValueHeaders":
		s.lists(&e.MultiValueHeaders)
	case "multiValueQueryStringParameters":
		s.lists(&e.MultiValueQuery)
	case "headers":
		s.pairs(&e.Headers)
	case "queryStringParameters":
		e.Query = bytes.Clone(s.Value())
	case "pathParameters":
		s.pairs(&e.PathParameters)
	case "body":
		s.text(&e.Body)
	case "isBase64Encoded":
		if !s.null() {
			e.IsBase64Encoded = s.Bool()
		}
	case "requestContext":
		s.object(func(name jsonscan.Text) { s.context(e, name) })
	default:
		s.Value()
	}
}

func (s *scanner) context(e *event, name jsonscan.Text) {
	c := &e.RequestContext
	switch string(name.Raw) {
	case "requestId":
		s.text(&c.RequestID)
	case "stage":
		s.text(&c.Stage)
	case "apiId":
		s.text(&c.APIID)
	case "domainName":
		s.text(&c.DomainName)
	case "domainPrefix":
		s.text(&c.DomainPrefix)
	case "http":
		s.object(func(name jsonscan.Text) {
			switch string(name.Raw) {
			case "method":
				s.text(&c.HTTP.Method)
			case "path":
				s.text(&c.HTTP.Path)
			case "sourceIp":
				s.text(&c.HTTP.SourceIP)
			default:
				s.Value()
			}
		})
	case "identity":
		s.object(func(name jsonscan.Text) {
			if name.Is("sourceIp") {
				s.text(&c.Identity.SourceIP)
			} else {
				s.Value()
			}
		})
	default:
		s.Value()
	}
}

// null reads null if it is next. As in encoding/json, it changes no string.
func (s *scanner) null() bool {
	if s.Peek() != 'n' {
		return false
	}
	s.Null()
	return true
}

func (s *scanner) object(member func(jsonscan.Text)) {
	if !s.null() {
		s.Object(member)
	}
}

func (s *scanner) text(to *string) {
	if !s.null() {
		*to = s.copied(s.Text())
	}
}

// copied returns the decoded text, which is never longer than its JSON form.
func (s *scanner) copied(text jsonscan.Text) string {
	if s.Failed() {
		return ""
	}
	from, paired := len(s.texts), false
	if s.texts, paired = text.Append(s.texts); !paired { // encoding/json replaces half a pair
		s.Fail()
	}
	//nolint:gosec // nobody writes to these bytes again
	return unsafe.String(unsafe.SliceData(s.texts[from:]), len(s.texts)-from)
}

func (s *scanner) list(to *[]string) {
	if s.null() {
		*to = nil
		return
	}
	*to = []string{}
	s.Array(func(int) {
		var text string
		s.text(&text)
		*to = append(*to, text)
	})
}

func (s *scanner) pairs(to *map[string]string) {
	if s.null() {
		*to = nil
		return
	}
	if *to == nil {
		*to = map[string]string{}
	}
	s.Object(func(name jsonscan.Text) {
		var text string
		s.text(&text)
		(*to)[s.copied(name)] = text
	})
}

func (s *scanner) lists(to *map[string][]string) {
	if s.null() {
		*to = nil
		return
	}
	if *to == nil {
		*to = map[string][]string{}
	}
	s.Object(func(name jsonscan.Text) {
		var list []string
		s.list(&list)
		(*to)[s.copied(name)] = list
	})
}
