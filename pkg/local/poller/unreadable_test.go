package poller_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/local/poller"
)

// spoiling is the engine behind a proxy that spoils records with the id "bad" in each
// page of the stream.
func (p *fixture) spoiling(spoil func(record map[string]any)) string {
	p.t.Helper()
	target, err := url.Parse(p.endpoint)
	testkit.Must(p.t, err)
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Header.Del("Accept-Encoding") },
		ModifyResponse: func(res *http.Response) error {
			if !strings.HasSuffix(res.Request.Header.Get("X-Amz-Target"), ".GetRecords") {
				return nil
			}
			text, err := io.ReadAll(res.Body)
			var page map[string]any
			if err != nil || json.Unmarshal(text, &page) != nil {
				return err
			}
			records, _ := page["Records"].([]any)
			for _, r := range records {
				if one, _ := json.Marshal(r); strings.Contains(string(one), `"bad"`) {
					spoil(r.(map[string]any)) //nolint:forcetypeassert // the engine's records are objects
				}
			}
			text, err = json.Marshal(page)
			res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			res.Header.Del("X-Amz-Crc32")
			res.Header.Del("Content-Length")
			return err
		}})
	p.t.Cleanup(server.Close)
	return server.URL
}

// TestUnreadableRecord: a record that cannot be read is a dead letter at once, and the
// log names it. All others are delivered, and after a restart it does not come again.
func TestUnreadableRecord(t *testing.T) {
	in := func(record map[string]any) map[string]any {
		d, _ := record["dynamodb"].(map[string]any)
		return d
	}
	image := func(v any) func(map[string]any) {
		return func(record map[string]any) {
			item, _ := in(record)["NewImage"].(map[string]any)
			item["type"] = v
		}
	}
	for name, tt := range map[string]struct {
		spoil   func(record map[string]any)
		unnamed bool // the record does not name its item
	}{
		"a text that is a number":    {spoil: image(map[string]any{"S": 5})},
		"a number that is a boolean": {spoil: image(map[string]any{"N": true})},
		"a value that is no object":  {spoil: image("x")},
		"an image that is a list":    {spoil: func(r map[string]any) { in(r)["NewImage"] = []any{} }},
		"a size that is a text":      {spoil: func(r map[string]any) { in(r)["SizeBytes"] = "much" }},
		"a time of another form":     {spoil: func(r map[string]any) { in(r)["ApproximateCreationDateTime"] = []any{} }},
		"a key that is a number":     {spoil: func(r map[string]any) { in(r)["Keys"] = 7 }, unnamed: true},
		"no number in the sequence":  {spoil: func(r map[string]any) { delete(in(r), "SequenceNumber") }},
		"nothing of the change":      {spoil: func(r map[string]any) { delete(r, "dynamodb") }, unnamed: true},
		"a change that is no object": {spoil: func(r map[string]any) { r["dynamodb"] = "x" }, unnamed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t)
			p.put("trip", "a1", "a2", "bad", "a3")
			p.endpoint = p.spoiling(tt.spoil)
			var log bytes.Buffer
			start := func(r *recorder) *poller.Poller {
				running := poller.New(poller.Options{Endpoint: p.endpoint, Dir: p.dir,
					Log: slog.New(slog.NewJSONHandler(&log, nil)), Backoff: func(int) time.Duration { return time.Millisecond }})
				testkit.Must(t, running.Start(p.arn, []poller.Consumer{{Name: "F", Invoke: r.invoke, Retries: -1}}))
				drain(t, running)
				running.Stop()
				return running
			}
			var r, again recorder
			n := start(&r).DeadLetters()
			if got := strings.Join(r.all(), " "); got != "a1 a2 a3" || n != 1 {
				t.Errorf("delivered %s; %d dead letters", got, n)
			}
			p.letter(log.String(), !tt.unnamed)
			p.put("trip", "a4")
			if n := start(&again).DeadLetters(); strings.Join(again.all(), " ") != "a4" || n != 0 {
				t.Errorf("after a restart %v, %d dead letters", again.all(), n)
			}
		})
	}
}

// letter checks the dead letter of the spoiled record. If named, it and the log name the
// record's item.
func (p *fixture) letter(log string, named bool) {
	p.t.Helper()
	letters, err := poller.DeadLetters(p.dir)
	if err != nil || len(letters) != 1 || letters[0].Function != "F" || letters[0].Record.EventID == "" {
		p.t.Fatalf("letters %+v, %v", letters, err)
	}
	r := letters[0].Record
	pk, found := r.Change.Keys["pk"]
	if found != named || found && pk.String() != "T#t#bad" {
		p.t.Errorf("the letter names %v", r.Change.Keys)
	}
	for _, id := range []string{"stream record given up", r.EventID, r.Change.SequenceNumber} {
		if !strings.Contains(log, id) {
			p.t.Errorf("the log lacks %q: %s", id, log)
		}
	}
	if named && !strings.Contains(log, "T#t#bad") {
		p.t.Errorf("the log does not name the item: %s", log)
	}
}
