package event

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/access/authz"
	"svc/pkg/edge/api"
)

// streamText is the description of the stream in the OpenAPI document.
const streamText = "The feed as server-sent events. Each message has an event as `data` and its cursor as `id`; a " +
	"message `cursor`, with `{}` as `data`, only says where the client is, first where it begins. A client that " +
	"reconnects sends `Last-Event-ID` and misses nothing. What the token may do is checked again every two seconds: " +
	"when it may not read on, the last message is `refused`, with the error as `data`. A comment comes every 15 " +
	"seconds, and the stream ends after 14 minutes; `retry` says when to come back. A company has at most 32 streams " +
	"in a process; one more gets a 429. Where the gateway cannot stream, the response is one page, and a client reads " +
	"on after `retry`. The token is sent in the header `Authorization` and never in the query, so a browser uses " +
	"`fetch` and not `EventSource`."

// StreamRows returns the endpoint that streams the company's feed.
func StreamRows() []api.Row {
	return []api.Row{api.Get("/api/v1/events/stream", "svc_stream_events",
		authz.Operators("tenant.events:read", "VIEW_EVENTS"), stream, api.Extension(), api.Expires(),
		api.NoTool(authz.Dashboard), api.Tag(tag), api.Summary("Follow the company's events"), api.Text(streamText))}
}

// StreamInput is the query of the stream.
type StreamInput struct {
	After    string `query:"after" default:"latest" minLength:"1" maxLength:"2000" doc:"Where to begin without Last-Event-ID: a cursor of the feed, earliest or latest."`
	Type     string `query:"type" minLength:"1" maxLength:"2000" example:"trip.completed" doc:"Only events of this type, or of one of these types, separated by commas."`
	Resource string `query:"resource" minLength:"1" maxLength:"100" doc:"Only events of the resource with this identifier."`
}

// Stream is the response of the stream: a page of the feed as server-sent events.
type Stream struct {
	page *Feed
	ids  []string // the cursor before the page, then the one after each event
}

var _ api.Streamed = (*Stream)(nil)

// Messages implements api.Streamed. It returns a message for each event of the page, whose
// ID is the cursor after the event.
func (s *Stream) Messages() []api.Message {
	out := make([]api.Message, len(s.page.Items))
	for i, e := range s.page.Items {
		out[i] = api.Message{ID: s.ids[i+1], Data: e}
	}
	return out
}

// Before implements api.Streamed. It returns the cursor before the page.
func (s *Stream) Before() string { return s.ids[0] }

// Position implements api.Streamed. after is the cursor of the next page.
func (s *Stream) Position() (after string, more bool) { return s.page.Cursor, s.page.HasMore }

// ContentType implements huma.ContentTypeFilter.
func (*Stream) ContentType(string) string { return "text/event-stream" }

// Schema implements huma.SchemaProvider.
func (*Stream) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Description: "Server-sent events. The data of each is an Event."}
}

// pageOfStream is the maximum number of events that one poll of a stream reads.
const pageOfStream = 100

// stream returns one page of the feed with a cursor for each event. package api polls the
// next pages while the stream is open (api.Streamed).
func stream(ctx context.Context, c *api.Caller, in *StreamInput) (*Stream, error) {
	out := &Stream{}
	var err error
	out.page, out.ids, err = (&Input{in.After, pageOfStream, in.Type, in.Resource}).page(ctx, c, "", true)
	return out, err
}
