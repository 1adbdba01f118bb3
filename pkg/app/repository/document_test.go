package repository_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apptest"
	"svc/internal/test/markdown"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/base/config"
	"svc/pkg/domain/page"
	"svc/pkg/edge/api"
	"svc/pkg/edge/reference"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	documentFile = "../../../docs/openapi.json"
	endpointFile = "../../../docs/endpoints.md"
	offeredFile  = "../../oauth/protocol/offered_scopes.txt"
	idsFile      = "../operations.txt"
	canonical    = "https://api.svc.example" // the address in the golden document
)

// recordedAnswer is a response of a built function to an event of events/api.
type recordedAnswer struct {
	Status int
	Body   json.RawMessage
}

// recordedAnswers returns the golden responses by event: the operation's id and,
// after a hyphen, the variant.
func recordedAnswers(t *testing.T) map[string]recordedAnswer {
	t.Helper()
	files, err := filepath.Glob("../../../events/api/golden/svc_*.json")
	testkit.Must(t, err)
	out := map[string]recordedAnswer{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		testkit.Must(t, err)
		var a recordedAnswer
		testkit.Must(t, json.Unmarshal(text, &a))
		out[strings.TrimSuffix(filepath.Base(file), ".json")] = a
	}
	return out
}

// recordedRequest returns the body of the request that an operation's answer was
// recorded with. It returns nil if the request had none, or is not recorded yet.
func recordedRequest(t *testing.T, id string) json.RawMessage {
	t.Helper()
	text, err := os.ReadFile("../../../events/api/v2/" + id + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	testkit.Must(t, err)
	var event struct {
		Body            string
		IsBase64Encoded bool
	}
	testkit.Must(t, json.Unmarshal(text, &event))
	if event.Body == "" {
		return nil
	}
	body := []byte(event.Body)
	if event.IsBase64Encoded {
		body, err = base64.StdEncoding.DecodeString(event.Body)
		testkit.Must(t, err)
	}
	return body
}

// TestEveryAnswerIsAsDescribed: the responses that the built functions gave to
// the events match the document's schemas, errors too.
func TestEveryAnswerIsAsDescribed(t *testing.T) {
	rows := map[string]api.Row{}
	for _, row := range app.Rows(nil) {
		rows[row.ID] = row
	}
	for event, a := range recordedAnswers(t) {
		id, variant, _ := strings.Cut(event, "-")
		row, ok := rows[id]
		if !ok {
			t.Errorf("%s is not an event of any row", event)
			continue
		}
		if variant == "" && a.Status != row.Status {
			t.Errorf("%s: %d, the row says %d", event, a.Status, row.Status)
		}
		for _, fault := range apptest.Undescribed(t, id, a.Status, a.Body) {
			t.Errorf("%s: %s in %s", event, fault, a.Body)
		}
	}
}

// TestReferencePage: the page and the document need no token. The document
// equals the one that the rows generate for the service's own address.
func TestReferencePage(t *testing.T) {
	s := apptest.New(t)
	for path, want := range map[string]string{"/docs": "/docs/scalar-", "/": "/docs/scalar-", "/docs/": "/docs/docs-",
		"/favicon.ico": "<svg", "/openapi.json": `"openapi": "3.1.0"`, "/health": `"ok"`} {
		a := s.Get(t, "", path).Must(t, 200)
		if !strings.Contains(string(a.Body), want) {
			t.Errorf("%s has no %q", path, want)
		}
	}
	if *update {
		return // the served document is embedded, so it is the one before the update
	}
	text := documents(t, s.URL)[documentFile]
	if diff := cmp.Diff(string(text), string(s.Get(t, "", "/openapi.json").Must(t, 200).Body)+"\n"); diff != "" {
		t.Errorf("the document of %s: %s", s.URL, diff)
	}
}

// TestReferenceFiles: the names of the page's files contain their hashes, so
// browsers may cache the files for ever. They are compressed for clients that
// accept it.
func TestReferenceFiles(t *testing.T) {
	s := apptest.New(t)
	page := s.Get(t, "", "/docs").Must(t, 200)
	if got := page.Header.Get("Cross-Origin-Opener-Policy"); got != "same-origin" {
		t.Errorf("opener policy %q: the window of Authorize would be cut off", got)
	}
	files := regexp.MustCompile(`/docs/[a-z]+-([0-9a-f]{16})\.(js|css)`).FindAllStringSubmatch(string(page.Body), -1)
	if len(files) != 3 {
		t.Fatalf("the page names the files %v", files)
	}
	for _, f := range files {
		a := s.Do(t, apptest.Request{Method: "GET", Path: f[0], Header: map[string]string{"Accept-Encoding": "gzip"}}).
			Must(t, 200)
		if sum := sha256.Sum256(a.Body); !strings.HasPrefix(hex.EncodeToString(sum[:]), f[1]) {
			t.Errorf("%s has the hash %x", f[0], sum[:8])
		}
		if got := a.Header.Get("Cache-Control"); !strings.Contains(got, "immutable") {
			t.Errorf("%s: Cache-Control %q", f[0], got)
		}
		for _, coding := range []string{"identity", "gzip;q=0", "br, gzip; Q=0.000, identity"} {
			plain := s.Do(t, apptest.Request{Method: "GET", Path: f[0],
				Header: map[string]string{"Accept-Encoding": coding}}).Must(t, 200)
			if plain.Header.Get("Content-Encoding") != "" || !utf8.Valid(plain.Body) || len(plain.Body) < len(a.Body) {
				t.Errorf("%s with %q: %d bytes, coded as %q", f[0], coding, len(plain.Body),
					plain.Header.Get("Content-Encoding"))
			}
		}
	}
}

// documents returns the documents that the rows generate, by file. The examples
// are the recorded responses.
func documents(t *testing.T, baseURL string) map[string][]byte {
	t.Helper()
	doc, err := reference.Document(baseURL, page.ScopePhrase, app.Rows(nil)...)
	testkit.Must(t, err)
	answers, examples := recordedAnswers(t), map[string]example{}
	for _, row := range app.Rows(nil) {
		response := answers[row.ID].Body
		examples[row.ID] = example{Request: recordedRequest(t, row.ID), Response: response}
		if answers[row.ID].Status >= 300 || len(response) == 0 || strings.Contains(string(response), `"items": []`) {
			t.Errorf("%s has no example, or a failure or one without items: events/api/golden/%[1]s.json (make golden)", row.ID)
		}
	}
	reference.Open(doc)
	text, err := openAPI(doc, examples)
	testkit.Must(t, err)
	return map[string][]byte{documentFile: append(text, '\n'), endpointFile: withEndpoints(t),
		offeredFile: offeredScopes(), idsFile: operationIDs(), configurationFile: configurationPage(),
		privacyFile: withKinds(t)}
}

// offeredScopes returns all scopes that some operation needs, one per line:
// those of the rows, and those of OpenID Connect, which userinfo needs.
func offeredScopes() []byte {
	scopes := authz.Scopes("")
	for _, r := range app.Rows(nil) {
		scopes = slices.AppendSeq(scopes, maps.Values(r.Policy.Scopes))
	}
	slices.Sort(scopes)
	scopes = slices.DeleteFunc(slices.Compact(scopes), func(scope string) bool { return scope == "" })
	return []byte(strings.Join(scopes, "\n") + "\n")
}

const configurationFile = "../../../docs/configuration.md"

// configurationPage returns the reference of the environment variables.
func configurationPage() []byte {
	table := func(variables []config.Variable) string {
		var rows [][]string
		for _, v := range variables {
			rows = append(rows, []string{code(v.Name), v.Accepts, v.Default, v.Meaning})
		}
		return markdown.Table([]string{"variable", "accepts", "without it", "meaning"}, rows)
	}
	return []byte("# Configuration\n\n" + markdown.Paragraph("The functions and `svc` read these environment variables "+
		"once, when they start. If a variable has a value that it does not accept, the functions that serve requests and "+
		"`svc dev` do not start. The error names the variable, the value and what is expected. An empty variable counts as "+
		"absent. `make golden` writes this page.") + "## Variables of the functions\n\n" + markdown.Paragraph("`svc` "+
		"also reads those that have a meaning for it. `template.yaml` sets no others.") + table(config.Variables) +
		"\n## Variables of svc\n\n" + markdown.Paragraph("To reach AWS, `svc` also uses what the AWS SDK reads: profiles "+
		"and the files in `~/.aws`.") + table(config.CommandVariables))
}

// operationIDs returns the operation ids of the rows, one per line, sorted.
func operationIDs() []byte {
	var ids []string
	for _, r := range app.Rows(nil) {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return []byte(strings.Join(ids, "\n") + "\n")
}

// withEndpoints returns docs/endpoints.md with the tables of endpoints between its
// markers, generated from the rows.
func withEndpoints(t *testing.T) []byte {
	t.Helper()
	var table, extensions [][]string
	rows := app.Rows(nil)
	// The rows of /me come after the others.
	order := func(r api.Row) string { return fmt.Sprint(strings.Count(r.Path, "/me"), r.Path) }
	slices.SortStableFunc(rows, func(a, b api.Row) int { return strings.Compare(order(a), order(b)) })
	for _, r := range rows {
		var audiences, scopes []string
		for _, audience := range authz.Audiences {
			if scope, in := r.Policy.Scopes[audience]; in {
				audiences, scopes = append(audiences, string(audience)), append(scopes, code(scope))
			}
		}
		line := []string{r.Method, code(r.Path), listed(audiences...), listed(scopes...),
			listed(code(r.Policy.Permission), code(r.Policy.Feature))}
		if r.Extension {
			extensions = append(extensions, line)
		} else {
			table = append(table, line)
		}
	}
	titles := []string{"method", "path", "audience", "scope", "needs"}
	return between(t, endpointFile, "endpoints", markdown.Table(titles, table)+"\nExtensions of the specification:\n\n"+
		markdown.Table(titles, extensions))
}

// code formats a name as code in Markdown; "" stays "".
func code(name string) string {
	if name == "" {
		return ""
	}
	return "`" + name + "`"
}

// TestGoldenDocuments: the OpenAPI document, the reference page and the tables of
// docs/endpoints.md equal those that the rows generate. A change of them is a change
// of the contract.
func TestGoldenDocuments(t *testing.T) {
	for file, made := range documents(t, canonical) {
		if *update {
			testkit.Must(t, os.WriteFile(file, made, 0o644))
		}
		want, err := os.ReadFile(file)
		testkit.Must(t, err)
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(made), "\n")); diff != "" {
			t.Errorf("%s is not what the rows make (make golden): %s", file, diff)
		}
	}
}

// Members that extend a specified schema are marked, as operations are.
func TestExtensionMembers(t *testing.T) {
	text, err := os.ReadFile(documentFile)
	testkit.Must(t, err)
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Extension bool `json:"x-extension"`
				}
			}
		}
	}
	testkit.Must(t, json.Unmarshal(text, &doc))
	for member, want := range map[string]bool{"RideRequest.estimateId": true, "Trip.scheduledFor": true,
		"Settings.routing": true, "RideRequest.notes": false, "Trip.status": false, "Settings.dispatch": false} {
		schema, name, _ := strings.Cut(member, ".")
		if got, ok := doc.Components.Schemas[schema].Properties[name]; !ok || got.Extension != want {
			t.Errorf("%s: marked %v, known %v", member, got.Extension, ok)
		}
	}
}
