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
// false for an event that scan cannot decode. The caller must then decode the
// event with encoding/json, which also finds out why it is malformed. Member
// names must have the letter case of the gateway.
func scan(raw []byte) (e *event, ok bool) {
	if !utf8.Valid(raw) { // encoding/json replaces bytes that are not UTF-8
		return nil, false
	}
	s := &scanner{Scanner: jsonscan.New(raw, deepestEvent), texts: make([]byte, 0, min(len(raw), blockSize))}
	e = new(event)
	s.members(func(name string) { s.member(e, name) })
	return e, s.End()
}

// blockSize is the size of a block of strings, in bytes. The strings of most
// events fit into one block. A string that is kept after the event keeps its
// block.
const blockSize = 8 << 10

// scanner reads an event. Its strings share blocks of memory, but no memory with
// the event's JSON. A string of at least half a block that does not fit into the
// current block gets memory of its own. Therefore a short string that is kept
// does not keep a long body.
type scanner struct {
	jsonscan.Scanner
	texts []byte // the current block, which never grows
}

// members reads an object whose names the gateway chooses. It fails the scan
// for a name with escapes: a gateway does not escape these names.
func (s *scanner) members(member func(name string)) {
	s.Object(func(name jsonscan.Text) {
		if name.Escaped {
			s.Fail()
			return
		}
		member(unsafe.String(unsafe.SliceData(name.Raw), len(name.Raw))) //nolint:gosec // compared, and not kept
	})
}

func (s *scanner) member(e *event, name string) {
	switch name {
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
		s.object(func(name string) { s.context(e, name) })
	default:
		s.Value()
	}
}

func (s *scanner) context(e *event, name string) {
	c := &e.RequestContext
	switch name {
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
		s.object(func(name string) {
			switch name {
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
		s.object(func(name string) {
			if name == "sourceIp" {
				s.text(&c.Identity.SourceIP)
			} else {
				s.Value()
			}
		})
	default:
		s.Value()
	}
}

// null reads null if it is next. As in encoding/json, null leaves a string
// unchanged.
func (s *scanner) null() bool {
	if s.Peek() != 'n' {
		return false
	}
	s.Null()
	return true
}

func (s *scanner) object(member func(name string)) {
	if !s.null() {
		s.members(member)
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
	to, size := s.texts, len(text.Raw)
	alone := false
	if size > cap(to)-len(to) {
		alone = size >= blockSize/2 // the current block has room for others
		to = make([]byte, 0, max(size, blockSize))
	}
	from, paired := len(to), false
	if to, paired = text.Append(to); !paired { // encoding/json replaces half a pair
		s.Fail()
	}
	if !alone {
		s.texts = to
	}
	//nolint:gosec // nobody writes to these bytes again
	return unsafe.String(unsafe.SliceData(to[from:]), len(to)-from)
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
