package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"svc/pkg/base/jsonscan"
)

var texts = []string{`{}`, ` [ ] `, `0`, `-0.5e+3`, `1E9`, `true`, `false`, `null`, `""`, `"a\"\\\/\b\f\n\r\tü\u00E4"`,
	`"\"one\":\"two, three and more\",\\\"four\": 5"`, `"a long text without an escape, and then\n"`,
	`"\ud83d\ude95"`, `"\ud83d"`, `"\ud83d\n"`, `"\ude95\ud83d"`, `"\ud83d\u00e9"`, `{"a":[1,{"b":"]}"}],"a":null}`,
	``, ` `, `{`, `[`, `"`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `[1,]`, `[1 2]`, `{"a" 1}`, `{,}`, `{a:1}`, `{"a":1}}`,
	`1 1`,
	`-`, `+1`, `01`, `1.`, `.5`, `1e`, `tru`, `truex`, `nul`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"\t\"", `"\`, `"\u`}

// read scans a text as one value and returns what encoding/json would make of it.
func read(text string) (value any, ok bool) {
	s := jsonscan.New([]byte(text), 10_000)
	value = decode(&s)
	return value, s.End()
}

func decode(s *jsonscan.Scanner) (value any) {
	switch s.Peek() {
	case '{':
		object := map[string]any{}
		s.Object(func(name jsonscan.Text) { object[str(name)] = decode(s) })
		return object
	case '[':
		array := []any{}
		s.Array(func(int) { array = append(array, decode(s)) })
		return array
	case '"':
		return str(s.Text())
	case 't', 'f':
		return s.Bool()
	case 'n':
		s.Null()
		return nil
	}
	return json.Number(s.Number())
}

// str decodes a string. It also decodes it in place, and into a buffer that must
// grow. The three results must be equal.
func str(text jsonscan.Text) string {
	out, _ := text.Append(nil)
	own := jsonscan.Text{Raw: bytes.Clone(text.Raw), Escaped: text.Escaped}
	inPlace, _ := own.Append(own.Raw[:0])
	behind, _ := text.Append(make([]byte, 5, 7))
	if string(inPlace) != string(out) || string(behind[5:]) != string(out) {
		return fmt.Sprintf("%q in its own memory, %q behind others", inPlace, behind)
	}
	return string(out)
}

// sameAsEncodingJSON checks that a scan agrees with encoding/json about
// validity and value, and that Value reads the complete text.
func sameAsEncodingJSON(t *testing.T, text string) {
	t.Helper()
	got, ok := read(text)
	s := jsonscan.New([]byte(text), 10_000)
	raw := s.Value()
	if valid := json.Valid([]byte(text)); ok != valid || s.End() != valid {
		t.Fatalf("%q: scanned %v, value %v, encoding/json says %v", text, ok, s.End(), valid)
	}
	if !ok {
		return
	}
	if want := strings.Trim(text, " \t\r\n"); string(raw) != want {
		t.Errorf("%q: value %q", text, raw)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var want any
	if err := decoder.Decode(&want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q: (-encoding/json +ours)\n%s", text, diff)
	}
}

func TestScanner(t *testing.T) {
	for _, text := range texts {
		sameAsEncodingJSON(t, text)
	}
}

func FuzzScanner(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if utf8.ValidString(text) {
			sameAsEncodingJSON(t, text)
		}
	})
}

func TestSurrogates(t *testing.T) {
	for text, want := range map[string]bool{`"a"`: true, `"\ud83d\ude95"`: true, `"\ufffd"`: true, `"\ud83d"`: false,
		`"\ude95"`:        false,
		`"\ud83dx\ude95"`: false, `"\ud83d\ud83d\ude95"`: false, `"\ud83d\u0041"`: false} {
		s := jsonscan.New([]byte(text), 1)
		read := s.Text()
		out, paired := read.Append(nil)
		if !s.End() || paired != want || len(out) > len(read.Raw) || !read.Is(string(out)) || read.Is("other") {
			t.Errorf("%s: %q, paired %v", text, out, paired)
		}
	}
}

func TestDepth(t *testing.T) {
	for text, deep := range map[string]bool{`[[]]`: false, `[{"a":1}]`: false, `[[[]]]`: true, `{"a":{"b":{}}}`: true,
		`[[`: false, `[[}`: false} {
		s := jsonscan.New([]byte(text), 2)
		if s.Value(); s.TooDeep() != deep {
			t.Errorf("%s: too deep %v", text, s.TooDeep())
		}
	}
}
