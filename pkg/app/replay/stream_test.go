package replay_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReplayStreams sends the events of events/stream and events/schedule to
// the built functions, on a table where all that they tell was done before:
// each answers as its golden file says, and nothing changes.
func TestReplayStreams(t *testing.T) {
	s := start(t)
	if *update {
		s.writeStreams(t)
	}
	before := s.state(t)
	for _, dir := range []string{"stream", "schedule"} {
		for _, file := range list(t, filepath.Join(eventsDir, dir)) {
			name := strings.TrimSuffix(filepath.Base(file), ".json")
			t.Run(name, func(t *testing.T) {
				event, err := os.ReadFile(file)
				must(t, err)
				group, _, _ := strings.Cut(name, "-")
				function := strings.ToUpper(group[:1]) + group[1:] + "Function"
				answer, err := s.processes[function].Invoke(context.Background(), event)
				if err != nil {
					t.Fatalf("%v\n%s", err, s.output.tail())
				}
				var got any
				must(t, json.Unmarshal(answer, &got))
				compare(t, filepath.Join(eventsDir, dir, "golden", name+".json"), indented(got), *update)
			})
		}
	}
	s.drain(t)
	if after := s.state(t); after != before {
		t.Errorf("repeated events change what is read:\n%s\n%s", before, after)
	}
}

// state is what the stream functions made: wallets and report.
func (s *service) state(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{"svc_reports_summary", "svc_wallet_totals", "svc_wallet_totals-detail", "svc_my_wallet"} {
		files, err := filepath.Glob(filepath.Join(eventsDir, "api", "v2", "*-"+name+".json"))
		must(t, err)
		if len(files) != 1 {
			t.Fatalf("%d events are named after %s", len(files), name)
		}
		text, err := os.ReadFile(files[0])
		must(t, err)
		event := placeholders.ReplaceAllFunc(text, func(m []byte) []byte { return []byte(s.token(t, string(m[2:len(m)-2]))) })
		function := "ReportsFunction"
		if name == "svc_my_wallet" {
			function = "MeFunction"
		}
		answer, err := s.processes[function].Invoke(context.Background(), event)
		must(t, err)
		var a struct{ Body string }
		must(t, json.Unmarshal(answer, &a))
		all.WriteString(a.Body)
	}
	return all.String()
}

// writeStreams keeps the events that the stream delivered of the demo, and
// one with a broken record.
func (s *service) writeStreams(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"stream/golden", "schedule/golden"} {
		must(t, os.MkdirAll(filepath.Join(eventsDir, dir), 0o755))
	}
	for _, name := range []string{"settlement", "projection"} {
		function := strings.ToUpper(name[:1]) + name[1:] + "Function"
		must(t, os.WriteFile(filepath.Join(eventsDir, "stream", name+".json"), indented(s.records(t, function)), 0o644))
	}
	must(t, os.WriteFile(filepath.Join(eventsDir, "stream", "settlement-broken.json"), indented(s.broken(t, "SettlementFunction")), 0o644))
	must(t, os.WriteFile(filepath.Join(eventsDir, "schedule", "keys.json"), indented(map[string]any{"version": "0", "id": "replayed", "source": "aws.scheduler",
		"detail-type": "Scheduled Event", "detail": map[string]any{}, "resources": []string{"arn:aws:scheduler:eu-central-1:123456789012:schedule/default/rotation"},
		"account": "123456789012", "region": "eu-central-1", "time": "2026-06-01T12:00:00Z"}), 0o644))
}

// records gives the first three records that a function was given.
func (s *service) records(t *testing.T, function string) map[string][]map[string]any {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.delivered[function]) < 3 {
		t.Fatalf("%s was given %d records", function, len(s.delivered[function]))
	}
	e := map[string][]map[string]any{"Records": s.delivered[function][:3]}
	for _, r := range e["Records"] {
		r["dynamodb"].(map[string]any)["ApproximateCreationDateTime"] = at / 1000
	}
	return e
}

// broken is records with a second one that is about another trip, not settled
// yet, whose document cannot be read.
func (s *service) broken(t *testing.T, function string) any {
	t.Helper()
	e := s.records(t, function)
	second, err := json.Marshal(e["Records"][1])
	must(t, err)
	var r map[string]any
	must(t, json.Unmarshal(regexp.MustCompile(`TRIP#trp_\w+\d{4}`).ReplaceAll(second, []byte("TRIP#"+trip("9999"))), &r))
	r["dynamodb"].(map[string]any)["NewImage"].(map[string]any)["doc"] = map[string]string{"S": "{"}
	e["Records"][1] = r
	return e
}
