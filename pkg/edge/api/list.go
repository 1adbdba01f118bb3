package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"svc/pkg/base/fault"
	"svc/pkg/data/table"
)

// Paging is the paging part of the input of every paged list.
type Paging struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Maximum number of items on the page."`
	Cursor string `query:"cursor" maxLength:"2000" doc:"next_cursor of the previous page. Leave it out for the first page."`
}

// Page is one page of a list.
type Page[T any] struct {
	Items      []T     `json:"items" doc:"The items of this page."`
	NextCursor *string `json:"next_cursor" nullable:"true" doc:"Cursor of the next page; null on the last page."`
}

// Items is a list without pages.
type Items[T any] struct {
	Items []T `json:"items" doc:"The items."`
}

// Cut is a list that ends early only if its items do not fit into a response, or if the
// caller names a limit.
type Cut[T any] struct {
	Items      []T     `json:"items" doc:"The items."`
	NextCursor *string `json:"next_cursor,omitempty" doc:"Where the list goes on, as the query's cursor. Absent if the response has all that the request asks for."`
}

// From is the query of a list without pages, of which a response may show a part.
type From struct {
	Cursor string `query:"cursor" maxLength:"2000" doc:"next_cursor of a response that did not have room for all items."`
}

// List describes what a list reads. Its cursors are bound to Name and Filters.
// ListPage returns a 400 for a cursor of a different list or different filters.
type List[T any] struct {
	Name       string
	Filters    []string
	Partitions []string // their items become one list, in the order of their range keys
	Query      table.Query
	Kind       *table.Kind[T]              // of the items
	Map        func(table.Item) (T, error) // in place of Kind, for items that make something else
}

// ListPage reads one page. A page whose response would be too long for the
// function ends early.
func ListPage[T any](ctx context.Context, c *Caller, p Paging, l List[T]) (*Page[T], error) {
	after, err := Position(p.Cursor, l.Name, l.Filters...)
	if err != nil {
		return nil, err
	}
	l.Query.After, l.Query.Limit = after, p.Limit
	page, err := c.Tenant.Merge(ctx, l.Partitions, l.Query)
	if err != nil {
		return nil, err
	}
	if n := Fitting(page.Items); n < len(page.Items) {
		page = table.Page{Items: page.Items[:n], Last: page.Items[n-1].Position(l.Query.Index), More: true}
	}
	items, err := table.DecodeAll(page.Items, l.value())
	out := &Page[T]{Items: items}
	if page.More {
		out.NextCursor = Cursor(page.Last, l.Name, l.Filters...)
	}
	return out, err
}

// value returns what makes a value of an item.
func (l List[T]) value() func(table.Item) (T, error) {
	if l.Map != nil {
		return l.Map
	}
	return l.Kind.FromItem
}

// One returns a page with the item, or with nothing if the list does not have the item.
func (l List[T]) One(it table.Item) (*Page[T], error) {
	has := slices.Contains(l.Partitions, it.G[l.Query.Index-1]) && it.R >= l.Query.From &&
		(l.Query.To == "" || it.R < l.Query.To)
	for _, w := range l.Query.Where {
		has = has && (w.Absent && !it.Has(w.Name) || !w.Absent && it.Text(w.Name) == w.Value)
	}
	items := []table.Item{it}
	if !has {
		items = nil
	}
	values, err := table.DecodeAll(items, l.value())
	return &Page[T]{Items: values}, err
}

// ListCut reads as many items as the limit says. The response has a cursor only if
// it has no room for them.
func ListCut[T any](ctx context.Context, c *Caller, p Paging, l List[T]) (*Cut[T], error) {
	l.Query.Fill = true
	page, err := ListPage(ctx, c, p, l)
	if err != nil {
		return nil, err
	}
	out := &Cut[T]{Items: page.Items}
	if len(page.Items) < p.Limit {
		out.NextCursor = page.NextCursor
	}
	return out, nil
}

// Sharded returns the partitions of a sharded index: T#t#part#part#0…n−1.
func Sharded(t table.Tenant, n int, parts ...string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = t.Partition(append(append([]string(nil), parts...), strconv.Itoa(i))...)
	}
	return out
}

const sealSize = 9

// longestPosition is the maximum length of a DynamoDB range key, in bytes.
const longestPosition = 1024

// Cursor encodes a position in a list as opaque text. The text does not contain
// the tenant. If a caller of a different tenant sends the cursor, it is a
// position in the list of the caller's tenant.
func Cursor(position, list string, filters ...string) *string {
	text := base64.RawURLEncoding.EncodeToString(append(cursorSeal(position, list, filters), position...))
	return &text
}

// Position decodes a cursor. It returns "" for an empty cursor, and a 400 for a
// cursor that was not written for this list and these filters.
func Position(cursor, list string, filters ...string) (string, error) {
	return positionIn("query.cursor", cursor, list, filters...)
}

// positionIn is Position for a cursor in the named field.
func positionIn(field, cursor, list string, filters ...string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err == nil && len(raw) > sealSize && len(raw) < sealSize+longestPosition && utf8.Valid(raw[sealSize:]) {
		position := string(raw[sealSize:])
		if string(cursorSeal(position, list, filters)) == string(raw[:sealSize]) {
			return position, nil
		}
	}
	return "", NotACursor(field)
}

// NotACursor returns the 400 for a cursor of a different list or different filters, or
// for one that nobody wrote.
func NotACursor(field string) error {
	return fault.Field(field, "not a cursor of this list with these filters")
}

func cursorSeal(position, list string, filters []string) []byte {
	sum := sha256.Sum256(sealed("1", position, list, filters))
	return sum[:sealSize]
}

func sealed(form, position, list string, filters []string) []byte {
	return []byte(strings.Join(append([]string{form, list, position}, filters...), "\x00"))
}

// keyed begins a cursor that a key authenticates. No other cursor has a dot.
const keyed = "2."

const keyedSealSize = 16

// Cursor is the function Cursor. With Config.KeyedCursors a key authenticates the text.
// An older build does not read it then.
func (c *Caller) Cursor(ctx context.Context, position, list string, filters ...string) (string, error) {
	s := c.x.server
	if !s.KeyedCursors || s.CursorKey == nil {
		return *Cursor(position, list, filters...), nil
	}
	key, err := s.CursorKey(ctx)
	if err != nil {
		return "", err
	}
	if key == nil {
		return *Cursor(position, list, filters...), nil
	}
	seal := keyedSeal(key, position, list, filters)
	return keyed + base64.RawURLEncoding.EncodeToString(append(seal, position...)), nil
}

// Position is the function Position for a cursor in either form, in the named field. A
// caller can forge the form without a key, so the work that a position asks for must have
// a bound.
func (c *Caller) Position(ctx context.Context, field, cursor, list string, filters ...string) (string, error) {
	text, is := strings.CutPrefix(cursor, keyed)
	if !is || c.x.server.CursorKey == nil {
		return positionIn(field, cursor, list, filters...)
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) <= keyedSealSize || len(raw) >= keyedSealSize+longestPosition {
		return "", NotACursor(field)
	}
	key, err := c.x.server.CursorKey(ctx)
	if err != nil {
		return "", err
	}
	position := string(raw[keyedSealSize:])
	if key == nil || !hmac.Equal(raw[:keyedSealSize], keyedSeal(key, position, list, filters)) {
		return "", NotACursor(field)
	}
	return position, nil
}

func keyedSeal(key []byte, position, list string, filters []string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write(sealed("2", position, list, filters)) // never fails (hash.Hash)
	return h.Sum(nil)[:keyedSealSize]
}
