package agents

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
)

// documentAt is the client's identifier, and the address of its metadata.
const documentAt = "https://planner.example/oauth/client.json"

// documents serves one metadata document in place of the Internet.
type documents struct{ body string }

func (d *documents) RoundTrip(r *http.Request) (*http.Response, error) {
	res := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(d.body))}
	if r.URL.String() != documentAt {
		res.StatusCode = http.StatusNotFound
	}
	return res, nil
}

func publish(t *testing.T, changes map[string]any) *documents {
	t.Helper()
	doc := map[string]any{"client_id": documentAt, "client_name": "Planner", "application_type": "native",
		"redirect_uris": []string{"http://127.0.0.1/callback"}, "token_endpoint_auth_method": "none",
		"grant_types": []string{"authorization_code", "refresh_token"}}
	for name, value := range changes {
		doc[name] = value
	}
	body, err := json.Marshal(doc)
	testkit.Must(t, err)
	return &documents{string(body)}
}

// node returns the Node.js that npm fetched, because the inspector needs 22 and
// some machines have an older one. npm has it for Linux; elsewhere the machine's
// own is used.
func node(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("node_modules/node-*/bin/node") // the pattern is well-formed
	if len(found) == 0 {
		path, err := exec.LookPath("node")
		testkit.Must(t, err)
		return path
	}
	path, err := filepath.Abs(found[0])
	testkit.Must(t, err)
	return path
}

// python returns the command that runs the script, and leaves no files behind.
func python(t *testing.T, script string) []string {
	t.Helper()
	const path = "../../../.cache/python/bin/python"
	if out, err := exec.CommandContext(t.Context(), path, "-c", "import mcp, fastmcp").CombinedOutput(); err != nil {
		t.Fatalf("mcp and fastmcp are missing: make python-tests fetches them (Debian: apt-get install python3-venv): %v %s",
			err, out)
	}
	return []string{path, "-B", script}
}

// TestNpmClient runs @modelcontextprotocol/client, and TestMcp and TestFastmcp
// the clients of PyPI.
func TestNpmClient(t *testing.T) {
	testkit.Long(t)
	signInEveryWay(t, []string{node(t), "client.mjs"})
}

func TestMcp(t *testing.T) {
	testkit.Long(t)
	signInEveryWay(t, python(t, "with_mcp.py"))
}

func TestFastmcp(t *testing.T) {
	testkit.Long(t)
	signInEveryWay(t, python(t, "with_fastmcp.py"))
}

// signInEveryWay lets an operator, a rider and a driver sign in through the
// client. Each identifies the client in a different way: registration by the
// program, metadata document, earlier registration.
func signInEveryWay(t *testing.T, command []string) {
	t.Helper()
	s := apptest.With(t, apptest.Options{Documents: publish(t, nil)})
	port := freePort(t)
	redirect := "http://127.0.0.1:" + strconv.Itoa(port) + "/callback"
	first := task{URL: s.URL + "/mcp", Redirect: redirect, Port: port}
	operator := connect(t, s, command, first, s.Operator(t, "metro", "olga"))
	defer operator.stop()
	if tools := operator.tools(); !slices.Contains(tools, "svc_list_trips") || slices.Contains(tools, "svc_request_ride") {
		t.Errorf("an operator has %v", tools)
	}

	second := first
	second.URL, second.Document = s.URL+"/mcp/rider/metro", documentAt
	rider := connect(t, s, command, second, s.Rider(t, "metro", "rita"))
	defer rider.stop()
	if rider.session.ClientID != documentAt {
		t.Errorf("the rider's client is %s", rider.session.ClientID)
	}
	trip := rider.ride(t, "Main St 1")
	if len(rider.asked) != 1 || !strings.Contains(rider.asked[0], `originAddress: "Main St 1"`) {
		t.Errorf("the rider was asked %q", rider.asked)
	}
	operator.sees(t, trip)
	if seen := rider.call("svc_cancel_my_trip", map[string]any{"id": "trp_1", "confirmation": "made up"}); !seen.IsError ||
		!strings.Contains(seen.Content[0].Text, "not_found") {
		t.Errorf("a trip that is not there: %+v", seen)
	}

	third := first
	third.URL, third.Mode = s.URL+"/mcp/driver/metro", "legacy"
	third.ClientID, third.ClientSecret = registered(t, s, redirect)
	driver := connect(t, s, command, third, s.Driver(t, "metro", "dan"))
	defer driver.stop()
	if me := driver.call("svc_me", map[string]any{}); !strings.Contains(string(me.StructuredContent),
		`"dan@metro.example"`) {
		t.Errorf("the driver is %s", me.StructuredContent)
	}

	rider.revoked(t)
	for _, a := range []*agent{operator, driver} { // the others' access is as before
		if me := a.call("svc_me", map[string]any{}); me.IsError || me.failed != "" {
			t.Errorf("after the rider's revocation: %+v", me)
		}
	}
}

var confirmation = regexp.MustCompile(`"confirmation": "([^"]+)"`)

// ride requests a ride and returns the trip's id.
func (a *agent) ride(t *testing.T, from string) string {
	t.Helper()
	trip, asked := rideBy(t, a.call, from)
	if asked != "" {
		a.asked = append(a.asked, asked)
	}
	return trip
}

// rideBy requests a ride and returns the trip's id. If the client cannot ask
// the person, the test acts as the model: it repeats the call with the
// confirmation code. asked is the question in the tool's result.
func rideBy(t *testing.T, call func(tool string, arguments map[string]any) answer, from string) (trip, asked string) {
	t.Helper()
	arguments := map[string]any{"originAddress": from, "originLat": 1, "originLng": 2}
	made := call("svc_request_ride", arguments)
	if made.IsError && strings.Contains(made.Content[0].Text, "confirmation_required") {
		var body struct {
			Description string `json:"error_description"`
		}
		testkit.Must(t, json.Unmarshal([]byte(made.Content[0].Text), &body))
		code := confirmation.FindStringSubmatch(body.Description)
		if code == nil {
			t.Fatalf("no code in %s", body.Description)
		}
		arguments["confirmation"] = code[1]
		asked = body.Description
		made = call("svc_request_ride", arguments)
	}
	return idOf(t, made), asked
}

// sees checks that the operator's list contains the trip.
func (a *agent) sees(t *testing.T, trip string) {
	t.Helper()
	if seen := a.call("svc_list_trips", map[string]any{"limit": 5}); !strings.Contains(string(seen.StructuredContent),
		trip) {
		t.Errorf("the operator sees %s, without %s", seen.StructuredContent, trip)
	}
}

// idOf returns the id of the resource that a call created.
func idOf(t *testing.T, made answer) string {
	t.Helper()
	var thing struct{ ID string }
	if err := json.Unmarshal(made.StructuredContent, &thing); err != nil || made.IsError || thing.ID == "" {
		t.Fatalf("nothing was made: %+v", made)
	}
	return thing.ID
}

// revoked revokes the agent's tokens as its own client may, and checks that the
// next call fails.
func (a *agent) revoked(t *testing.T) {
	t.Helper()
	res, err := http.PostForm(a.base+"/oauth/revoke", url.Values{"token": {a.session.Refresh},
		"client_id": {a.session.ClientID}})
	testkit.Must(t, err)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("the revocation: %d", res.StatusCode)
	}
	if got := a.call("svc_my_trips", map[string]any{}); got.failed == "" {
		t.Errorf("after the revocation: %+v", got)
	}
}

// registered registers a confidential client for drivers.
func registered(t *testing.T, s *apptest.Service, redirect string) (id, secret string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"client_name": "Known", "redirect_uris": []string{redirect},
		"application_type": "native", "token_endpoint_auth_method": "client_secret_basic",
		"audiences": []authz.Audience{authz.Driver}})
	testkit.Must(t, err)
	made := apptest.JSON[struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}](t, s.Post(t, "", "/oauth/register", string(body)).Must(t, 201))
	return made.ID, made.Secret
}

// environment returns the environment for a program that must not read the
// user's own settings.
func environment(t *testing.T) []string {
	t.Helper()
	return append(os.Environ(), "HOME="+t.TempDir())
}
