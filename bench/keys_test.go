package main

import (
	"strings"
	"testing"

	"svc"
)

// TestKeysNote: each key gets its part of the units that a request consumed,
// and an index only the units of its entries.
func TestKeysNote(t *testing.T) {
	k := &keys{}
	k.take()
	for _, c := range [][3]string{
		{"DynamoDB_20120810.BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"pk":{"S":"A#1"}},{"pk":{"S":"A#2"}}]}}}`,
			`{"ConsumedCapacity":[{"CapacityUnits":2}]}`},
		{"DynamoDB_20120810.Query", `{"IndexName":"by-g1","ExpressionAttributeValues":{":h":{"S":"A#1"}}}`,
			`{"ConsumedCapacity":{"CapacityUnits":1.5}}`},
		{"DynamoDB_20120810.TransactWriteItems", `{"TransactItems":[{"Put":{"Item":{"pk":{"S":"A#1"},"g2":{"S":"B#1"}}}},
			{"Update":{"Key":{"pk":{"S":"A#2"}}}}]}`, `{"ConsumedCapacity":[{"CapacityUnits":6,"Table":{"CapacityUnits":4},
			"GlobalSecondaryIndexes":{"by-g2":{"CapacityUnits":2}}}]}`},
	} {
		if err := k.note(c[0], []byte(c[1]), []byte(c[2])); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]load{"A#1": {1, 2}, "A#2": {1, 2}, "by-g1 A#1": {1.5, 0}, "by-g2 B#1": {0, 2}}
	for key, l := range want {
		if k.loads[key] != l {
			t.Errorf("%s: %v, want %v", key, k.loads[key], l)
		}
	}
	if len(k.loads) != len(want) || k.all != (load{3.5, 6}) {
		t.Errorf("%v, together %v", k.loads, k.all)
	}
}

// TestKeysOwners checks which owner a key has, and how many keys share the
// requests.
func TestKeysOwners(t *testing.T) {
	w := &world{names: strings.NewReplacer("ten_1", "{tenant}")}
	for _, c := range []struct {
		key, shape, owner string
		spread            int
	}{
		{"T#ten_1#FLAGS#7", "T#{tenant}#FLAGS#n", "{tenant}", 16},
		{"by-g1 T#ten_1#TRIPS#0", "by-g1 T#{tenant}#TRIPS#n", "{tenant}", 4},
		{"T#ten_1#TRIP#trp_01JHARB0R00000000000000001", "T#{tenant}#TRIP#{trip}", "{trip}", 1},
		{"T#ten_1#TOKEN#tok_01JHARB0R00000000000000001", "T#{tenant}#TOKEN#{request}", "{request}", 1},
		{"CLIENT#cli_01JHARB0R00000000000000001#15", "CLIENT#{client}#n", "{client}", 16},
		{"T#ten_1#LOGIN#rider#a@b.example", "T#{tenant}#LOGIN#rider#{address}", "{address}", 1},
		{"POSTS#text", "POSTS#text", "", 1},
	} {
		shape := w.shape(c.key)
		if got := scopeOf(shape); shape != c.shape || got != c.owner || spread(shape, 4) != c.spread {
			t.Errorf("%s: %s of %q over %d", c.key, shape, got, spread(shape, 4))
		}
	}
}

// TestIdleFloor: a stack without requests costs at most $10 a month, and at
// most $7 if its dashboard is one of the account's three free ones.
func TestIdleFloor(t *testing.T) {
	r, err := ratesOf(svc.Template)
	if err != nil {
		t.Fatal(err)
	}
	p, s := r.prices, r.stack
	if s.alarmed == 0 || s.composites == 0 || s.dashboards == 0 || s.keys == 0 || s.custom == 0 {
		t.Errorf("the template has %+v", s)
	}
	if got := s.idle(p); got > 10 || got-float64(s.dashboards)*p.DashboardMonth > 7 || s.custom > 12 {
		t.Errorf("idle costs $%.2f, with %d metrics of ours", got, s.custom)
	}
}
