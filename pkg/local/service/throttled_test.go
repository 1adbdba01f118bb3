package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	"svc/pkg/edge/gateway/emulator"
	"svc/pkg/local/poller"
	"svc/pkg/local/schema"
	"svc/pkg/local/service"
)

// throttled is a stream function that fails while the table is throttled, and
// then records its batches. Its clock moves only while the poller waits.
type throttled struct {
	mu       sync.Mutex
	now      time.Time
	until    time.Time // end of the throttling
	named    bool      // whether the function names the failed records
	attempts int
	done     map[string][]string // versions by item
}

var errThrottled = errors.New("the table throttles writes")

func (f *throttled) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// backoff simulates a pause of half a minute.
func (f *throttled) backoff(int) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(30 * time.Second)
	return 0
}

func (f *throttled) invoke(_ context.Context, payload json.RawMessage) (json.RawMessage, error) {
	var event events.DynamoDBEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now.Before(f.until) {
		f.attempts++
		if !f.named {
			return nil, errThrottled
		}
		return json.Marshal(events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{
			{ItemIdentifier: event.Records[0].Change.SequenceNumber}}})
	}
	for _, r := range event.Records {
		item, version := r.Change.Keys["pk"].String(), r.Change.NewImage["version"].Number()
		if !slices.Contains(f.done[item], version) {
			f.done[item] = append(f.done[item], version)
		}
	}
	return json.RawMessage(`{}`), nil
}

// throttle completes trips while the settlement function of the template
// fails for some time, and returns the function and the number of dead
// letters.
func throttle(t *testing.T, d time.Duration, named bool) (*throttled, int) {
	t.Helper()
	url, name := testkit.Endpoint(t), testkit.Fresh()
	made, err := schema.EnsureTable(t.Context(), url, svc.Template, schema.Options{Name: name})
	testkit.Must(t, err)
	db, err := table.Open(t.Context(), table.Options{Table: name, Endpoint: url})
	testkit.Must(t, err)
	tn := db.Tenant("t")
	for version := range int64(5) {
		for i := range 9 {
			testkit.Must(t, tn.Load(t.Context(), table.Item{Key: tn.Key(fmt.Sprintf("TRIP#%d", i), "TRIP"), Type: "trip",
				Version: version + 1, Attrs: map[string]any{"status": "COMPLETED"}}))
		}
	}
	now := time.Now()
	f := &throttled{now: now, until: now.Add(d), named: named, done: map[string][]string{}}
	app := service.App{Streams: map[string]emulator.Function{"SettlementFunction": f.invoke}}
	consumers, err := app.Consumers(svc.Template)
	testkit.Must(t, err)
	p := poller.New(poller.Options{Endpoint: url, Backoff: f.backoff, Now: f.clock})
	testkit.Must(t, p.Start(made.StreamARN, consumers))
	defer p.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	testkit.Must(t, p.Drain(ctx))
	return f, p.DeadLetters()
}

// An hour of throttling loses nothing, and each item's changes arrive in order,
// whether or not the function names the failed records.
func TestAnHourOfThrottling(t *testing.T) {
	for name, named := range map[string]bool{"records are named": true, "the function fails": false} {
		t.Run(name, func(t *testing.T) {
			f, letters := throttle(t, time.Hour, named)
			if letters > 0 {
				t.Errorf("%d dead letters", letters)
			}
			if f.attempts < 100 {
				t.Errorf("only %d attempts failed", f.attempts)
			}
			want := map[string][]string{}
			for item := range f.done {
				want[item] = []string{"1", "2", "3", "4", "5"}
			}
			if diff := cmp.Diff(want, f.done); diff != "" || len(f.done) != 9 {
				t.Errorf("%d items (-want +got):\n%s", len(f.done), diff)
			}
		})
	}
}

// After two hours, the template's maximum age of a record, every record has
// become exactly one dead letter.
func TestThrottlingOutlastsTheAgeOfRecords(t *testing.T) {
	if _, letters := throttle(t, 1000*time.Hour, false); letters != 45 {
		t.Errorf("%d dead letters, want 45", letters)
	}
}
