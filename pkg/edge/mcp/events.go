package mcp

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/edge/api"
)

// eventsExtension is the name of the extension MCP Events (SEP-3415).
const eventsExtension = "io.modelcontextprotocol/events"

// feedTools are the tools that read the feeds of events, by audience.
var feedTools = map[authz.Audience]string{authz.Dashboard: "svc_list_events", authz.Rider: "svc_my_events",
	authz.Driver: "svc_my_events"}

// feeds reports whether the tool reads a feed of events.
func (t *tool) feeds() bool {
	return slices.Contains(slices.Collect(maps.Values(feedTools)), t.Name)
}

// everyEvent is the name under which a client gets the events of all types.
const everyEvent = "all"

// companyEvents are the prefixes of the event types that concern no rider and no
// driver.
var companyEvents = []string{"branding.", "settings.", "company.", "member.", "business.", "menu_item.", "feedback.",
	"export.", "import.", "webhook."}

// foreignEvents are the prefixes of the event types that are not in the feed of a rider
// or driver.
var foreignEvents = map[authz.Audience][]string{
	authz.Rider:  append([]string{"driver.", "document.", "withdrawal."}, companyEvents...),
	authz.Driver: append([]string{"customer."}, companyEvents...),
}

// eventType is a type of event as agents see it.
type eventType struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Delivery    []string        `json:"delivery"`
	Input       json.RawMessage `json:"inputSchema"`
	Payload     json.RawMessage `json:"payloadSchema"`
}

// eventInput is the schema of the arguments of every event type.
var eventInput = json.RawMessage(`{"type":"object","properties":{"resource":{"type":"string",` +
	`"description":"Only events of the resource with this identifier."}},"additionalProperties":false}`)

// eventParams are the params of events/poll, events/subscribe and events/unsubscribe.
type eventParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Cursor    *string         `json:"cursor"`
	MaxAge    *int64          `json:"maxAgeMs"`
	MaxEvents *int            `json:"maxEvents"`
	TTL       *int64          `json:"ttlMs"`
	URL       string          `json:"url"`
	Delivery  struct {
		Mode   string `json:"mode"`
		URL    string `json:"url"`
		Secret string `json:"secret"`
	} `json:"delivery"`

	resource string
}

// Errors of MCP Events. The numbers are those of the design sketch, which ChatGPT uses. A
// client that declares the extension gets the numbers of SEP-3415 instead (eventCode).
const (
	eventNotFound  = -32011
	eventForbidden = -32012
	eventExhausted = -32013
	eventMode      = -32014
	proposalOffset = -12 // is added to a number of the sketch to get that of SEP-3415
)

// eventCode returns the number of an error for the client: its number in the SEP if the
// client declares the extension, else its number in the sketch.
func (x *exchange) eventCode(code int) int {
	if all := x.m.params.Meta.Capabilities; all != nil {
		var extensions map[string]json.RawMessage
		if json.Unmarshal((*all)["extensions"], &extensions) == nil && extensions[eventsExtension] != nil {
			return code + proposalOffset
		}
	}
	return code
}

// failEvent sends an error of MCP Events. code is its number in the design sketch.
func (x *exchange) failEvent(code int, text string) {
	x.fail(refuse(x.protocolStatus(), x.eventCode(code), text))
}

// events serves the methods events/list, events/poll, events/subscribe and
// events/unsubscribe.
func (x *exchange) events() {
	if x.m.Method == "events/list" {
		x.listEvents()
		return
	}
	p, problem := x.m.eventParams()
	switch {
	case problem != "":
		if x.admitted() {
			x.fail(refuse(x.protocolStatus(), codeParams, problem))
		}
	case p.Name != everyEvent && !slices.ContainsFunc(x.ownTypes(), func(t eventType) bool { return t.Name == p.Name }):
		if x.admitted() {
			x.failEvent(eventNotFound, "There is no such event.")
		}
	case x.m.Method == "events/subscribe":
		x.subscribe(p)
	case x.m.Method == "events/unsubscribe":
		x.unsubscribe(p)
	default:
		x.poll(p)
	}
}

// eventParams reads the params of the message. problem says what is wrong with them.
func (m *message) eventParams() (p eventParams, problem string) {
	const wrong = "The params are not those of the method."
	if !exact(m.Params, "cursor", "maxAgeMs", "maxEvents", "ttlMs", "url", "delivery") ||
		json.Unmarshal(m.Params, &p) != nil {
		return p, wrong
	}
	var given struct {
		Delivery, Arguments json.RawMessage
	}
	_ = json.Unmarshal(m.Params, &given) // cannot fail: the params were decoded above
	var arguments map[string]json.RawMessage
	if !exact(given.Delivery, "mode", "url", "secret") || !exact(given.Arguments, "resource") ||
		len(given.Arguments) > 0 && json.Unmarshal(given.Arguments, &arguments) != nil {
		return p, wrong
	}
	for name, value := range withoutHost(arguments) {
		if name != "resource" || json.Unmarshal(value, &p.resource) != nil || p.resource == "" {
			return p, "An event has the argument resource only, a string that is not empty."
		}
	}
	if p.MaxAge != nil && *p.MaxAge < 0 || p.MaxEvents != nil && *p.MaxEvents < 1 || p.TTL != nil && *p.TTL < 1 {
		return p, "maxAgeMs must not be negative, and maxEvents and ttlMs must be positive."
	}
	return p, ""
}

// eventTypesOf returns the types of events: the messages that the operations send to
// webhooks, without the challenges.
func eventTypesOf(operations []api.Operation) []eventType {
	out := []eventType{{Name: everyEvent, Description: "Everything that happens."}}
	for _, op := range operations {
		for _, one := range op.Webhooks {
			if one.Answer == nil {
				out = append(out, eventType{Name: one.Name, Description: one.Text})
			}
		}
	}
	return out
}

// ownTypes returns the types of events that the feed of the token's audience has.
func (x *exchange) ownTypes() []eventType {
	return slices.DeleteFunc(slices.Clone(x.eventTypes), func(t eventType) bool {
		return slices.ContainsFunc(foreignEvents[x.entry.Resource.Audience], func(prefix string) bool {
			return strings.HasPrefix(t.Name, prefix)
		})
	})
}

// listEvents sends the types of events that the token may read.
func (x *exchange) listEvents() {
	audience := x.entry.Resource.Audience
	feed := x.byName[feedTools[audience]]
	scopes, ok := x.admit(func(scopes []string) bool { return feed != nil && feed.allows(audience, scopes) })
	if !ok {
		return
	}
	delivery := []string{"poll"}
	if t := x.own[x.operations().subscribe]; t != nil && t.allows(audience, scopes) {
		delivery = []string{"webhook", "poll"}
	}
	out := []eventType{}
	for _, t := range x.ownTypes() {
		t.Delivery, t.Input, t.Payload = delivery, eventInput, feed.itemSchema()
		out = append(out, t)
	}
	x.answered(map[string]any{"events": out})
}

// itemSchema returns the JSON schema of an item of the list that the tool returns.
func (t *tool) itemSchema() json.RawMessage {
	var list struct {
		Properties struct {
			Items struct{ Items json.RawMessage }
		}
	}
	_ = json.Unmarshal(t.OutputSchema, &list) // cannot fail: the service made this JSON
	return list.Properties.Items.Items
}

// pollPause is how long a client should wait after it has read all events.
const pollPause = 5 * time.Second

// feed is a page of an event feed, as the feed's tool returns it.
type feed struct {
	Items   []json.RawMessage `json:"items"`
	Cursor  string            `json:"cursor"`
	HasMore bool              `json:"has_more"`
}

// poll sends the events after a cursor. It calls the operation of the feed's tool, which
// makes the access checks. Its cursors are those of the operation.
func (x *exchange) poll(p eventParams) {
	after, limit := "latest", 50
	if p.Cursor != nil {
		after = *p.Cursor
	}
	if p.MaxEvents != nil {
		limit = min(*p.MaxEvents, 200)
	}
	answer := x.readFeed(p, after, limit)
	truncated := answer != nil && answer.status == http.StatusGone
	if truncated {
		answer = x.readFeed(p, "earliest", limit)
	}
	if answer == nil || !x.succeeded(answer) {
		return
	}
	var page feed
	_ = json.Unmarshal(answer.body.Bytes(), &page) // cannot fail: the service made this JSON
	events := []map[string]any{}
	for _, raw := range page.Items {
		var e struct{ ID, Timestamp string }
		_ = json.Unmarshal(raw, &e) // cannot fail: the service made this JSON
		at, err := time.Parse(time.RFC3339Nano, e.Timestamp)
		if p.MaxAge != nil && err == nil && x.api.Now().Sub(at).Milliseconds() > *p.MaxAge {
			truncated = true
			continue
		}
		events = append(events, map[string]any{"eventId": e.ID, "name": p.Name, "timestamp": e.Timestamp, "data": raw})
	}
	pause := pollPause
	if page.HasMore {
		pause = 0
	}
	x.eventResult(map[string]any{"events": events, "cursor": page.Cursor, "truncated": truncated,
		"hasMore": page.HasMore, "nextPollMs": pause.Milliseconds()})
}

// add adds an argument with the name and the value to the call.
func (c *call) add(name string, value any) {
	text, _ := json.Marshal(value) // strings and numbers cannot fail
	c.arguments = append(c.arguments, argument{name, text})
}

// readFeed calls the operation of the feed's tool, for at most limit events after the cursor
// after. If the audience has no feed, it sends an error and returns nil.
func (x *exchange) readFeed(p eventParams, after string, limit int) *recorder {
	t := x.byName[feedTools[x.entry.Resource.Audience]]
	if t == nil {
		if x.admitted() {
			x.failEvent(eventNotFound, "There is no such event.")
		}
		return nil
	}
	c := call{tool: t}
	c.add("after", after)
	c.add("limit", limit)
	if p.Name != everyEvent {
		c.add("type", p.Name)
	}
	if p.resource != "" {
		c.add("resource", p.resource)
	}
	answer := newRecorder()
	x.api.Call(answer, c.request(x.r), x.entry)
	return answer
}

// eventResult sends a result of MCP Events that a client must not cache.
func (x *exchange) eventResult(result map[string]any) {
	if x.m.modern {
		result["resultType"] = "complete"
	}
	x.result(result)
}

// succeeded copies the headers of an operation's response and reports whether it is a
// success. If not, it sends the error as an error of MCP Events.
func (x *exchange) succeeded(answer *recorder) bool {
	x.copyHeader(answer.header)
	if answer.status != http.StatusOK {
		x.failEventAs(answer)
		return false
	}
	return true
}

// failEventAs sends the error response of an operation as an error of MCP Events.
func (x *exchange) failEventAs(answer *recorder) {
	codes := map[int]int{http.StatusBadRequest: codeParams, http.StatusForbidden: x.eventCode(eventForbidden),
		http.StatusNotFound: x.eventCode(eventNotFound), http.StatusConflict: x.eventCode(eventExhausted)}
	code := codes[answer.status]
	if code == 0 || answer.header.Get("WWW-Authenticate") != "" {
		x.failAs(answer)
		return
	}
	var body api.ErrorBody
	_ = json.Unmarshal(answer.body.Bytes(), &body) // cannot fail: the service made this JSON
	e := refuse(x.protocolStatus(), code, body.Description)
	e.Data = json.RawMessage(answer.body.Bytes())
	x.fail(e)
}
