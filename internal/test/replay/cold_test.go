package replay_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/test/markdown"
	"svc/internal/test/replay"
	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/local/demo"
	"svc/pkg/oauth/flow"
)

// first is the event that measures each function's start. It reads the table if
// the function has such a request.
var first = map[string]string{"OAuthFunction": "api/v2/oauth-keys.json", "TripsFunction": "api/v2/svc_list_trips.json",
	"FleetFunction":    "api/v2/svc_list_drivers.json",
	"SettingsFunction": "api/v2/svc_get_settings.json", "ReportsFunction": "api/v2/svc_reports_summary.json",
	"DeliveryFunction": "api/v2/svc_list_orders.json",
	"FeedbackFunction": "api/v2/svc_search_feedback.json", "MeFunction": "api/v2/svc_me.json",
	"DocsFunction":       "api/v2/health.json",
	"MCPFunction":        "api/v2/mcp-resource.json", // as a tool call
	"SettlementFunction": "stream/settlement.json", "ProjectionFunction": "stream/projection.json",
	"KeysFunction": "schedule/keys.json", "JobsFunction": "schedule/jobs.json"}

// sweep is what the schedule of a function sends that otherwise reads a queue.
var sweep = json.RawMessage(`{"sweep":true}`)

const starts = 21

var coldStarts = flag.Bool("cold-starts", false, "measure cold starts and write docs/tables.md")

// measured contains the medians of one function over all starts.
type measured struct {
	zip           int
	ready, answer time.Duration
}

// TestColdStarts starts each function several times. It measures the time until
// the function asks for work and until its first response, and compares them
// with a minimal function. With -cold-starts it measures and writes
// docs/tables.md. It asserts sizes, never times.
func TestColdStarts(t *testing.T) {
	testkit.Long(t)
	sizes := zips(t)
	for name, size := range sizes {
		limit := 7_000_000
		if name == "MCPFunction" { // it has every operation, with the numbering plans and the pages to print
			limit = 11_500_000 // for amd64; arm64 needs a tenth less
		}
		if size > limit {
			t.Errorf("the zip of %s has %d bytes", name, size)
		}
	}
	if !*coldStarts {
		return
	}
	s := start(t)
	events := map[string]json.RawMessage{"hello": json.RawMessage(`{"version":"2.0"}`)}
	for name, file := range first {
		text, err := os.ReadFile(filepath.Join(eventsDir, file))
		testkit.Must(t, err)
		events[name] = placeholders.ReplaceAllFunc(text,
			func(m []byte) []byte { return []byte(s.token(t, string(m[2:len(m)-2]))) })
	}
	events[app.Deliver], events[app.Dispatch] = sweep, sweep
	events[app.Events] = call{method: "GET", path: streamPath, token: s.token(t, boss), secret: secret}.event()
	events["MCPFunction"] = s.toolCall(t, events["MCPFunction"])
	ready, answers := map[string][]time.Duration{}, map[string][]time.Duration{}
	for range starts { // in turn, so that other work of the machine affects all alike
		for name, event := range events {
			r, a := s.measure(t, name, event)
			ready[name], answers[name] = append(ready[name], r), append(answers[name], a)
		}
	}
	out := map[string]measured{}
	for name := range events {
		out[name] = measured{sizes[name], median(ready[name]), median(answers[name])}
	}
	testkit.Must(t, markdown.WriteSection("../../../docs/tables.md", "cold starts", text(out)))
}

// toolCall makes the event a tool call that reads the table. Its token is one for
// the MCP server.
func (s *deployment) toolCall(t *testing.T, event json.RawMessage) json.RawMessage {
	t.Helper()
	tokens, err := flow.Token(t.Context(), flow.Options{BaseURL: s.BaseURL, Resource: s.BaseURL + "/mcp", Tenant: "metro",
		Email: boss, Password: demo.Password})
	testkit.Must(t, err)
	var e map[string]any
	testkit.Must(t, json.Unmarshal(event, &e))
	e["headers"].(map[string]any)["authorization"] = "Bearer " + tokens.AccessToken
	e["body"] = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"svc_list_trips","arguments":{"limit":3}}}`
	out, err := json.Marshal(e)
	testkit.Must(t, err)
	answer, err := s.processes["MCPFunction"].Invoke(t.Context(), out)
	if err != nil || !bytes.Contains(answer, []byte(`\"isError\":false`)) {
		t.Fatalf("the tool call: %v %s", err, answer)
	}
	return out
}

func (s *deployment) measure(t *testing.T, name string, event json.RawMessage) (ready, first time.Duration) {
	t.Helper()
	environment := s.environment
	if name == app.Events {
		sum := sha256.Sum256([]byte(secret))
		environment = append(slices.Clone(environment), "EVENT_STREAMS=8",
			"ORIGIN_SECRET_SHA256="+hex.EncodeToString(sum[:]))
	}
	p, err := replay.Start(name, filepath.Join(s.dir, folder(name)), environment, s.output)
	testkit.Must(t, err)
	defer p.Stop()
	if name == app.Events {
		took, err := p.FirstHead(t.Context(), event)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, s.output.tail())
		}
		return p.Ready, took
	}
	answer, took, err := p.First(context.Background(), event)
	if err != nil || bytes.Contains(answer, []byte(`"statusCode":5`)) {
		t.Fatalf("%s: %v %s\n%s", name, err, answer, s.output.tail())
	}
	return p.Ready, took
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// zips returns the sizes of the functions' zips. With -cold-starts it builds
// every function for arm64, as for a deployment. Otherwise it packs only the
// largest of the programs that the other tests run, because building and packing
// take long.
func zips(t *testing.T) map[string]int {
	t.Helper()
	if !*coldStarts {
		dir, err := bootstraps()
		testkit.Must(t, err)
		name := largest(t, dir)
		return map[string]int{name: zipped(t, filepath.Join(dir, folder(name)))}
	}
	dir := filepath.Join(t.TempDir(), "bin")
	testkit.Must(t, replay.Build(t.Context(), replay.Builds{Packages: programs, Arch: "arm64"}, dir))
	sizes := map[string]int{"hello": zipped(t, filepath.Join(dir, "hello"))}
	for _, name := range append(slices.Collect(maps.Keys(functions)), app.Dispatch, app.Events) {
		sizes[name] = zipped(t, filepath.Join(dir, folder(name)))
	}
	return sizes
}

func largest(t *testing.T, dir string) (name string) {
	t.Helper()
	var size int64
	for candidate := range functions {
		info, err := os.Stat(filepath.Join(dir, folder(candidate)))
		testkit.Must(t, err)
		if info.Size() > size {
			name, size = candidate, info.Size()
		}
	}
	return name
}

func zipped(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	testkit.Must(t, err)
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(to,
			flate.BestCompression)
	})
	f, err := w.Create("bootstrap")
	testkit.Must(t, err)
	_, err = f.Write(text)
	testkit.Must(t, err)
	testkit.Must(t, w.Close())
	return out.Len()
}

func text(all map[string]measured) string {
	var b strings.Builder
	hello := all["hello"]
	fmt.Fprintf(&b, "The bootstrap of each function, except the deployment's hook, and of a minimal function (hello)\n"+
		"was started as a process %d times on %d cores (%s/%s) against the embedded engine. The\n"+
		"functions took turns, and the values are medians. “Asks” is the time from the start of the process\n"+
		"until it asks for work, “answers” the time until its first response. The zips are those for arm64.\n"+
		"`make cold-starts` repeats the measurement.\n\n",
		starts, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	var rows [][]string
	line := func(name string, m measured) {
		rows = append(rows, append([]string{name}, strings.Fields(fmt.Sprintf("%.2f %.1f %.1f %.1f", float64(m.zip)/1e6,
			ms(m.ready), ms(m.ready-hello.ready), ms(m.answer)))...))
	}
	line("hello", hello)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name != "hello" {
			line(name, all[name])
		}
	}
	return b.String() + markdown.Table([]string{
		"function", "zip, MB", "asks, ms", "more than hello, ms", "answers, ms"},
		rows)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
