package table

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func documented(doc string) Item { return itemOf(attrs{{name: "doc", kind: kindText, text: doc}}) }

// Members are what encoding/json finds.
func membersAsJSON(t testing.TB, doc string) {
	t.Helper()
	var want map[string]json.RawMessage
	wanted := json.Unmarshal([]byte(doc), &want)
	got := map[string]json.RawMessage{}
	err := documented(doc).Members(func(name, text string, quoted bool) {
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

var documents = []string{`{}`, ` { } `, `{"a":"b","n":-1.50e3,"t":true,"z":null}`, `{"a":"quote \" slash \\ \u00e4 \ud83d\ude00","b":"ü"}`,
	"{ \"a\" : [1, {\"b\":\"]}\"}] , \"o\" : {\"x\":[]} }", `{"a":"b"`, `{"a":"b",}`, `{"a" "b"}`, `{,}`, `[]`, `null`, ``, `{"a":tru}`, `{"a":1 2}`, `{"a":0,"b":-0.10,"c":12e3}`, `{"a":01}`, `{"a":1.}`, `{"a":-}`, `{"a":.5}`, `{"a":+1}`, `{"a":"\x"}`, `{"a":"b"} x`, `{"a":}`}

func TestMembers(t *testing.T) {
	for _, doc := range documents {
		membersAsJSON(t, doc)
	}
	if err := (Item{}).Members(nil); err == nil {
		t.Error("an item without a document has members")
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
		_ = documented(doc).Members(func(name, _ string, _ bool) { again, twice[name] = again || twice[name], true })
		if !again { // of a member given twice both are told
			membersAsJSON(t, doc)
		}
	})
}
