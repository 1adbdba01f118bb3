package table

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
)

// responding is a transport with one fixed response.
type responding struct {
	body     string
	checksum uint32
}

// RoundTrip implements http.RoundTripper.
func (a *responding) RoundTrip(r *http.Request) (*http.Response, error) {
	h := http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Crc32": {fmt.Sprint(a.checksum)}}
	return &http.Response{StatusCode: http.StatusOK, Header: h, Body: io.NopCloser(strings.NewReader(a.body)),
		ContentLength: int64(len(a.body)), Request: r}, nil
}

func (a *responding) say(body string) { a.body, a.checksum = body, crc32.ChecksumIEEE([]byte(body)) }

func openResponding(t testing.TB) (*DB, *responding) {
	t.Helper()
	a := &responding{}
	db, err := Open(t.Context(), Options{Table: "t", Endpoint: "http://table.example",
		Transport: func(http.RoundTripper) http.RoundTripper { return a }})
	if err != nil {
		t.Fatal(err)
	}
	return db, a
}

// both decodes a query's response with our decoder and with the SDK.
func both(t testing.TB, db *DB, body string) (ours, theirs []Item, decoded bool, err error) {
	t.Helper()
	h := db.Tenant("x")
	in := func() *dynamodb.QueryInput {
		in, _ := h.input("T#x#A", Query{Limit: 1}, 1)
		return in
	}
	out, err := db.client.Query(h.within(context.Background()), in())
	if err != nil {
		return nil, nil, false, err
	}
	theirs = (&response{}).or(out.Items)
	ctx, taken := wanting(context.Background())
	again, err := db.client.Query(h.within(ctx), in())
	if err != nil {
		t.Fatalf("the SDK reads %s, we fail: %v", body, err)
	}
	sameItems(t, []Item{Decoded(again.LastEvaluatedKey)}, []Item{Decoded(out.LastEvaluatedKey)})
	if out.Count != again.Count || (out.ConsumedCapacity == nil) != (again.ConsumedCapacity == nil) {
		t.Errorf("the rest of the response differs: %d, %d", out.Count, again.Count)
	}
	return taken.or(again.Items), theirs, taken.decoded, nil
}

func sameItems(t testing.TB, ours, theirs []Item) {
	t.Helper()
	for _, items := range [][]Item{ours, theirs} {
		for _, it := range items {
			slices.SortFunc(it.raw, func(a, b attr) int { return strings.Compare(a.name, b.name) })
		}
	}
	if diff := cmp.Diff(theirs, ours, cmp.AllowUnexported(Item{}, attr{})); diff != "" {
		t.Errorf("(-SDK +ours)\n%s", diff)
	}
}

var responses = []string{
	`{"Count":0,"Items":[],"ScannedCount":0}`,
	`{"Count":1,"Items":[{"pk":{"S":"T#x#A"},"sk":{"S":"1"},"v":{"N":"1"},"version":{"N":"12"},"g1":{"S":"T#x#B"},"r":{"S":"2026"},"type":{"S":"trip"},"doc":{"S":"{\"a\":\"b\\\\c\",\"n\":1.50}"}}],"ScannedCount":1,"ConsumedCapacity":{"TableName":"t","CapacityUnits":0.5}}`,
	`{"Items":[{"on":{"BOOL":true},"off":{"BOOL":false},"set":{"SS":["a","ü","\u00e4"]},"expiresAt":{"N":"1772366400"}},{"pk":{"S":""}}],"Count":2,"LastEvaluatedKey":{"pk":{"S":"p"},"sk":{"S":"s"}}}`,
	" {\n\t\"Items\" : [ { \"pk\" : { \"S\" : \"a\\u0041\\n\\t\\r\\b\\f\\/\\\"\" } } ] , \"Count\" : 1 } ",
	`{"Items":[{"smile":{"S":"\ud83d\ude00 😀"},"lone":{"S":"\ud83dx"},"low":{"S":"\ude00"},"twice":{"S":"\ud83d\ud83d\ude00"}}],"Count":1}`,
	`{"Items":[{"l":{"L":[{"S":"a"},{"N":"1"}]},"m":{"M":{"k":{"BOOL":true}}},"n":{"NULL":true},"b":{"B":"AAEC"},"ns":{"NS":["1","2"]}}],"Count":1}`,
	`{"Count":3}`,
}

// Our decoder and the SDK read the same from a response.
func TestDecodeResponse(t *testing.T) {
	db, wire := openResponding(t)
	for _, body := range responses {
		wire.say(body)
		ours, theirs, decoded, err := both(t, db, body)
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if decoded != strings.Contains(body, "Items") {
			t.Errorf("decoded by us: %v, %s", decoded, body)
		}
		sameItems(t, ours, theirs)
	}
}

// The SDK handles an invalid response and reports what is wrong with it.
func TestDecodeBrokenResponse(t *testing.T) {
	db, wire := openResponding(t)
	whole := responses[1]
	for cut := range len(whole) {
		if _, _, ok := decodeResponse([]byte(whole[:cut])); ok {
			t.Errorf("%s is taken for a response", whole[:cut])
		}
	}
	for _, body := range []string{whole[:len(whole)-1], `{"Items":[{"pk":{"S":"a` + "\n" + `"}}]}`,
		`{"Items":[{"pk":{"S":"\x"}}]}`, `{"Items":[{"pk":{"BOOL":maybe}}]}`,
		`{"Items":[{"a":{"S":"1"},"a":{"S":"2"}}]}`, `{"Items":[{"a":{"S":"1","N":"2"}}]}`, `{"Items":[{"a":{}}]}`,
		`{"Items":[],"Items":[]}`, `{"Items":[` + strings.Repeat(`[`, 1000) + `]}`, `{"Items":[]} {}`} {
		if _, _, ok := decodeResponse([]byte(body)); ok {
			t.Errorf("%.100s is taken for a response", body)
		}
	}
	wire.say(whole)
	wire.checksum++
	if _, err := db.Tenant("x").Query(t.Context(), "T#x#A", Query{Limit: 1}); err == nil {
		t.Error("a response with a wrong checksum is taken")
	}
}

// The items of a batch get are read from the table's list in the response.
func TestDecodeBatchGet(t *testing.T) {
	db, wire := openResponding(t)
	wire.say(`{"Responses":{"t":[{"pk":{"S":"T#x#B"},"sk":{"S":"1"},"n":{"N":"7"}}]},"UnprocessedKeys":{},"ConsumedCapacity":[{"TableName":"t","CapacityUnits":2}]}`)
	tn := db.Tenant("x")
	ctx, meter := Metered(t.Context())
	items, err := tn.Batch(ctx, tn.Key("A", "1"), tn.Key("B", "1"))
	if err != nil || items[0].Found() || items[1].Int("n") != 7 {
		t.Errorf("%+v, %v", items, err)
	}
	if u := meter.Usage(); u.ReadUnits != 2 {
		t.Errorf("usage: %+v", u)
	}
}

// A further item costs one allocation, for its document.
func TestDecodeAllocations(t *testing.T) {
	item := responses[1][strings.Index(responses[1], "[")+1 : strings.Index(responses[1], "]")]
	count := func(n int) float64 {
		kept := []byte(`{"Count":1,"Items":[` + strings.Repeat(item+",", n-1) + item + `]}`)
		body := make([]byte, len(kept))
		return testing.AllocsPerRun(50, func() {
			copy(body, kept) // its memory belongs to the items afterwards
			if _, items, ok := decodeResponse(body); !ok || len(items) != n {
				t.Fatal("not read")
			}
		})
	}
	few, many := count(2), count(200)
	if many-few > 1.1*198 { // one for each document, because it has escapes
		t.Errorf("%.0f allocations for 2 items, %.0f for 200", few, many)
	}
}

func FuzzDecodeResponse(f *testing.F) {
	for _, body := range responses {
		f.Add([]byte(body))
	}
	db, wire := openResponding(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		_, items, ok := decodeResponse(bytes.Clone(body))
		if !ok || len(items) > 100 || !bytes.Equal(body, bytes.ToValidUTF8(body, nil)) {
			return
		}
		var named map[string]any
		if _ = json.Unmarshal(body, &named); named["Item"] != nil {
			return // the response to a query has no such member
		}
		wire.say(string(body))
		ours, theirs, _, err := both(t, db, string(body))
		if err != nil {
			return // the SDK rejects it: so does a query
		}
		sameItems(t, ours, theirs)
	})
}
