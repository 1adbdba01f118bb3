package generated

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/app"
)

// collected is a request of the collection that Postman makes of the document.
type collected struct {
	Method, Path  string
	Query, Header [][2]string
	Body          string
}

// collection converts the document that the service serves.
func collection(t *testing.T, s *apptest.Service, mode string) (out []collected) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", "postman.mjs", mode)
	cmd.Stdin = bytes.NewReader(s.Get(t, "", "/openapi.json").Must(t, 200).Body)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("converting: %v\n%s", err, errs.String())
	}
	testkit.Must(t, json.Unmarshal(text, &out))
	return out
}

// unfilled matches a value that a person must fill in, because the document does not say
// what could stand there.
var unfilled = regexp.MustCompile(`^(<.*>|string|stri)$`)

// TestPostman: in the collection that Postman makes of the document, every GET of a list
// works as it stands, once the texts that a person must fill in are filled in or off.
func TestPostman(t *testing.T) {
	testkit.Long(t)
	if _, err := os.Stat("node_modules/openapi-to-postmanv2"); err != nil {
		t.Fatalf("openapi-to-postmanv2 is missing; make npm-tests fetches it: %v", err)
	}
	s := apptest.New(t)
	dan := s.Driver(t, "metro", "dan")
	tokens := map[authz.Audience]string{authz.Dashboard: s.Token(t, s.Operator(t, "metro", "olga")),
		authz.Rider: s.Token(t, s.Rider(t, "metro", "rita")), authz.Driver: s.Token(t, dan)}
	audiences := map[string]authz.Audience{}
	for _, r := range app.Rows(nil) {
		for audience := range r.Policy.Scopes {
			if audience != r.NoTool { // to whom the operation is of use
				audiences[r.Method+" "+r.Path] = audience
			}
		}
	}
	for _, mode := range []string{"Schema", "Example"} {
		sent := 0
		for _, r := range collection(t, s, mode) {
			query := url.Values{}
			for _, p := range r.Query {
				if p[0] == "cursor" || p[0] == "mine" || p[0] == "detail" || !unfilled.MatchString(p[1]) {
					query.Set(p[0], p[1])
				}
			}
			for _, h := range r.Header {
				if h[0] == "If-Match" && h[1] != "*" {
					t.Errorf("%s: %s %s requires the state %q", mode, r.Method, r.Path, h[1])
				}
			}
			audience, known := audiences[r.Method+" "+r.Path]
			if r.Method != http.MethodGet || !known || strings.Contains(r.Path, ":") {
				continue
			}
			if r.Path == "/api/v1/wallets/postings" { // of one wallet, which must be named
				query.Set("driverId", dan.ID)
			}
			if a := s.Get(t, tokens[audience], r.Path+"?"+query.Encode()); a.Status != http.StatusOK {
				t.Errorf("%s: GET %s?%s: %d %s", mode, r.Path, query.Encode(), a.Status, a.Body)
			}
			sent++
		}
		if sent < 30 {
			t.Errorf("%s: only %d requests were sent", mode, sent)
		}
	}
}
