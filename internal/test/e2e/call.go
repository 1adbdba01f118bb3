package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc/internal/test/testkit"
)

// answer is a response.
type answer struct {
	t      *testing.T
	call   string
	status int
	header http.Header
	body   []byte
}

// call is a request. Its body is the form, if there is one, else the JSON text
// in body.
type call struct {
	method, path, token, body string
	form                      url.Values
	key                       string // Idempotency-Key
	match                     string // If-Match
	accept                    string // Accept
	cookie                    string // Cookie
	basic                     *url.Userinfo
}

// do sends the call. In a suite of tools (s.tools), it calls the MCP tool of the
// operation instead, if there is one. It notes the operations that succeed, for
// everyOperation.
func (s *suite) do(t *testing.T, c call) answer {
	t.Helper()
	if s.tools != nil && c.accept == "" { // a tool has JSON only
		if a, ok := s.asTool(t, c); ok {
			return a
		}
	}
	var body io.Reader
	kind := ""
	switch {
	case c.form != nil:
		body, kind = strings.NewReader(c.form.Encode()), "application/x-www-form-urlencoded"
	case c.body != "":
		body, kind = strings.NewReader(c.body), "application/json"
	}
	url := s.BaseURL + c.path
	if strings.HasPrefix(c.path, "http") {
		url = c.path
	}
	req, err := http.NewRequest(c.method, url, body)
	testkit.Must(t, err)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.basic != nil {
		secret, _ := c.basic.Password()
		req.SetBasicAuth(c.basic.Username(), secret)
	}
	if c.key == "" && c.method == http.MethodPost && strings.HasPrefix(c.path, "/api/v1/") {
		c.key = someKey() // so that it can be repeated after a 503
	}
	if c.key != "" {
		req.Header.Set("Idempotency-Key", c.key)
	}
	if c.accept != "" {
		req.Header.Set("Accept", c.accept)
	}
	if c.cookie != "" {
		req.Header.Set("Cookie", c.cookie)
	}
	if c.match != "" {
		req.Header.Set("If-Match", c.match)
	}
	res, err := s.http.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", c.method, c.path, err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", c.method, c.path, err)
	}
	if path, _, _ := strings.Cut(c.path, "?"); res.StatusCode < 300 && strings.HasPrefix(path, "/api/v1/") {
		s.succeeded[c.method+" "+path] = true
	}
	return answer{t, c.method + " " + c.path, res.StatusCode, res.Header, text}
}

func (s *suite) get(t *testing.T, token, path string) answer {
	t.Helper()
	return s.do(t, call{method: http.MethodGet, path: path, token: token})
}

func (s *suite) post(t *testing.T, token, path, body string) answer {
	t.Helper()
	return s.do(t, call{method: http.MethodPost, path: path, token: token, body: body})
}

func (s *suite) patch(t *testing.T, token, path, body string) answer {
	t.Helper()
	return s.do(t, call{method: http.MethodPatch, path: path, token: token, body: body})
}

// create is post with a new Idempotency-Key also where it calls a tool: post gives a tool none.
func (s *suite) create(t *testing.T, token, path, body string) answer {
	t.Helper()
	return s.do(t, call{method: http.MethodPost, path: path, token: token, body: body, key: someKey()})
}

// must ends the test unless the response has the status.
func (a answer) must(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s: status %d, want %d: %s", a.call, a.status, status, a.body)
	}
	return a
}

// refused ends the test unless the response has the status and, in the member
// error, the word.
func (a answer) refused(status int, word string) answer {
	a.t.Helper()
	if got := a.must(status).text("error"); got != word {
		a.t.Fatalf("%s: error %q, want %q", a.call, got, word)
	}
	return a
}

// json decodes the body.
func (a answer) json() map[string]any {
	a.t.Helper()
	var out map[string]any
	d := json.NewDecoder(bytes.NewReader(a.body))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		a.t.Fatalf("%s: not a JSON object: %v: %s", a.call, err, a.body)
	}
	return out
}

// text returns a member of the body as text, or "" if the member is neither a
// string nor a number.
func (a answer) text(name string) string {
	a.t.Helper()
	switch v := a.json()[name].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// items returns the members of a list.
func (a answer) items() []map[string]any {
	a.t.Helper()
	list, ok := a.must(http.StatusOK).json()["items"].([]any)
	if !ok {
		a.t.Fatalf("%s: no items: %s", a.call, a.body)
	}
	out := make([]map[string]any, len(list))
	for i, one := range list {
		out[i], _ = one.(map[string]any)
	}
	return out
}

// some returns the members of a list, and ends the test if there are none.
func (a answer) some() []map[string]any {
	a.t.Helper()
	items := a.items()
	if len(items) == 0 {
		a.t.Fatalf("%s: the list is empty", a.call)
	}
	return items
}

// find returns the item with the id, nil if there is none.
func find(items []map[string]any, id string) map[string]any {
	for _, one := range items {
		if one["id"] == id {
			return one
		}
	}
	return nil
}
