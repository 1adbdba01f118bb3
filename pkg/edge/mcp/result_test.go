package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"

	"svc/pkg/edge/gateway"
)

// trips returns a page of recorded trips that has at least the given size.
func trips(tb testing.TB, size int) []byte {
	tb.Helper()
	text, err := os.ReadFile("../../../events/api/golden/svc_list_trips.json")
	if err != nil {
		tb.Fatal(err)
	}
	var recorded struct {
		Body struct{ Items []json.RawMessage }
	}
	if err := json.Unmarshal(text, &recorded); err != nil || len(recorded.Body.Items) == 0 {
		tb.Fatal(err, len(recorded.Body.Items))
	}
	page := []byte(`{"items":[`)
	for i := 0; len(page) < size; i++ {
		var trip bytes.Buffer
		if err := json.Compact(&trip, recorded.Body.Items[i%len(recorded.Body.Items)]); err != nil {
			tb.Fatal(err)
		}
		page = append(append(page, trip.Bytes()...), ',')
	}
	return append(page[:len(page)-1], `],"next_cursor":null}`...)
}

// BenchmarkResult compares the response to a tool call with the response to the
// same request to the API, from the operation's payload to the function's
// response.
func BenchmarkResult(b *testing.B) {
	event, err := os.ReadFile("../../../events/gateway/v2-plain.json")
	if err != nil {
		b.Fatal(err)
	}
	for _, size := range []int{20 << 10, 200 << 10} {
		payload := trips(b, size)
		for name, respond := range map[string]http.HandlerFunc{
			"request": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(payload) },
			"tool": func(w http.ResponseWriter, r *http.Request) {
				answer := recorders.Get().(*recorder)
				defer answer.release()
				_, _ = answer.Write(payload)
				x := &exchange{w: w, r: r, m: &message{ID: json.RawMessage("1"), modern: true}}
				x.write(http.StatusOK, answer.success(x.m.ID, x.m.modern))
			},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				f := gateway.Handler(respond)
				b.SetBytes(int64(len(payload)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := f(context.Background(), event); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
