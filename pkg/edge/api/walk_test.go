package api

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// registry returns an empty registry: the schemas of these tests have no
// references.
func registry() huma.Registry {
	return huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
}

func object() *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{"name": {Type: huma.TypeString},
		"size": {Type: huma.TypeNumber, Nullable: true},
		"list": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}}}
}

// TestWalkIsBounded checks that the cost does not grow faster than the body: a
// hundred faults at most, each with a few copies of a long name.
func TestWalkIsBounded(t *testing.T) {
	for name, body := range map[string]string{
		"open arrays": strings.Repeat("[", 60_000), "arrays": strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000),
		"nulls":   `{"list":[null` + strings.Repeat(",null", 11_000) + "]}",
		"objects": strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000), "in a member": `{"list":` +
			strings.Repeat("[", 60_000),
		"long names": `{"` + strings.Repeat("ä", 15_000) + `":{` + strings.Repeat(`"a":1,`, 5_000) + `"a":1}}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found, _ := walk([]byte(body), object(), registry(), false)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 32<<20 {
			t.Errorf("%s: %d MiB for a body of %d KiB", name, used>>20, len(body)>>10)
		}
		if len(found) == 0 {
			t.Errorf("%s: nothing is found wrong", name)
		}
	}
}

func TestWalk(t *testing.T) {
	long := strings.Repeat("é", 150)
	for body, want := range map[string]string{
		`{"name":"a","size":null,"list":["x"]}`: "",
		" {} \n":                                "", `"text"`: "", `{"size":-0.5e+3}`: "", `{"name":"\uD83d\uDe95\n"}`: "",
		`{"name":null,"list":[null,"x",null],"other":null}`: "body.name: expected string, not null; body.list[0]: " +
			"expected string, not null; body.list[2]: expected string, not null",
		`{"name":1,"na\u006de":2}`: "body.name: given more than once",
		`{"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"10":0,"11":0,"12":0,"13":0,"14":0,"13":0,"1":0}`: "body.13: given more than once; body.1: given more than once",
		`{"size":1e999,"list":[{"a":-1e999}]}`: "body.size: number out of range; body.list[0].a: number out of range",
		`{"` + long + `":{"b":[null,1e999]}}`:  "body." + long[:194] + "…[1]: number out of range",
		"\xff":                                 "body: malformed JSON: not UTF-8",
		`{} x`:                                 "body: malformed JSON: more follows its end",
		`01`:                                   "body: malformed JSON: more follows its end",
		strings.Repeat("[", 33) + strings.Repeat("]", 33): "body: nested too deeply",
		strings.Repeat("[", 32) + strings.Repeat("]", 32): "",
		`{"name":null,"a":tru}`:                           "body: malformed JSON",
		`{"a":1,}`:                                        "body: malformed JSON", `[1,]`: "body: malformed JSON",
		`{"a" 1}`: "body: malformed JSON", `{a:1}`: "body: malformed JSON", `{"a":1`: "body: malformed JSON",
		`{"name":"\ud83d"}`: "body: malformed JSON", `"\ud83d\n"`: "body: malformed JSON",
		`"\ude95\ud83d"`: "body: malformed JSON", `"\ud83d\ude9`: "body: malformed JSON",
		`-`: "body: malformed JSON", `1.`: "body: malformed JSON", `"\x"`: "body: malformed JSON",
		"\"\t\"": "body: malformed JSON", `{"a":01}`: "body: malformed JSON", `]`: "body: malformed JSON",
	} {
		var faults []string
		found, _ := walk([]byte(body), object(), registry(), false)
		for _, d := range found {
			faults = append(faults, d.Field+": "+d.Message)
		}
		if got := strings.Join(faults, "; "); got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

// TestWholeNumbers: 88, 88.0 and 8.8e1 are the same integer, in any place of a body.
func TestWholeNumbers(t *testing.T) {
	schema := object()
	integer := &huma.Schema{Type: huma.TypeInteger}
	schema.Properties["n"] = integer
	schema.Properties["all"] = &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject,
		Properties: map[string]*huma.Schema{"n": integer}}}
	for body, want := range map[string]string{
		`{"n":88}`: `{"n":88}`, ` {"n": 88.0 } `: ` {"n": 88 } `, `{"n":8.8e1,"size":5.0}`: `{"n":88,"size":5.0}`,
		`{"all":[{"n":1.00},{"n":-2E0}],"n":0e9}`: `{"all":[{"n":1},{"n":-2}],"n":0}`,
		`{"n":5.5}`:    `{"n":5.5}`,
		`{"n":1e30}`:   `{"n":1e30}`,
		`{"n":"88.0"}`: `{"n":"88.0"}`,
	} {
		if _, got := walk([]byte(body), schema, registry(), false); string(got) != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
}

// TestPeek checks that a member can be read before the body is validated, and
// that a body that is not JSON has no members.
func TestPeek(t *testing.T) {
	for body, want := range map[string][2]string{
		`{"name":"a\u00e9","size":-1.50}`:         {"aé", "-1.50"},
		`{"n\u0061me":"a","name":"b","size":1e2}`: {"b", "1e2"},
		`{"name":5,"size":"1"}`:                   {"", ""},
		`{"name":null,"size":null}`:               {"", ""},
		`{"name":["a"],"size":{"size":1}}`:        {"", ""},
		`{"a":{"name":"a","size":1}}`:             {"", ""},
		`{"name":"a","size":1} x`:                 {"", ""},
		`{"name":"a","size":1`:                    {"", ""},
		`["name","a"]`:                            {"", ""},
		``:                                        {"", ""},
	} {
		p := Peek{body: []byte(body)}
		if got := [2]string{p.Body("name"), string(p.Number("size"))}; got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

func FuzzWalk(f *testing.F) {
	for _, seed := range []string{`{}`, `{"name":"a","size":null,"list":["x",null]}`, `{"name":1,"name":2}`,
		`{"size":1e999} x`, "\xff", `[[[`, `{"a":{"b":[{"c":1e400}]}}`, `"\ud83d\ude95"`, `"\ud83d\u00e9"`, `{"\udE95":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		found, _ := walk(body, object(), registry(), false)
		for _, d := range found {
			if d.Field != "body" && !strings.HasPrefix(d.Field, "body.") && !strings.HasPrefix(d.Field, "body[") {
				t.Errorf("%q: a fault of %q", body, d.Field)
			}
		}
		if len(found) > 0 {
			return
		}
		var value any
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.UseNumber()
		if !utf8.Valid(body) || dec.Decode(&value) != nil {
			t.Errorf("%q: nothing is found wrong", body)
		}
	})
}

func FuzzPosition(f *testing.F) {
	f.Add("", "trips", "PENDING")
	f.Add(*Cursor("2026-03-01T12:00:00.000Z#trp_1", "trips", "PENDING"), "trips", "PENDING")
	f.Add("AAAA", "orders", "")
	f.Fuzz(func(t *testing.T, cursor, list, filter string) {
		at, err := Position(cursor, list, filter)
		if err != nil || cursor == "" {
			return
		}
		if len(at) == 0 || len(at) >= longestPosition || !utf8.ValidString(at) || *Cursor(at, list, filter) != cursor {
			t.Errorf("%q leads to %q", cursor, at)
		}
	})
}
