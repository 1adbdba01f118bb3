package codec_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"svc/pkg/base/codec"
	"svc/pkg/base/money"
)

type base struct {
	ID      string  `json:"id"`
	Comment *string `json:"comment,omitempty"`
}

type ride struct {
	base
	Fare   json.Number     `json:"fare"`
	Tip    *json.Number    `json:"tip,omitempty"`
	Price  money.Amount    `json:"price"`
	Rate   *money.Amount   `json:"rate,omitempty"`
	Most   money.Amount    `json:"most,omitempty"`
	Done   bool            `json:"done,omitempty"`
	Count  int             `json:"count,omitempty"`
	Hidden string          `json:"-"`
	Tags   []string        `json:"tags"`
	Map    map[string]any  `json:"map"`
	Raw    json.RawMessage `json:"raw,omitempty"`
	At     time.Time       `json:"at,omitzero"`
	Took   time.Duration   `json:"took"`
	Text   string          `json:"text"`
	Bytes  []byte          `json:"bytes,omitempty"`
}

// TestMarshal: Marshal writes what encoding/json writes.
func TestMarshal(t *testing.T) {
	text, number := "é\u2028<&>\"\\\n\b\x7f\x00", json.Number("-1.50e3")
	rate := money.Amount("20.10")
	for _, v := range []any{nil, "", text, 7, true, 1.5, number, json.Number(""), []string(nil), []string{}, ride{},
		&ride{Fare: "0.10"}, (*ride)(nil), []*ride{{}, nil}, map[string]json.Number{"b": "1.0", "a": "2"},
		ride{base: base{"a", &text}, Fare: "12.50", Tip: &number, Price: "0.10", Rate: &rate,
			Done: true, Count: -1, Tags: []string{text}, Text: text,
			Map: map[string]any{"z": nil, "a": []any{number, text}}, Raw: json.RawMessage(`{"a" : 1.50}`),
			At: time.Unix(1, 5).UTC(), Took: time.Second, Bytes: []byte("bytes")}, json.Number("x"), json.Number("1 2"),
		json.Number("01"), money.Amount("x"), money.Amount("1 2"), money.Amount("01"),
		money.Amount(""), json.RawMessage("{")} {
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		wanted := enc.Encode(v)
		have, err := codec.Marshal(v)
		if (err != nil) != (wanted != nil) {
			t.Errorf("%#v: error %v, encoding/json: %v", v, err, wanted)
		}
		if diff := cmp.Diff(strings.TrimSuffix(want.String(), "\n"), string(have)); err == nil && diff != "" {
			t.Errorf("%#v: %s", v, diff)
		}
	}
}

// TestUnmarshal: Unmarshal reads what encoding/json reads, except for numbers in
// quotes.
func TestUnmarshal(t *testing.T) {
	for _, text := range []string{`{}`, `null`, `{"ID":"a"}`, `{"id":"a","fare":-1.50,"tip":0,"tags":["x",null],"map":{"a":[null,{}]},"took":5}`,
		`{"unknown":{"id":"no"},"id":null,"tip":null,"-":"no","id":"twice","id":"a"}`, `{"text":"\ud83d\ude00 \ud83d"}`,
		"{\"text\":\"\xff\"}", `{"fare":1e400,"raw":{"a":[1]},"at":"2026-01-02T03:04:05.6Z"}`, ``, `[]`, `{"tags":"x"}`,
		`{"price":20.10,"rate":-1e3,"most":0}`, `{"price":null,"rate":null}`, `{"price":true}`, `{"price":"1"}`,
		`{"rate":1e1101}`, `{"price":01}`, `{"fare":true}`, `{"fare":01}`, `{"id":1}`, `{"id":"a"} x`, `{"id":"a",}`} {
		var have, want ride
		err, wanted := codec.Unmarshal([]byte(text), &have), json.Unmarshal([]byte(text), &want)
		if (err != nil) != (wanted != nil) {
			t.Errorf("%s: error %v, encoding/json: %v", text, err, wanted)
		}
		if err == nil && !reflect.DeepEqual(want, have) {
			t.Errorf("%s: %+v, want %+v", text, have, want)
		}
	}
}

func TestMembers(t *testing.T) {
	for text, want := range map[string]string{`{}`: "", ` { "a" : [1, 2] ,"a":"b", "\u00fc":null } `: `a=[1, 2];a="b";ü=null;`,
		`[]`: "error", `null`: "error", ``: "error", `{"a":1}}`: "error", `{"a":1} 2`: "error", `{"a":1,}`: "error",
		`{"a"}`: "error", `{"a":}`: "error", `{`: "error"} {
		var have strings.Builder
		err := codec.Members([]byte(text), func(name string, value jsontext.Value) {
			have.WriteString(name + "=" + string(value) + ";")
		})
		if got := have.String(); err != nil && want != "error" || err == nil && got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}
