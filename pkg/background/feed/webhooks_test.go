package feed_test

import (
	"slices"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/background/feed"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/webhook"
	"svc/pkg/local/schema"
)

// TestVersionsOfEndpointsBesideAnOlderBuild: an older build counts the events of all
// endpoints together. Whatever it tells between the events of this build, the versions of
// an endpoint only grow, and those of a new endpoint begin at 1.
func TestVersionsOfEndpointsBesideAnOlderBuild(t *testing.T) {
	w := newWorld(t, testkit.Name(t, schema.Options{StreamOff: true}), 5, 1)
	book, at := webhook.Book{}, start
	disabled := func(id string) int64 {
		t.Helper()
		at = at.Add(time.Hour)
		r := book.Find(id)
		if r == nil {
			book.Endpoints = append(book.Endpoints, webhook.Record{Endpoint: webhook.Endpoint{ID: id,
				CreatedAt: timestamp.Format(at.Add(-time.Minute))}})
			r = book.Find(id)
		}
		r.Disable(webhook.Failing, at)
		testkit.Must(t, w.tenant.Load(t.Context(), webhook.Kind.Item(w.tenant, "", book)))
		it, err := w.tenant.Get(t.Context(), webhook.Key(w.tenant))
		testkit.Must(t, err)
		testkit.Must(t, feed.Step(w.function(), t.Context(), []stream.Change{{Key: it.Key, New: it, Last: it}}))
		last := w.all()[len(w.all())-1]
		if last.Type != "webhook.disabled" || last.Resource != id || last.Data.WebhookID != id {
			t.Fatalf("the last event is %+v", last)
		}
		return last.Data.Version
	}
	// older is an event that the older build told of an endpoint: it keeps what it does not know.
	older := func() int64 {
		t.Helper()
		at = at.Add(time.Hour)
		it, err := w.tenant.Get(t.Context(), event.EmittedKey(w.tenant, webhook.Key(w.tenant)))
		testkit.Must(t, err)
		var e event.Emitted
		if it.Found() {
			testkit.Must(t, it.Decode(&e))
		}
		e.Events, e.Status = e.Events+1, timestamp.Format(at)
		testkit.Must(t, w.tenant.Load(t.Context(), table.Item{Key: event.EmittedKey(w.tenant, webhook.Key(w.tenant)),
			Type: "emitted", Version: 1, Doc: e}))
		return e.Events
	}
	for range 3 {
		older()
	}
	book.Endpoints = []webhook.Record{{Endpoint: webhook.Endpoint{ID: "whk_old", CreatedAt: timestamp.Format(start)}}}
	got := []int64{disabled("whk_old"), disabled("whk_new"), disabled("whk_old"), disabled("whk_new")}
	if want := []int64{4, 1, 5, 2}; !slices.Equal(got, want) {
		t.Errorf("versions %v, want %v", got, want)
	}
	told := older() // of the new one, say
	if got := disabled("whk_new"); got <= told {
		t.Errorf("after the older build's version %d came %d", told, got)
	}
	if got := disabled("whk_last"); got != 1 {
		t.Errorf("the first version of the last endpoint is %d", got)
	}
	book.Endpoints = book.Endpoints[1:]
	if got := []int64{disabled("whk_last"), disabled("whk_new")}; !slices.Equal(got, []int64{2, told + 2}) {
		t.Errorf("after a removal: %v", got)
	}
}
