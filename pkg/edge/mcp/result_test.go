package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"svc/pkg/base/jsonscan"
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

// busyWriter is a connection that sends slowly: while it has the body, another
// call uses a recorder.
type busyWriter struct {
	http.ResponseWriter
	sent []byte
}

func (w *busyWriter) Write(p []byte) (int, error) {
	another := recorders.Get().(*recorder)
	for _, memory := range [][]byte{another.result[:cap(another.result)], another.body.AvailableBuffer()} {
		memory = memory[:cap(memory)]
		for i := range memory {
			memory[i] = '!'
		}
	}
	w.sent = append(w.sent, p...)
	return len(p), nil
}

// WriteEscaped implements gateway.EscapedWriter.
func (w *busyWriter) WriteEscaped(p []byte) error {
	_, err := w.Write(p)
	return err
}

// TestResultsShareNoMemory: a result does not change until it is sent, and the
// next result contains nothing of it.
func TestResultsShareNoMemory(t *testing.T) { // not parallel: it must get the recorder that it released
	for _, size := range []int{100, 50_000, 1000, 200_000, 10} {
		payload := trips(t, size)
		kept := recorders.Get().(*recorder)
		if kept.escaped {
			t.Error("a recorder was kept with the last call's form")
		}
		kept.escaped = size%1000 == 0
		_, _ = kept.Write(payload) // it never fails
		w := &busyWriter{ResponseWriter: httptest.NewRecorder()}
		x := &exchange{w: w, m: &message{ID: json.RawMessage("1"), modern: true}}
		want := bytes.Clone(kept.success(x.m.ID, true))
		x.succeed(kept)
		if !bytes.Equal(w.sent, want) {
			t.Fatalf("%d bytes: %.200s, want %.200s", size, w.sent, want)
		}
	}
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
		payload := jsonscan.Escape(nil, trips(b, size))
		for name, respond := range map[string]http.HandlerFunc{
			"request": func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusOK)
				_ = w.(gateway.EscapedWriter).WriteEscaped(payload)
			},
			"tool": func(w http.ResponseWriter, r *http.Request) {
				answer := recorders.Get().(*recorder)
				_ = escapedRecorder{answer}.WriteEscaped(payload)
				x := &exchange{w: w, r: r, m: &message{ID: json.RawMessage("1"), modern: true}}
				x.succeed(answer)
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
