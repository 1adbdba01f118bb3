package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"testing/quick"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/pkg/base/jsonscan"
)

type state string

type Base struct {
	ID      string  `json:"id"`
	Comment *string `json:"comment,omitempty"`
}

type ride struct {
	Base
	State   state               `json:"state"`
	Fare    json.Number         `json:"fare"`
	Tip     *json.Number        `json:"tip"`
	Count   int                 `json:"count"`
	Small   int32               `json:"small"`
	Version int64               `json:"version"`
	Done    bool                `json:"done,omitempty"`
	Hidden  string              `json:"-"`
	Plain   string              //nolint:tagliatelle // a field without a tag
	Tags    []string            `json:"tags"`
	More    []*ride             `json:"more,omitempty"`
	Inner   struct{ A, B *int } `json:"inner"`
	Empty   struct{}            `json:"empty"`
	private string
}

// awkward has types and options that only encoding/json writes.
type awkward struct {
	Map    map[string]int  `json:"map"`
	Any    any             `json:"any"`
	Raw    json.RawMessage `json:"raw"`
	Time   time.Time       `json:"time"`
	Bytes  []byte          `json:"bytes"`
	Float  float64         `json:"float"`
	Zero   time.Time       `json:"zero,omitzero"`
	Quoted int             `json:"quoted,string"`
	Array  [2]int          `json:"array"`
	Uint   uint8           `json:"uint"`
}

// shadow has two members of one name, of which encoding/json writes one.
type shadow struct {
	Base
	ID string `json:"id"`
}

// want is what encoding/json writes without escapes for HTML.
func want(v any) (string, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return string(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), err
}

func same(t *testing.T, v any) {
	t.Helper()
	expected, failed := want(v)
	have, err := jsonscan.AppendValue([]byte("before"), v)
	if (err != nil) != (failed != nil) {
		t.Fatalf("%#v: error %v, encoding/json: %v", v, err, failed)
	}
	if err == nil {
		if diff := cmp.Diff("before"+expected, string(have)); diff != "" {
			t.Errorf("%#v: %s", v, diff)
		}
	}
	inString, err := jsonscan.AppendEscaped([]byte(`before"`), v)
	if (err != nil) != (failed != nil) {
		t.Fatalf("%#v in a string: error %v, encoding/json: %v", v, err, failed)
	}
	if err == nil {
		if diff := cmp.Diff("before"+string(jsonscan.AppendString(nil, expected)), string(inString)+`"`); diff != "" {
			t.Errorf("%#v in a string: %s", v, diff)
		}
	}
}

// TestAppendValue: the bytes are those of encoding/json.
func TestAppendValue(t *testing.T) {
	one, text, number := 1, "é\u2028<&>\"\\\n\b\x7f\x00\xff", json.Number("-1.50e3")
	full := ride{Base: Base{"a", &text}, State: "DONE", Fare: "1.50", Tip: &number, Count: -1, Small: math.MinInt32,
		Version: math.MaxInt64, Done: true, Hidden: "no", Tags: []string{"", text, "ok"}, private: "no"}
	full.Inner.A = &one
	full.More = []*ride{{}, nil, {More: []*ride{{Base: Base{ID: "deep"}}}}}
	for _, v := range []any{nil, "", text, "plain text of more than eight bytes", "ü",
		"a long German text: Grüße", "a quote \"after eight bytes", "short\"", "ends in a tab\t",
		"ends \u2028 so", 7, int32(7), int64(7), true, 1.5,
		json.Number("0"), []string(nil), []string{}, []int{1, 2}, []byte("bytes"), map[string]int{"a": 1},
		ride{Fare: "0"}, &ride{Fare: "0"}, full, &full, []*ride{&full}, (*ride)(nil), struct{}{},
		awkward{Raw: json.RawMessage(`{"a":1}`), Any: full}, &awkward{Raw: json.RawMessage("1")}, shadow{Base{ID: "a"}, "b"},
		struct {
			Items  []*ride `json:"items"`
			Cursor *string `json:"next_cursor"`
		}{Items: []*ride{&full, &full}},
		json.Number("x"), json.Number(""), json.Number("1 "), json.Number("01"), struct{ N json.Number }{"1e"},
		awkward{Raw: json.RawMessage(`{`)}, errorOf{}, time.Unix(0, 0)} {
		same(t, v)
	}
}

type errorOf struct{}

// MarshalJSON implements json.Marshaler.
func (errorOf) MarshalJSON() ([]byte, error) { return nil, errors.New("never") }

// TestAppendAnyValue compares random values.
func TestAppendAnyValue(t *testing.T) {
	type value struct {
		Base
		A string
		B *string
		C []string
		D []*struct {
			E int64
			F *bool `json:"f,omitempty"`
		}
		G []struct{ H [3]string }
	}
	compare := func(v value) bool { same(t, v); same(t, &v); return !t.Failed() }
	if err := quick.Check(compare, &quick.Config{MaxCount: 500}); err != nil {
		t.Error(err)
	}
}

// TestAppendValueAllocates: a value costs at most two allocations, however many
// elements it has.
func TestAppendValueAllocates(t *testing.T) {
	text := "text"
	list := make([]*ride, 100)
	for i := range list {
		list[i] = &ride{Base: Base{"a", &text}, Fare: "12.50", Tags: []string{"a", "b"}}
	}
	out := make([]byte, 0, 1<<16)
	for name, write := range map[string]func([]byte, any) ([]byte, error){"as JSON": jsonscan.AppendValue,
		"in a string": jsonscan.AppendEscaped} {
		if n := testing.AllocsPerRun(20, func() { _, _ = write(out, list) }); n > 2 {
			t.Errorf("%s: %.0f allocations", name, n)
		}
	}
}
