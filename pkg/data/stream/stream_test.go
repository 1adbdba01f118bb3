package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"svc/pkg/data/stream"
	"svc/pkg/data/table"
)

func eventOf(t *testing.T, text string) events.DynamoDBEvent {
	t.Helper()
	var event events.DynamoDBEvent
	if err := json.Unmarshal([]byte(text), &event); err != nil {
		t.Fatal(err)
	}
	return event
}

func TestChanges(t *testing.T) {
	image := func(id, version, status string) string {
		return `{"pk":{"S":"T#ten_1#TRIP#` + id + `"},"sk":{"S":"TRIP"},"type":{"S":"trip"},"version":{"N":"` + version +
			`"},"status":{"S":"` + status + `"}}`
	}
	record := func(sequence, older, newer string) string {
		text := `{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"` + sequence + `"`
		if older != "" {
			text += `,"OldImage":` + older
		}
		if newer != "" {
			text += `,"NewImage":` + newer
		}
		return text + `}}`
	}
	type seen struct {
		PK, Type, Status, First string
		Old                     int64
		Removed                 bool
	}
	tests := []struct {
		name, records string
		want          []seen
	}{
		{"one insert", record("1", "", image("a", "1", "PENDING")), []seen{{"T#ten_1#TRIP#a", "trip", "PENDING", "1", 0,
			false}}},
		{"the newest of several", record("1", "", image("a", "1", "PENDING")) + "," + record("2", "", image("b", "1",
			"PENDING")) + "," +
			record("3", image("a", "1", "PENDING"), image("a", "2", "ASSIGNED")),
			[]seen{{"T#ten_1#TRIP#a", "trip", "ASSIGNED", "1", 0, false}, {"T#ten_1#TRIP#b", "trip", "PENDING", "2", 0, false}}},
		{"out of order", record("3", image("a", "2", "ASSIGNED"), image("a", "3", "DRIVER_ARRIVED")) + "," + record("2",
			image("a", "1", "PENDING"), image("a", "2", "ASSIGNED")),
			[]seen{{"T#ten_1#TRIP#a", "trip", "DRIVER_ARRIVED", "3", 1, false}}},
		{"no change", record("1", image("a", "2", "ASSIGNED"), image("a", "2", "ASSIGNED")),
			[]seen{{"T#ten_1#TRIP#a", "trip", "ASSIGNED", "1", 2, false}}},
		{"removed", record("1", image("a", "1", "PENDING"), image("a", "2", "ASSIGNED")) + "," + record("2", image("a", "2",
			"ASSIGNED"), ""),
			[]seen{{"T#ten_1#TRIP#a", "trip", "", "1", 1, true}}},
		{"no images", record("1", "", ""), nil},
		{"no key", record("1", "", `{"type":{"S":"trip"}}`), nil},
		{"a key of another form", record("1", "", `{"pk":{"N":"1"},"sk":{"B":"AA=="}}`), nil},
		{"attributes of every form", record("1", "",
			`{"pk":{"S":"X#1"},"sk":{"S":"X"},"type":{"S":"x"},"status":{"S":"OK"},"a":{"NULL":true},"b":{"BOOL":true},"c":{"L":[{"N":"1"}]},"d":{"M":{"e":{"S":""}}},"f":{"NS":["1"]},"g":{"BS":["AA=="]},"h":{"B":"AA=="},"i":{"SS":["x"]}}`),
			[]seen{{"X#1", "x", "OK", "1", 0, false}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []seen
			for _, c := range stream.Changes(eventOf(t, `{"Records":[`+tt.records+`]}`)) {
				got = append(got, seen{c.Key.PK, c.Type(), c.New.Text("status"), c.First, c.Old.Version, !c.New.Found()})
				if c.Last.Text("status") != c.New.Text("status") && (c.New.Found() || c.Last.Text("status") != "ASSIGNED") {
					t.Errorf("the newest image is %s", c.Last.Text("status"))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChangesOfAnEmptyAttribute(t *testing.T) {
	event := events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{{Change: events.DynamoDBStreamRecord{
		NewImage: map[string]events.DynamoDBAttributeValue{"pk": {}}}}}}
	if got := stream.Changes(event); len(got) != 0 {
		t.Errorf("changes of an attribute without a form: %v", got)
	}
}

func TestEachAnswersTheFailedRecords(t *testing.T) {
	one := func(sequence string) []stream.Change { return []stream.Change{{First: sequence}} }
	failed := stream.Each(t.Context(), [][]stream.Change{one("1"), append(one("2"), one("3")...), one("4")}, 2,
		func(_ context.Context, group []stream.Change) error {
			for _, c := range group {
				switch c.First {
				case "2":
					return errors.New("no")
				case "4":
					panic("odd")
				}
			}
			return nil
		})
	want := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{{ItemIdentifier: "2"},
		{ItemIdentifier: "4"}}}
	none := events.DynamoDBEvent{}
	if diff := cmp.Diff(want, stream.Answer(t.Context(), none, failed, nil)); diff != "" {
		t.Error(diff)
	}
	if text, _ := json.Marshal(stream.Answer(t.Context(), none, nil, nil)); string(text) != `{"batchItemFailures":[]}` {
		t.Errorf("answer without failures: %s", text)
	}
}

// Bad data is given up, with all records of its item, unless a change before it
// may succeed: then the stream delivers both again.
func TestBadDataIsGivenUp(t *testing.T) {
	record := func(sequence, id string) string {
		key := `"pk":{"S":"` + id + `"},"sk":{"S":"X"}`
		return `{"dynamodb":{"SequenceNumber":"` + sequence + `","Keys":{` + key + `},"NewImage":{` + key +
			`,"type":{"S":"x"}}}}`
	}
	event := eventOf(t, `{"Records":[`+strings.Join([]string{record("9", "a"), record("10", "b"), record("11", "a"),
		record("12", "c")}, ",")+`]}`)
	of := map[string]stream.Change{}
	for _, c := range stream.Changes(event) {
		of[c.Key.PK] = c
	}
	bad, outage := stream.BadData(errors.New("odd")), errors.New("timeout")
	for name, tt := range map[string]struct {
		failed       []stream.Failure
		noPlace      bool
		given, again []string // sequence numbers
	}{
		"bad data alone": {[]stream.Failure{{of["a"], bad}}, false, []string{"9", "11"}, nil},
		"before an outage": {[]stream.Failure{{of["b"], outage}, {of["a"], bad}}, false, []string{"9", "11"},
			[]string{"10"}},
		"behind an outage":         {[]stream.Failure{{of["c"], bad}, {of["b"], outage}}, false, nil, []string{"10", "12"}},
		"joined with other faults": {[]stream.Failure{{of["b"], errors.Join(bad)}}, false, []string{"10"}, nil},
		"an outage":                {[]stream.Failure{{of["a"], outage}}, false, nil, []string{"9"}},
		"bad in two steps":         {[]stream.Failure{{of["a"], bad}, {of["a"], bad}}, false, []string{"9", "11"}, nil},
		"an outage in one of two":  {[]stream.Failure{{of["a"], bad}, {of["a"], outage}}, false, nil, []string{"9"}},
		"nowhere to store it":      {[]stream.Failure{{of["a"], bad}, {of["b"], bad}}, true, nil, []string{"9", "10"}},
	} {
		var given, failed []string
		answer := stream.Answer(t.Context(), event, tt.failed,
			func(_ context.Context, records []events.DynamoDBEventRecord, cause error) error {
				if tt.noPlace {
					return errors.New("no place")
				}
				for _, r := range records {
					given = append(given, r.Change.SequenceNumber)
				}
				if !errors.Is(cause, table.ErrData) {
					t.Errorf("%s: the cause is %v", name, cause)
				}
				return nil
			})
		for _, f := range answer.BatchItemFailures {
			failed = append(failed, f.ItemIdentifier)
		}
		if !slices.Equal(given, tt.given) || !slices.Equal(failed, tt.again) {
			t.Errorf("%s: given up %v, want %v; to retry %v, want %v", name, given, tt.given, failed, tt.again)
		}
	}
}

func TestTenantOf(t *testing.T) {
	for name, tt := range map[string]struct {
		pk string
		id string
		ok bool
	}{
		"tenant":    {"T#ten_1#TRIP#x", "ten_1", true},
		"platform":  {"POST#pst_1", "", false},
		"no id":     {"T##TRIP", "", false},
		"no kind":   {"T#ten_1", "", false},
		"no prefix": {"", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := stream.TenantOf(&table.DB{}, table.Key{PK: tt.pk, SK: "x"})
			if ok != tt.ok || (ok && got.ID() != tt.id) {
				t.Errorf("TenantOf(%q) = %q, %v", tt.pk, got.ID(), ok)
			}
		})
	}
}

// TestPanickingReader: a reader that panics fails only with the items with which it
// panics, inside of Each and outside. The other readers get everything.
func TestPanickingReader(t *testing.T) {
	record := func(sequence, id string) string {
		return `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"` + sequence + `","Keys":{"pk":{"S":"T#ten_1#` + id +
			`"},"sk":{"S":"TRIP"}},"NewImage":{"pk":{"S":"T#ten_1#` + id + `"},"sk":{"S":"TRIP"},"type":{"S":"trip"}}}}`
	}
	event := eventOf(t, `{"Records":[`+record("1", "a")+","+record("2", "bad")+","+record("3", "c")+`]}`)
	var mu sync.Mutex
	seen := map[string]int{}
	bad := func(c stream.Change) bool { return strings.HasSuffix(c.Key.PK, "bad") }
	each := func(name string, panics bool) func(context.Context, events.DynamoDBEvent) []stream.Failure {
		return func(ctx context.Context, event events.DynamoDBEvent) []stream.Failure {
			var group []stream.Change
			for _, c := range stream.Changes(event) {
				if name == "outside" && bad(c) {
					panic("outside")
				}
				group = append(group, c)
			}
			return stream.Each(ctx, [][]stream.Change{group}, 1, func(_ context.Context, some []stream.Change) error {
				for _, c := range some {
					if panics && bad(c) {
						panic("inside")
					}
				}
				mu.Lock()
				defer mu.Unlock()
				seen[name] += len(some)
				return nil
			})
		}
	}
	failed := stream.Process(t.Context(), event, each("outside", false), each("inside", true), each("whole", false))
	if len(failed) != 2 || seen["outside"] != 2 || seen["inside"] != 2 || seen["whole"] != 3 {
		t.Errorf("%d failed, %v", len(failed), seen)
	}
	var letters []string
	out := stream.Answer(t.Context(), event, failed, func(_ context.Context, records []events.DynamoDBEventRecord,
		cause error) error {
		for _, r := range records {
			letters = append(letters, r.Change.SequenceNumber)
		}
		if !errors.Is(cause, table.ErrData) {
			t.Errorf("given up: %v", cause)
		}
		return nil
	})
	if len(out.BatchItemFailures) != 0 || !slices.Equal(letters, []string{"2"}) {
		t.Errorf("comes again: %v, dead letters: %v", out.BatchItemFailures, letters)
	}
}
