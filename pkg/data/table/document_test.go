package table

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func documented(doc string) Item { return itemOf(attrs{{name: "doc", kind: kindText, text: doc}}) }

// members are what encoding/json finds.
func membersAsJSON(t testing.TB, doc string) {
	t.Helper()
	var want map[string]json.RawMessage
	wanted := json.Unmarshal([]byte(doc), &want)
	got := map[string]json.RawMessage{}
	err := documented(doc).members(func(name, text string, quoted bool) {
		got[name] = json.RawMessage(text)
		if quoted {
			got[name], _ = json.Marshal(text)
		}
	})
	if (err == nil) != (wanted == nil && want != nil) {
		t.Fatalf("%q: %v, encoding/json says %v", doc, err, wanted)
	}
	if err != nil {
		return
	}
	values := func(in map[string]json.RawMessage) map[string]any {
		out := map[string]any{}
		for name, raw := range in {
			var v any
			if err := json.Unmarshal(raw, &v); err != nil {
				t.Fatalf("%q: %v", doc, err)
			}
			if v != nil {
				out[name] = v
			}
		}
		return out
	}
	if diff := cmp.Diff(values(want), values(got)); diff != "" {
		t.Errorf("%q: %s", doc, diff)
	}
}

var documents = []string{`{}`, ` { } `, `{"a":"b","n":-1.50e3,"t":true,"z":null}`,
	`{"a":"quote \" slash \\ \u00e4 \ud83d\ude00","b":"ü"}`,
	"{ \"a\" : [1, {\"b\":\"]}\"}] , \"o\" : {\"x\":[]} }", `{"a":"b"`, `{"a":"b",}`, `{"a" "b"}`, `{,}`, `[]`, `null`, ``,
	`{"a":tru}`, `{"a":1 2}`, `{"a":0,"b":-0.10,"c":12e3}`, `{"a":01}`, `{"a":1.}`, `{"a":-}`, `{"a":.5}`, `{"a":+1}`,
	`{"a":"\x"}`, `{"a":"b"} x`, `{"a":}`}

func TestMembers(t *testing.T) {
	for _, doc := range documents {
		membersAsJSON(t, doc)
	}
	if err := (Item{}).members(nil); err == nil {
		t.Error("an item without a document has members")
	}
}

type small struct {
	Text    string       `json:"text"`
	Number  json.Number  `json:"number"`
	OptText *string      `json:"optText,omitempty"`
	OptNum  *json.Number `json:"optNum"`
}

// record has a field of every kind, more optional fields than fit into one
// block of memory, and names of an embedded struct.
type record struct {
	small
	Yes    bool           `json:"yes"`
	Count  int64          `json:"count"`
	Lines  []small        `json:"lines"`
	Hidden string         `json:"-"`
	T1     *string        `json:"t1"`
	T2     *string        `json:"t2"`
	T3     *string        `json:"t3"`
	T4     *string        `json:"t4"`
	T5     *string        `json:"t5"`
	T6     *string        `json:"t6"`
	T7     *string        `json:"t7"`
	T8     *string        `json:"t8"`
	T9     *string        `json:"t9"`
	Any    map[string]any `json:"any"`
}

// TestDocument: Document reads what encoding/json reads.
func TestDocument(t *testing.T) {
	for _, doc := range []string{`{}`,
		`{"text":"a\u00e4\n","number":-1.50,"optText":"","optNum":0,"yes":true,"count":-7,"lines":[{"text":"x","number":1}],"any":{"a":[null]}}`,
		`{"t9":"9","t8":"8","t7":"7","t6":"6","t5":"5","t4":"4","t3":"3","t2":"2","t1":"1","optText":"0","text":"last"}`,
		`{"unknown":{"text":"no"},"text":null,"optText":null,"-":"no","Hidden":"no","yes":false,"text":"twice","text":"a"}`,
	} {
		got, err := Document[record](documented(doc))
		if err != nil {
			t.Errorf("%s: %v", doc, err)
			continue
		}
		var want record
		if err := documented(doc).Decode(&want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, *got, cmp.AllowUnexported(record{})); diff != "" {
			t.Errorf("%s: (-encoding/json +ours)\n%s", doc, diff)
		}
	}
	odd, err := Document[record](documented(`{"text":1,"number":"1","optText":2,"optNum":"2","yes":"true"}`))
	if diff := cmp.Diff(record{}, *odd, cmp.AllowUnexported(record{})); err != nil || diff != "" {
		t.Errorf("values of another kind: %v\n%s", err, diff)
	}
	for _, doc := range []string{``, `[]`, `{"lines":"x"}`, `{"lines":[{"text":1}]}`, `{"text":"a"} x`} {
		if _, err := Document[record](documented(doc)); err == nil {
			t.Errorf("%q is read as a document", doc)
		}
	}
}

func FuzzMembers(f *testing.F) {
	for _, doc := range documents {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		var names map[string]json.RawMessage
		if !utf8.ValidString(doc) || json.Unmarshal([]byte(doc), &names) == nil && len(names) > 50 {
			return
		}
		twice := map[string]bool{}
		again := false
		_ = documented(doc).members(func(name, _ string, _ bool) { again, twice[name] = again || twice[name], true })
		if !again { // of a duplicate member, both are reported
			membersAsJSON(t, doc)
		}
	})
}
