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

// registry is an empty one: the schemas of these tests have no references.
func registry() huma.Registry {
	return huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
}

func object() *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{"name": {Type: huma.TypeString}, "size": {Type: huma.TypeNumber, Nullable: true},
		"list": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}}}
}

// TestWalkIsBounded: what a body costs does not grow faster than the body.
func TestWalkIsBounded(t *testing.T) {
	for name, body := range map[string]string{
		"open arrays": strings.Repeat("[", 60_000), "arrays": strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000),
		"nulls":   `{"list":[null` + strings.Repeat(",null", 11_000) + "]}",
		"objects": strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000), "in a member": `{"list":` + strings.Repeat("[", 60_000),
		"long names": `{"` + strings.Repeat("ä", 15_000) + `":{` + strings.Repeat(`"a":1,`, 5_000) + `"a":1}}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found := walk([]byte(body), object(), registry())
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
			t.Errorf("%s: %d MiB for a body of %d KiB", name, used>>20, len(body)>>10)
		}
		if len(found) == 0 {
			t.Errorf("%s: nothing is found wrong", name)
		}
	}
}

func FuzzWalk(f *testing.F) {
	for _, seed := range []string{`{}`, `{"name":"a","size":null,"list":["x",null]}`, `{"name":1,"name":2}`, `{"size":1e999} x`, "\xff", `[[[`, `{"a":{"b":[{"c":1e400}]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		found := walk(body, object(), registry())
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
