package api

import (
	"net/http"
	"slices"
	"strings"

	"svc/pkg/base/codec"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
)

const ifMatch = "If-Match"

// Versioned marks a row of a resource with an ETag. Its handler must call Tagged
// or Match. A request that changes the resource takes If-Match (RFC 9110 section
// 13.1.1); one that creates it does not. The header is optional: without it, two operators
// who change different members both succeed.
func Versioned() Option { return func(r *Row) { r.Versioned = true } }

// Tagged sets the response's ETag; the last call counts. It names a state: the
// versions of the items that hold the resource or, if other requests change these
// items all the time, the values that only a change of the resource edits.
func (c *Caller) Tagged(state ...any) {
	text, err := codec.Marshal(state)
	if err != nil {
		panic(err) // a value without a JSON form is an error of the program
	}
	c.x.tag = ids.Hash(string(text))[:16]
}

// Match is Tagged, and returns a 412 if the request's If-Match does not name the
// state. The transaction must fail if the state changes after that. It does nothing for a row
// without If-Match.
func (c *Caller) Match(state ...any) error {
	if !c.x.row.matches() {
		return nil
	}
	c.Tagged(state...)
	given := c.x.r.Header.Values(ifMatch)
	names := func(tag string) bool {
		// A proxy that compresses makes a tag weak, or adds a suffix such as -gzip. A
		// tag names a state here and not the bytes of a response, so both still match.
		tag, _, _ = strings.Cut(strings.Trim(strings.TrimPrefix(strings.TrimSpace(tag), "W/"), `"`), "-")
		return tag == "*" || tag == c.x.tag
	}
	if len(given) == 0 || slices.ContainsFunc(strings.Split(strings.Join(given, ","), ","), names) {
		return nil
	}
	return &fault.Error{Kind: fault.KindChanged, Message: "The resource is not as the ETag in If-Match names it: " +
		"somebody has changed it. Read it again, and send the change with its new ETag."}
}

// Replaces is Match for a change of one item. The response's ETag names the next version.
func (c *Caller) Replaces(version, next int64) error {
	err := c.Match(version)
	if err == nil && c.x.row.matches() {
		c.Tagged(next)
	}
	return err
}

// sendTag sets the header ETag of a success.
func (x *exchange) sendTag() {
	if x.tag != "" {
		x.header.Set("ETag", `"`+x.tag+`"`)
	}
}

// matches reports whether the row takes If-Match.
func (r Row) matches() bool {
	return r.Versioned && r.Method != http.MethodGet && r.Status != http.StatusCreated
}
