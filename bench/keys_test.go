package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/base/ids"
)

// load is the number of read and write units that requests consume at one key.
type load struct{ reads, writes float64 }

// share returns which share of a key's capacity the load uses in one second.
// DynamoDB serves 3,000 read and 1,000 write units per key and second. The shares
// of both are added.
func (l load) share() float64 { return l.reads/3000 + l.writes/1000 }

// plus returns the sum of the load and an n-th of the other one.
func (l load) plus(other load, n float64) load {
	return load{l.reads + other.reads/n, l.writes + other.writes/n}
}

// keys records how many units each partition key of the table and of its
// indexes consumes.
type keys struct {
	next  http.RoundTripper
	names *strings.Replacer // of the world's ids by {name}
	mu    sync.Mutex
	loads map[string]load // by index and key ("by-g1 T#…"), or by the key alone for the table
	all   load            // units of all requests; writes include those of the indexes
}

// take returns the records since the last take, and begins anew. Requests that are
// still under way count for the next.
func (k *keys) take() (loads map[string]load, all load) {
	k.mu.Lock()
	defer k.mu.Unlock()
	loads, all = k.loads, k.all
	k.loads, k.all = map[string]load{}, load{}
	return loads, all
}

// texts decodes the string values of attributes; keys are strings.
type texts map[string]struct{ S string }

// keyed is a part of a table request that names one item.
type keyed struct{ Key, Item texts }

// keyedRequest decodes the members of a table request that contain keys.
type keyedRequest struct {
	keyed
	IndexName                 string
	ExpressionAttributeValues texts
	RequestItems              map[string]json.RawMessage
	TransactItems             []map[string]keyed
}

// capacity is ConsumedCapacity of a response.
type capacity struct {
	CapacityUnits          float64
	Table                  *struct{ CapacityUnits float64 }
	GlobalSecondaryIndexes map[string]struct{ CapacityUnits float64 }
}

// note adds the units of a request and its response.
func (k *keys) note(target string, request, response []byte) error {
	var q keyedRequest
	var one struct{ ConsumedCapacity *capacity }
	var many struct{ ConsumedCapacity []capacity }
	if err := json.Unmarshal(request, &q); err != nil {
		return err
	}
	if json.Unmarshal(response, &one) == nil && one.ConsumedCapacity != nil {
		many.ConsumedCapacity = []capacity{*one.ConsumedCapacity}
	} else if json.Unmarshal(response, &many) != nil {
		return fmt.Errorf("%s: %.200s", target, response)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range many.ConsumedCapacity {
		if testkit.Writes(target) {
			k.wrote(q.items(), c)
			continue
		}
		k.add(q.read(), load{reads: c.CapacityUnits}) // items of a batch are below 4 KB, so each costs the same
		k.all.reads += c.CapacityUnits
	}
	return nil
}

// add divides the units among the keys.
func (k *keys) add(at []string, units load) {
	for _, key := range at {
		k.loads[key] = k.loads[key].plus(units, float64(len(at)))
	}
}

// read returns the partition keys that a request reads.
func (q keyedRequest) read() (out []string) {
	if h := q.ExpressionAttributeValues[":h"].S; h != "" {
		return []string{strings.TrimSpace(q.IndexName + " " + h)}
	}
	if q.Key != nil {
		return []string{q.Key["pk"].S}
	}
	for _, raw := range q.RequestItems {
		var batch struct{ Keys []texts }
		_ = json.Unmarshal(raw, &batch) // a batch of writes has none
		for _, key := range batch.Keys {
			out = append(out, key["pk"].S)
		}
	}
	return out
}

// items returns the items, or their keys, that a request writes.
func (q keyedRequest) items() (out []texts) {
	for _, op := range append(q.TransactItems, map[string]keyed{"": q.keyed}) {
		for _, o := range op {
			if o.Item == nil {
				o.Item = o.Key
			}
			if o.Item != nil {
				out = append(out, o.Item)
			}
		}
	}
	return out
}

// wrote adds a write. An index's units are divided among the index keys of the
// request's items. An entry that moves also writes to its old key, which the
// request does not name. So the new key may get up to twice its true units.
func (k *keys) wrote(items []texts, c capacity) {
	k.all.writes += c.CapacityUnits
	units := c.CapacityUnits
	if c.Table != nil {
		units = c.Table.CapacityUnits
	}
	named := func(index, attribute string) (out []string) {
		for _, item := range items {
			if key := item[attribute].S; key != "" {
				out = append(out, strings.TrimSpace(index+" "+key))
			}
		}
		return out
	}
	k.add(named("", "pk"), load{writes: units})
	for index, used := range c.GlobalSecondaryIndexes {
		k.add(named(index, strings.TrimPrefix(index, "by-")), load{writes: used.CapacityUnits})
	}
}

// RoundTrip implements http.RoundTripper.
func (k *keys) RoundTrip(r *http.Request) (*http.Response, error) {
	again := r.WithContext(r.Context()) // a shallow copy; only its body is replaced
	request, err := testkit.Body(&again.Body)
	if err != nil {
		return nil, err
	}
	res, err := k.next.RoundTrip(again)
	if err != nil || res.StatusCode != http.StatusOK {
		return res, err
	}
	response, err := testkit.Body(&res.Body)
	if err != nil {
		return nil, err
	}
	return res, k.note(r.Header.Get("X-Amz-Target"), request, response)
}

var (
	anID     = regexp.MustCompile(`\b[a-z]{2,8}_[0-9A-Za-z]{20,}`)
	aSecret  = regexp.MustCompile(`[0-9A-Za-z_-]{32,}`)
	anEmail  = regexp.MustCompile(`[^#]+@[^#]+`)
	anOrigin = regexp.MustCompile(`\b(192\.0\.2\.1|127\.0\.0\.1)\b`)
	aTime    = regexp.MustCompile(`\b\d{4}-\d\d(-\d\d)?(T[0-9:.]+)?Z?`)
	lastPart = regexp.MustCompile(`#\d+$`)
)

// owners are the owners of keys by the kinds of their ids.
var owners = map[string]string{ids.Tenant: "tenant", ids.Person: "operator", ids.Driver: "driver",
	ids.Customer: "rider", ids.Trip: "trip", ids.Log: "trip", ids.Post: "post", ids.Comment: "post", ids.Client: "client"}

// shape returns the key with each id replaced by a name such as {tenant}, and a
// number at the end by #n.
func (k *keys) shape(key string) string {
	key = k.names.Replace(key)
	key = anEmail.ReplaceAllString(key, "{address}")
	key = anOrigin.ReplaceAllString(key, "{origin}")
	key = anID.ReplaceAllStringFunc(key, func(id string) string {
		kind, _, _ := strings.Cut(id, "_")
		if owner := owners[kind]; owner != "" {
			return "{" + owner + "}"
		}
		return "{request}" // a token, a receipt, an address: a request's own
	})
	key = aTime.ReplaceAllString(key, "{time}")
	key = aSecret.ReplaceAllString(key, "{request}")
	return lastPart.ReplaceAllString(key, "#n")
}

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
	k := &keys{names: strings.NewReplacer("ten_1", "{tenant}")}
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
		{"T#ten_1#REPORT#ms#2026-10-28T11:50:20.0", "T#{tenant}#REPORT#ms#{time}", "{tenant}", 1},
	} {
		shape := k.shape(c.key)
		if got := scopeOf(shape); shape != c.shape || got != c.owner || spread(shape, 4) != c.spread {
			t.Errorf("%s: %s of %q over %d", c.key, shape, got, spread(shape, 4))
		}
	}
}
