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

// Versioned marks the row of an endpoint whose resource has an ETag. The handler must call
// Tagged or Match. A request that changes the resource takes If-Match (RFC 9110 section
// 13.1.1); one that creates it does not. The header is optional: without it, two operators
// who change different members both succeed.
func Versioned() Option { return func(r *Row) { r.Versioned = true } }

// Tagged sets the response's ETag to a hash of state; the last call counts. state has the
// versions of the items that hold the resource. If other requests change these items all
// the time, state instead has the values that only a change of the resource edits.
func (c *Caller) Tagged(state ...any) {
	text, err := codec.Marshal(state)
	if err != nil {
		panic(err) // a value without a JSON form is a programming error
	}
	c.x.tag = ids.Hash(string(text))[:16]
}

// Match sets the ETag as Tagged does, and returns a 412 if the request's If-Match names
// another state. The handler's transaction must fail if the state changes after that.
// Match does nothing for an endpoint that does not take If-Match.
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

// Replaces is Match for a change of one item, which has the given version. The response's
// ETag names next, the item's version after the change.
func (c *Caller) Replaces(version, next int64) error {
	err := c.Match(version)
	if err == nil && c.x.row.matches() {
		c.Tagged(next)
	}
	return err
}

// sendTag sets the header ETag of a successful response, if the handler has set a tag.
func (x *exchange) sendTag() {
	if x.tag != "" {
		x.header.Set("ETag", `"`+x.tag+`"`)
	}
}

// matches reports whether the endpoint of the row takes the header If-Match.
func (r Row) matches() bool {
	return r.Versioned && r.Method != http.MethodGet && r.Status != http.StatusCreated
}
