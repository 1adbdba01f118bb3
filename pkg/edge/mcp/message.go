package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"svc/pkg/base/codec"
	"svc/pkg/edge/api"
)

// modern is the newest revision of MCP. It has no handshake: every request names its
// revision.
const modern = "2026-07-28"

// The revisions of MCP that the server supports. legacy are the revisions before modern.
var (
	legacy    = []string{"2025-11-25", "2025-06-18", "2025-03-26"} // sorted: newest first
	supported = append([]string{modern}, legacy...)
)

// Error codes of JSON-RPC 2.0 and of MCP (revision 2026-07-28, "Error Codes").
const (
	codeParse           = -32700
	codeRequest         = -32600
	codeMethod          = -32601
	codeParams          = -32602
	codeInternal        = -32603
	codeHeaderMismatch  = -32020
	codeVersion         = -32022
	codeUnauthenticated = -31001 // outside JSON-RPC's reserved range; the HTTP status says what is wrong
)

// Limits of a message. around, mostBytes and longest are in bytes. deepest is the number
// of levels of nested JSON; the schema of every tool has fewer.
const (
	around    = 16 << 10             // for the JSON-RPC members around the body of an operation
	mostBytes = api.MaxBody + around // limit, unless the message calls a tool with a long body
	longest   = api.LongestBody + around
	deepest   = 40
)

// message is one JSON-RPC message of a client.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`

	params params
	modern bool // the message is of the revision modern
	long   bool // the message has more than mostBytes bytes
}

// params has the members of a message's params that the server reads, for all methods.
type params struct {
	Name      string          `json:"name"`
	URI       string          `json:"uri"`
	Arguments json.RawMessage `json:"arguments"`
	Cursor    json.RawMessage `json:"cursor"`
	Version   string          `json:"protocolVersion"` // revision that the method initialize requests
	State     string          `json:"requestState"`
	Responses map[string]struct {
		Action  string                     `json:"action"`
		Content map[string]json.RawMessage `json:"content"`
	} `json:"inputResponses"`
	Meta struct {
		Version      *string                     `json:"io.modelcontextprotocol/protocolVersion"`
		Capabilities *map[string]json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
	} `json:"_meta"`
}

// rpcError is an error of the protocol, with the HTTP status to send it with.
type rpcError struct {
	status  int
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// reply is a JSON-RPC response.
type reply struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// refuse returns an error of the protocol: the HTTP status, the JSON-RPC code and the
// message.
func refuse(status, code int, text string) *rpcError {
	return &rpcError{status: status, Code: code, Message: text}
}

// readMessage reads the JSON-RPC message in the body of the request. The returned message
// is never nil, even with an error.
func readMessage(r *http.Request) (*message, *rpcError) {
	m := &message{}
	body, err := io.ReadAll(io.LimitReader(r.Body, longest+1))
	if err != nil {
		return m, refuse(http.StatusBadRequest, codeParse, "The body could not be read.")
	}
	if len(body) > longest {
		return m, errTooLarge
	}
	refused := m.read(body)
	if m.long = len(body) > mostBytes; m.long && (refused != nil || m.Method != "tools/call") {
		return m, errTooLarge
	}
	return m, refused
}

// errTooLarge is the answer to a message that is too large.
var errTooLarge = refuse(http.StatusRequestEntityTooLarge, codeRequest, "The message is too large.")

// read decodes the body into m. It returns an error unless the body is one JSON-RPC
// request.
func (m *message) read(body []byte) *rpcError {
	switch err := scan(body); {
	case errors.Is(err, errTooDeep):
		return refuse(http.StatusBadRequest, codeRequest, "The message is nested too deeply.")
	case err != nil:
		return refuse(http.StatusBadRequest, codeParse, "The body is not JSON.")
	case !jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true)): // decoding replaces such text (RFC 8259, 8)
		return refuse(http.StatusBadRequest, codeParse, "The body is not UTF-8, or has an unpaired surrogate.")
	case bytes.TrimSpace(body)[0] != '{':
		return refuse(http.StatusBadRequest, codeRequest, "The body must be one JSON-RPC message.")
	}
	if !exact(body, "jsonrpc", "id", "method", "params") || json.Unmarshal(body, m) != nil ||
		m.Version != "2.0" || m.Method == "" || !validID(m.ID) {
		m.ID = nil
		return refuse(http.StatusBadRequest, codeRequest, "The body is not a JSON-RPC request.")
	}
	if len(m.Params) > 0 && (!exactParams(m.Params) || json.Unmarshal(m.Params, &m.params) != nil) {
		return refuse(http.StatusBadRequest, codeParams, "The params are not those of the method.")
	}
	return nil
}

// errTooDeep means that a JSON text has more than deepest levels.
var errTooDeep = errors.New("nested too deeply")

// scan returns an error if the text is not one JSON value, or is nested too
// deeply. It accepts text that is not UTF-8, and unpaired surrogates.
func scan(body []byte) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
		switch dec.StackDepth() {
		case 0:
			return codec.End(dec)
		case deepest + 1:
			return errTooDeep
		}
	}
}

// exactParams reports whether params has the members that the server reads in their exact
// letter case, and each at most once. Other members are ignored.
func exactParams(raw []byte) bool {
	good := exact(raw, "name", "uri", "arguments", "cursor", "protocolVersion", "requestState", "inputResponses", "_meta")
	_ = codec.Members(raw, func(name string, value jsontext.Value) { // an error shows when the value is decoded
		switch name {
		case "_meta":
			good = good && exact(value, "io.modelcontextprotocol/protocolVersion",
				"io.modelcontextprotocol/clientCapabilities")
		case "inputResponses":
			good = good && exact(value, agreed)
			_ = codec.Members(value, func(_ string, response jsontext.Value) {
				good = good && exact(response, "action", "content")
			})
		}
	})
	return good
}

// exact reports whether an object has each known member at most once, and in its
// exact letter case. encoding/json would accept any case and use the last of
// several. exact returns true for a value that is not an object.
func exact(raw []byte, known ...string) bool {
	good, seen := true, make([]string, 0, len(known))
	_ = codec.Members(raw, func(name string, _ jsontext.Value) { // an error shows when the value is decoded
		for _, one := range known {
			if !strings.EqualFold(one, name) {
				continue
			}
			good = good && one == name && !slices.Contains(seen, one)
			seen = append(seen, one)
		}
	})
	return good
}

// validID reports whether the id of a message is a string or a number, or
// absent. A message without an id is a notification.
func validID(id json.RawMessage) bool {
	return len(id) == 0 || id[0] == '"' || id[0] == '-' || '0' <= id[0] && id[0] <= '9'
}

// versionHeader is the header with the request's revision of MCP.
const versionHeader = "Mcp-Protocol-Version"

// negotiate determines the revision of the message and compares the headers
// with the body (revision 2026-07-28, "Server Validation").
func (m *message) negotiate(h http.Header) *rpcError {
	header, meta := h.Get(versionHeader), m.params.Meta
	if meta.Version == nil && header != modern {
		if header != "" && !slices.Contains(legacy, header) {
			return unsupported(header)
		}
		return nil
	}
	m.modern = true
	switch {
	case meta.Version == nil:
		return refuse(http.StatusBadRequest, codeParams, "_meta has no io.modelcontextprotocol/protocolVersion.")
	case header != *meta.Version:
		return mismatch("MCP-Protocol-Version")
	case *meta.Version != modern:
		return unsupported(*meta.Version)
	case meta.Capabilities == nil:
		return refuse(http.StatusBadRequest, codeParams, "_meta has no io.modelcontextprotocol/clientCapabilities.")
	case len(m.ID) == 0:
		return nil // the revision defines no headers for notifications
	case h.Get("Mcp-Method") != m.Method:
		return mismatch("Mcp-Method")
	}
	switch m.Method {
	case "tools/call", "prompts/get":
		return sameName(h, m.params.Name)
	case "resources/read":
		return sameName(h, m.params.URI)
	}
	return nil
}

// sameName returns an error unless the header Mcp-Name is the name in the body.
func sameName(h http.Header, name string) *rpcError {
	if given, ok := headerValue(h.Get("Mcp-Name")); !ok || given == "" || given != name {
		return mismatch("Mcp-Name")
	}
	return nil
}

// mismatch returns the error for a header that does not match the body.
func mismatch(header string) *rpcError {
	return refuse(http.StatusBadRequest, codeHeaderMismatch,
		"Header mismatch: "+header+" is missing or does not match the body.")
}

// unsupported returns the error for an unknown revision of the protocol.
func unsupported(version string) *rpcError {
	return &rpcError{status: http.StatusBadRequest, Code: codeVersion, Message: "Unsupported protocol version",
		Data: map[string]any{"supported": supported, "requested": version}}
}

// lists reports whether the method lists tools, resources, prompts or events.
func (m *message) lists() bool { return strings.HasSuffix(m.Method, "/list") }

// hasCursor reports whether the request asks for a further page. null and an empty text
// ask for the first one.
func (p params) hasCursor() bool {
	return len(p.Cursor) > 0 && string(p.Cursor) != "null" && string(p.Cursor) != `""`
}

// elicits reports whether the client can ask a person with a form (MCP's elicitation).
func (m *message) elicits() bool {
	if m.params.Meta.Capabilities == nil {
		return false
	}
	raw, ok := (*m.params.Meta.Capabilities)["elicitation"]
	var modes map[string]json.RawMessage
	if !ok || json.Unmarshal(raw, &modes) != nil || modes == nil {
		return false
	}
	return len(modes) == 0 || modes["form"] != nil
}

// bearer returns the access token of the request, "" without one.
func bearer(r *http.Request) string {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token)
}
