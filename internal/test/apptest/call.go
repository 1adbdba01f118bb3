package apptest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/base/ids"
	"svc/pkg/edge/api"
)

// Answer is a response.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Seen   api.Observation // what the API observed; zero if no endpoint matched or if Request.Header has X-Request-Id
}

// Request is one request. It has no Authorization header if Token is empty.
type Request struct {
	Method, Path, Token string
	Body                string // "" for none
	Header              map[string]string
}

// Do sends the request.
func (s *Service) Do(t testing.TB, r Request) Answer {
	t.Helper()
	var body io.Reader
	if r.Body != "" {
		body = strings.NewReader(r.Body)
	}
	req, err := http.NewRequest(r.Method, s.URL+r.Path, body)
	testkit.Must(t, err)
	id := ids.New(ids.Request, s.Clock.Now())
	req.Header.Set("X-Request-Id", id)
	if r.Body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.Token != "" {
		req.Header.Set("Authorization", "Bearer "+r.Token)
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	req.Host = r.Header["Host"] // "" is that of the address
	res, err := s.client.Do(req)
	testkit.Must(t, err)
	defer func() { _ = res.Body.Close() }()
	var text []byte
	if res.Header.Get("Content-Type") == "text/event-stream" {
		text, err = begin(res.Body)
	} else {
		text, err = io.ReadAll(res.Body)
	}
	testkit.Must(t, err)
	s.mu.Lock()
	seen := s.seen[id]
	s.mu.Unlock()
	a := Answer{res.StatusCode, res.Header, text, seen}
	a.described(t, r)
	return a
}

// described reports an error if the JSON response of an operation is not as the OpenAPI
// document describes it. For a tool of the MCP server it checks the result's structured
// content, which is the response of the tool's operation.
func (a Answer) described(t testing.TB, r Request) {
	t.Helper()
	body, isJSON := a.Body, a.Header.Get("Content-Type") == "application/json"
	if strings.HasPrefix(r.Path, "/mcp") {
		var m struct {
			Result struct{ StructuredContent json.RawMessage }
		}
		isJSON = json.Unmarshal(body, &m) == nil && len(m.Result.StructuredContent) > 0
		body = m.Result.StructuredContent
	}
	if a.Seen.Operation == "" || !isJSON || r.Method == http.MethodHead {
		return
	}
	for _, fault := range Undescribed(t, a.Seen.Operation, a.Seen.Status, body) {
		t.Errorf("%s %s: %s in %s", r.Method, r.Path, fault, body)
	}
}

// begin reads the beginning of a stream of events, up to its first message with an id.
// The rest of the stream takes minutes.
func begin(stream io.Reader) (text []byte, err error) {
	for lines := bufio.NewScanner(stream); lines.Scan(); {
		text = append(append(text, lines.Bytes()...), '\n')
		if strings.HasPrefix(lines.Text(), "id: ") {
			return text, nil
		}
	}
	return text, io.ErrUnexpectedEOF
}

// Get sends a GET. In Get, Post and Patch, token may be empty.
func (s *Service) Get(t testing.TB, token, path string) Answer {
	t.Helper()
	return s.Do(t, Request{Method: http.MethodGet, Path: path, Token: token})
}

// Post sends a POST with a JSON body.
func (s *Service) Post(t testing.TB, token, path, body string) Answer {
	t.Helper()
	return s.Do(t, Request{Method: http.MethodPost, Path: path, Token: token, Body: body})
}

// Patch sends a PATCH with a JSON body.
func (s *Service) Patch(t testing.TB, token, path, body string) Answer {
	t.Helper()
	return s.Do(t, Request{Method: http.MethodPatch, Path: path, Token: token, Body: body})
}

// Must ends the test unless the response has the status.
func (a Answer) Must(t testing.TB, status int) Answer {
	t.Helper()
	if a.Status != status {
		t.Fatalf("status %d, want %d: %s", a.Status, status, a.Body)
	}
	return a
}

// JSON decodes the body into a value of the type.
func JSON[T any](t testing.TB, a Answer) T {
	t.Helper()
	var out T
	if err := json.Unmarshal(a.Body, &out); err != nil {
		t.Fatalf("body %q: %v", a.Body, err)
	}
	return out
}

// Code returns the error code of the response, "" for none.
func (a Answer) Code() string {
	var body api.ErrorBody
	_ = json.Unmarshal(a.Body, &body) // not an error body: no code
	return body.Error
}
