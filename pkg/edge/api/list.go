package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
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

// List describes what a list reads. Its cursors are bound to Name and Filters.
// ListPage returns a 400 for a cursor of a different list or different filters.
type List[T any] struct {
	Name       string
	Filters    []string
	Partitions []string // their items become one list, in the order of their range keys
	Query      table.Query
	Map        func(table.Item) (T, error)
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
	out := &Page[T]{Items: make([]T, 0, len(page.Items))}
	for _, it := range page.Items {
		item, err := l.Map(it)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, item)
	}
	if page.More {
		out.NextCursor = Cursor(page.Last, l.Name, l.Filters...)
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
	return PositionOf("query.cursor", cursor, list, filters...)
}

// PositionOf is Position for a cursor in the named field.
func PositionOf(field, cursor, list string, filters ...string) (string, error) {
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
	return "", fault.Field(field, "not a cursor of this list with these filters")
}

func cursorSeal(position, list string, filters []string) []byte {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{"1", list, position}, filters...), "\x00")))
	return sum[:sealSize]
}
