package emulator_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"svc"
	"svc/pkg/edge/gateway/emulator"
	"svc/pkg/local/poller"
)

func TestStreams(t *testing.T) {
	streams, err := emulator.Streams(svc.Template)
	if err != nil {
		t.Fatal(err)
	}
	want := []emulator.Stream{
		{Function: "ProjectionFunction", StartingPosition: "TRIM_HORIZON", BatchSize: 100, Window: time.Second, Bisect: true,
			PartialFailures: true, Retries: -1, MaxAge: 2 * time.Hour, DeadLetters: true, Timeout: time.Minute},
		{Function: "SettlementFunction", StartingPosition: "TRIM_HORIZON", BatchSize: 20, Bisect: true,
			PartialFailures: true, Retries: -1, MaxAge: 2 * time.Hour, DeadLetters: true, Timeout: time.Minute},
	}
	if diff := cmp.Diff(want, streams, cmpopts.IgnoreFields(emulator.Stream{}, "Patterns")); diff != "" {
		t.Error(diff)
	}
}

func TestFiltersOfTheTemplate(t *testing.T) {
	image := func(kind, status string) string {
		return `{"pk":{"S":"T#t#X#1"},"type":{"S":"` + kind + `"},"status":{"S":"` + status + `"},"v":{"N":"1"}}`
	}
	for name, c := range map[string]struct {
		event, old, fresh      string
		settlement, projection bool
	}{
		"a trip completed":      {"MODIFY", image("trip", "IN_PROGRESS"), image("trip", "COMPLETED"), true, true},
		"a trip put completed":  {"INSERT", "", image("trip", "COMPLETED"), true, true},
		"a trip cancelled":      {"MODIFY", image("trip", "ASSIGNED"), image("trip", "CANCELLED"), true, true},
		"a trip started":        {"MODIFY", image("trip", "DRIVER_ARRIVED"), image("trip", "IN_PROGRESS"), false, true},
		"a completed trip gone": {"REMOVE", image("trip", "COMPLETED"), "", false, true},
		"an order completed":    {"MODIFY", image("order", "PICKED_UP"), image("order", "COMPLETED"), false, true},
		"a driver":              {"INSERT", "", image("driver", "ONLINE"), false, true},
		"a driver gone":         {"REMOVE", image("driver", "ONLINE"), "", false, true},
		"a wallet":              {"MODIFY", image("wallet", ""), image("wallet", ""), false, true},
		"a post":                {"INSERT", "", image("post", "PLANNED"), false, true},
		"a receipt":             {"INSERT", "", image("receipt", ""), false, true},
		"a new address":         {"INSERT", "", image("address", ""), false, true},
		"an address used":       {"MODIFY", image("address", ""), image("address", ""), false, false},
		"what was counted":      {"MODIFY", image("counted", ""), image("counted", ""), false, false},
		"a token":               {"INSERT", "", image("token", ""), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			change := map[string]json.RawMessage{"Keys": json.RawMessage(`{"pk":{"S":"T#t#X#1"},"sk":{"S":"X"}}`)}
			if c.old != "" {
				change["OldImage"] = json.RawMessage(c.old)
			}
			if c.fresh != "" {
				change["NewImage"] = json.RawMessage(c.fresh)
			}
			record := map[string]any{"eventName": c.event, "eventSource": "aws:dynamodb", "dynamodb": change}
			got := map[string]bool{}
			for function, filters := range filtersOf(t) {
				got[function] = passes(t, filters, record)
			}
			want := map[string]bool{"SettlementFunction": c.settlement, "ProjectionFunction": c.projection}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func filtersOf(t *testing.T) map[string][]poller.Filter {
	t.Helper()
	streams, err := emulator.Streams(svc.Template)
	if err != nil {
		t.Fatal(err)
	}
	filters := map[string][]poller.Filter{}
	for _, s := range streams {
		for _, pattern := range s.Patterns {
			f, err := poller.ParseFilter(pattern)
			if err != nil {
				t.Fatal(err)
			}
			filters[s.Function] = append(filters[s.Function], f)
		}
	}
	return filters
}

func passes(t *testing.T, filters []poller.Filter, record any) bool {
	t.Helper()
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	for _, f := range filters {
		if f.Match(decoded) {
			return true
		}
	}
	return false
}

func TestStreamsRefuses(t *testing.T) {
	const template = `
Resources:
  F:
    Type: AWS::Serverless::Function
    Properties:
      Events:
        S:
          Type: DynamoDB
          Properties: {BatchSize: 10, FilterCriteria: {Filters: [{Pattern: '{"a":["b"]}'}]}}
`
	for name, c := range map[string]struct{ old, with, want string }{
		"nothing wrong":             {"F:", "F:", ""},
		"a batch size of no number": {"BatchSize: 10", "BatchSize: !Ref X", "not a number"},
		"a batch of nothing":        {"BatchSize: 10", "BatchSize: 0", "not within"},
		"a pattern that is no JSON": {`{"a":["b"]}`, `{a}`, "not a JSON object"},
		"a pattern of nothing":      {`{"a":["b"]}`, `{}`, "not a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := emulator.Streams([]byte(strings.Replace(template, c.old, c.with, 1)))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want …%s…", err, c.want)
			}
		})
	}
}
