package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"svc/pkg/base/ids"
)

// RequestHeader is the header of the request's id, in requests and responses.
const RequestHeader = "X-Request-Id"

// sane reports whether a request's id is well-formed: 1 to 128 letters, digits
// and ._:=+/-
func sane(id string) bool {
	for _, c := range []byte(id) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		digit := '0' <= c && c <= '9'
		if !letter && !digit && strings.IndexByte("._:=+/-", c) < 0 {
			return false
		}
	}
	return 0 < len(id) && len(id) <= 128
}

// RequestID returns the id of a request in its response and in the log: the
// caller's X-Request-Id if it is well-formed, else ID. If ID is "", RequestID
// creates an id; its time part comes from now.
func RequestID(r *http.Request, now time.Time) string {
	if own := r.Header.Get(RequestHeader); sane(own) {
		return own
	}
	if id := ID(r.Context()); id != "" {
		return id
	}
	return ids.New(ids.Request, now)
}

// ID returns the gateway's id of a request, as the gateway's access log has it:
// "req_" and the requestId of the event. It is "" if the event has no
// well-formed requestId.
func ID(ctx context.Context) string {
	if e := edgeOf(ctx).event; e != nil {
		return e.id()
	}
	return ""
}

// Replaced returns the gateway's id of a request that has another id, because
// the caller chose one. It is "" if the gateway's id is in use, or if ID is "".
func Replaced(ctx context.Context, id string) string {
	if given := ID(ctx); given != id {
		return given
	}
	return ""
}

// Named returns the attributes of a log line that identify a request: request_id and,
// if the caller chose the request_id, gateway_id. A caller cannot choose a gateway_id.
func Named(ctx context.Context, id string) slog.Attr {
	members := []any{slog.String("request_id", id)}
	if given := Replaced(ctx, id); given != "" {
		members = append(members, slog.String("gateway_id", given))
	}
	return slog.Group("", members...)
}

// id returns the gateway's id of the request, "" if requestId is malformed; see ID.
func (e *event) id() string {
	if id := e.RequestContext.RequestID; sane(id) {
		return ids.Request + "_" + id
	}
	return ""
}
