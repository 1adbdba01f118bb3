package replay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"svc/internal/test/testkit"
)

// TestReplayStreams sends the events of events/stream and events/schedule to
// the built functions. The table already has the effects of these events. So
// each function returns its golden response, and nothing changes.
func TestReplayStreams(t *testing.T) {
	testkit.Long(t)
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
				testkit.Must(t, err)
				group, _, _ := strings.Cut(name, "-")
				function := strings.ToUpper(group[:1]) + group[1:] + "Function"
				answer, err := s.processes[function].Invoke(context.Background(), event)
				if err != nil {
					t.Fatalf("%v\n%s", err, s.output.tail())
				}
				var got any
				testkit.Must(t, json.Unmarshal(answer, &got))
				compare(t, filepath.Join(eventsDir, dir, "golden", name+".json"), indented(got), *update)
			})
		}
	}
	s.drain(t)
	if after := s.state(t); after != before {
		t.Errorf("repeated events change what is read:\n%s\n%s", before, after)
	}
}

// state returns what the stream functions wrote: wallets and report.
func (s *deployment) state(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{"svc_reports_summary", "svc_wallet_totals", "svc_wallet_totals-detail",
		"svc_my_wallet"} {
		text, err := os.ReadFile(eventFile("v2", name))
		testkit.Must(t, err)
		event := placeholders.ReplaceAllFunc(text, func(m []byte) []byte { return []byte(s.token(t, string(m[2:len(m)-2]))) })
		function := "ReportsFunction"
		if name == "svc_my_wallet" {
			function = "MeFunction"
		}
		answer, err := s.processes[function].Invoke(context.Background(), event)
		testkit.Must(t, err)
		var a struct{ Body string }
		testkit.Must(t, json.Unmarshal(answer, &a))
		all.WriteString(a.Body)
	}
	return all.String()
}

// writeStreams writes the events that the stream delivered for the demo, and
// one with a broken record.
func (s *deployment) writeStreams(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"stream/golden", "schedule/golden"} {
		testkit.Must(t, os.MkdirAll(filepath.Join(eventsDir, dir), 0o755))
	}
	for _, name := range []string{"settlement", "projection"} {
		function := strings.ToUpper(name[:1]) + name[1:] + "Function"
		testkit.Must(t, os.WriteFile(filepath.Join(eventsDir, "stream", name+".json"), indented(s.records(t, function)),
			0o644))
	}
	testkit.Must(t, os.WriteFile(filepath.Join(eventsDir, "stream", "settlement-broken.json"),
		indented(s.broken(t, "SettlementFunction")), 0o644))
	testkit.Must(t, os.WriteFile(filepath.Join(eventsDir, "schedule", "settlement.json"),
		indented(map[string]any{"sweep": true}), 0o644))
	for file, schedule := range map[string]string{"keys.json": "rotation", "jobs.json": "jobs"} {
		testkit.Must(t, os.WriteFile(filepath.Join(eventsDir, "schedule", file),
			indented(map[string]any{"version": "0", "id": "replayed", "source": "aws.scheduler",
				"detail-type": "Scheduled Event", "detail": map[string]any{},
				"resources": []string{"arn:aws:scheduler:eu-central-1:123456789012:schedule/default/" + schedule},
				"account":   "123456789012", "region": "eu-central-1", "time": "2026-06-01T12:00:00Z"}), 0o644))
	}
}

// records returns three of the records that a function was given. They are the
// first three by key, with new sequence numbers, so they are the same in every
// run.
func (s *deployment) records(t *testing.T, function string) map[string][]map[string]any {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.delivered[function])
	if len(all) < 3 {
		t.Fatalf("%s was given %d records", function, len(all))
	}
	slices.SortStableFunc(all, func(a, b map[string]any) int { return strings.Compare(recordKey(a), recordKey(b)) })
	for i, r := range all[:3] {
		number := strconv.Itoa(i + 1)
		r["eventID"], r["eventSourceARN"] = number,
			"arn:aws:dynamodb:eu-central-1:123456789012:table/svc/stream/2026-06-01T12:00:00.000"
		change := r["dynamodb"].(map[string]any)
		change["SequenceNumber"], change["ApproximateCreationDateTime"] = number, at/1000
	}
	return map[string][]map[string]any{"Records": all[:3]}
}

// recordKey orders records by the item's key, then by what happened to it.
func recordKey(r map[string]any) string {
	change := r["dynamodb"].(map[string]any)
	return fmt.Sprint(change["Keys"], r["eventName"], change["NewImage"])
}

// broken returns records whose second one is for another trip, which is not
// settled and whose document cannot be decoded.
func (s *deployment) broken(t *testing.T, function string) any {
	t.Helper()
	e := s.records(t, function)
	second, err := json.Marshal(e["Records"][1])
	testkit.Must(t, err)
	var r map[string]any
	testkit.Must(t, json.Unmarshal(regexp.MustCompile(`TRIP#trp_\w+\d{4}`).ReplaceAll(second,
		[]byte("TRIP#trp_01JMETR0000000000000009999")), &r))
	r["dynamodb"].(map[string]any)["NewImage"].(map[string]any)["doc"] = map[string]string{"S": "{"}
	e["Records"][1] = r
	return e
}
