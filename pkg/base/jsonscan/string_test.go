package jsonscan_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"svc/pkg/base/jsonscan"
)

// FuzzAppendString: encoding/json decodes the string to the same text. The bytes
// before the string do not change.
func FuzzAppendString(f *testing.F) {
	for _, text := range []string{"", "plain", `"`, `\`, "a\"b\\c", "\x00\x1f\n\t", "ä€😀", "\u2028</script>", `{"a":"b"}`,
		strings.Repeat(`"`, 40), strings.Repeat(`{"a":"b\\"}`+"\n", 9)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		out := jsonscan.AppendString([]byte("before"), text)
		var got string
		if err := json.Unmarshal(out[len("before"):], &got); err != nil || got != text || string(out[:6]) != "before" {
			t.Errorf("%q is written as %s: %q, %v", text, out, got, err)
		}
	})
}

// oneByOne escapes text without looking at several bytes at once.
func oneByOne(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ':
			fmt.Fprintf(&b, `\u%04x`, c)
		case c == '"', c == '\\':
			b.WriteByte('\\')
			fallthrough
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}

// TestAppendStringToEveryCapacity: the result does not depend on the capacity,
// and a buffer of the exact size does not grow.
func TestAppendStringToEveryCapacity(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, alphabet := range []string{"a", `"\`, `ab"`, "abcdefgh\"\\", "ab\n", "a\x1f \"!#[]\\", "äß€\u00a2\u00dc\"\\"} {
		runes := []rune(alphabet)
		for length := range 70 {
			var b strings.Builder
			for range length {
				b.WriteRune(runes[random.IntN(len(runes))])
			}
			text := b.String()
			want := oneByOne(text)
			for _, room := range []int{0, length / 2, len(want) - 1, len(want), len(want) + 1, len(want) + 100} {
				buffer := append(make([]byte, 0, room+1), 'x')
				got := jsonscan.AppendString(buffer, text)
				if string(got) != "x"+want || string(jsonscan.AppendString(buffer, []byte(text))) != "x"+want {
					t.Fatalf("%q with %d bytes free: %s, want x%s", text, room, got, want)
				}
				if room >= len(want) && &got[0] != &buffer[0] {
					t.Fatalf("%q: a buffer with %d bytes free for %d grew", text, room, len(want))
				}
			}
		}
	}
}

// BenchmarkAppendString escapes JSON, and JSON that is a JSON string already.
func BenchmarkAppendString(b *testing.B) {
	trip := `{"id":"trp_01JMETR0000000000000000025","status":"PENDING","driverId":null,"originAddress":"1 Station ` +
		`Square","originLat":40.7306,"notes":"For two guests, at the taxi rank","finalFare":null,"currency":"USD"},`
	once := strings.Repeat(trip, 100)
	for name, text := range map[string]string{"json": once, "json in json": oneByOne(once),
		"text": strings.Repeat("a", len(once))} {
		b.Run(name, func(b *testing.B) {
			out := make([]byte, 0, 2*len(text)+2)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				jsonscan.AppendString(out, text)
			}
		})
	}
}
