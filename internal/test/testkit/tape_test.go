package testkit_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"svc/internal/test/testkit"
)

// counting answers every request with a new number.
type counting struct{ sent int }

func (e *counting) RoundTrip(*http.Request) (*http.Response, error) {
	e.sent++
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(strings.Repeat("x", e.sent)))}, nil
}

// TestTape: a read gets its last recorded response, whatever the order of its members,
// and a write that of its turn. A new read goes to the table, and a new write fails.
func TestTape(t *testing.T) {
	on, deck := &counting{}, &testkit.Tape{}
	send := func(target, body string) string {
		r, err := http.NewRequest(http.MethodPost, "http://table.example", strings.NewReader(body))
		testkit.Must(t, err)
		r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+target)
		res, err := deck.Send(r, on)
		if err != nil {
			return "failed"
		}
		text, err := testkit.Body(&res.Body)
		testkit.Must(t, err)
		return string(text)
	}
	send("GetItem", "before the recording")
	deck.Record()
	send("GetItem", `{"a":1,"b":2}`)
	send("PutItem", "first")
	send("PutItem", "second")
	deck.Replay()
	want := []string{"xx", "xxx", "xxxx"}
	for range 2 {
		testkit.Must(t, deck.Rewind())
		for i, got := range []string{send("GetItem", `{"b":2,"a":1}`), send("PutItem", "new"), send("PutItem", "newer")} {
			if got != want[i] {
				t.Errorf("response %d is %q, want %q", i, got, want[i])
			}
		}
	}
	if got := send("GetItem", "another"); on.sent != 5 || got != "xxxxx" {
		t.Errorf("a read without a response: %q after %d requests", got, on.sent)
	}
	if got := send("PutItem", "third"); got != "failed" || deck.Rewind() == nil {
		t.Errorf("a write too many: %q", got)
	}
}
