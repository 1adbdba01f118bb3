package deliver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/webhook"
	"svc/pkg/edge/api"
)

const shards = 4

// sharded gives the tenant a feed of several shards.
func (w *world) sharded(t *testing.T) {
	t.Helper()
	w.Flags(w.tenant, map[string]any{"taxiEnabled": true, "deliveryEnabled": true, "currency": "USD", "readShards": shards,
		"writeShards": shards, "sandbox": true})
	w.Advance(time.Minute) // a process may know an earlier number for 30 seconds
}

// partition returns the partition of an endpoint's deliveries of a shard.
func (w *world) partition(endpoint string, shard int) string {
	if shard == 0 {
		return w.tenant.Partition("WEBHOOK", endpoint)
	}
	return w.tenant.Partition("WEBHOOK", endpoint, strconv.Itoa(shard))
}

func (w *world) kept(endpoint string, shard int) []table.Item {
	w.t.Helper()
	page, err := w.tenant.Query(w.t.Context(), w.partition(endpoint, shard), table.Query{Prefix: "DELIVERY#", Limit: 100,
		Consistent: true})
	testkit.Must(w.t, err)
	return page.Items
}

// pages reads the list of deliveries, a few on each page.
func (w *world) pages(id, query string) (out []webhook.Delivery) {
	w.t.Helper()
	cursor := ""
	for {
		var page api.Page[webhook.Delivery]
		w.Want(200, &page, "GET", "/api/v1/webhooks/"+id+"/deliveries?limit=5"+query+cursor, w.operator, "")
		if out = append(out, page.Items...); page.NextCursor == nil {
			return out
		}
		cursor = "&cursor=" + *page.NextCursor
	}
}

// TestDeliveriesAreSharded: the deliveries to one endpoint are spread as the feed is.
// Together they are one list, newest event first; each can be tried again, moved ahead
// and replayed.
func TestDeliveriesAreSharded(t *testing.T) {
	w, r := newWorld(t, nil), newReceiver(t)
	w.sharded(t)
	hook := w.create(r.URL, "")
	path := "/api/v1/webhooks/" + hook.ID
	const n = 24
	w.ride(n)
	w.run()
	used := 0
	for shard := range shards {
		kept := w.kept(hook.ID, shard)
		used += min(1, len(kept))
		for _, it := range kept {
			if sent, err := webhook.SentFromItem(it); err != nil || sent.Shard != shard {
				t.Errorf("partition %d has a delivery of shard %d, %v", shard, sent.Shard, err)
			}
			if left := it.Expires.Sub(w.Now()); left > event.Kept || left < event.Kept-time.Minute {
				t.Errorf("a delivery is kept for %v", left)
			}
		}
	}
	if used < 2 {
		t.Errorf("%d partitions are used", used)
	}
	all := w.pages(hook.ID, "")
	newest := func(a, b webhook.Delivery) int { return strings.Compare(b.EventID, a.EventID) }
	if len(all) != n || !slices.IsSortedFunc(all, newest) {
		t.Fatalf("the list has %d deliveries of %d, or is not in order", len(all), n)
	}
	r.take()
	for _, d := range all[:6] {
		w.Want(200, nil, "POST", path+"/replay", w.operator, fmt.Sprintf(`{"event": %q}`, d.EventID))
		w.requested(hook.ID)
		if got := r.take(); len(got) != 1 || got[0].id != d.EventID {
			t.Errorf("%d replays of %s", len(got), d.EventID)
		}
	}
	r.answers(500, nil)
	w.ride(6)
	w.run()
	r.take()
	testkit.Must(t, w.worker.Handle(t.Context(), webhook.Message{Tenant: w.tenant.ID(), Advance: 10}))
	w.run()
	if got := r.take(); len(got) != 6 {
		t.Errorf("advance made %d attempts of 6", len(got))
	}
	began := timestamp.Format(w.Now().Add(-time.Hour))
	w.Want(200, nil, "POST", path+"/replay", w.operator, fmt.Sprintf(`{"after": %q}`, began))
	w.requested(hook.ID)
	if got := r.take(); len(got) != n+6 {
		t.Errorf("a range replays %d of %d", len(got), n+6)
	}
	for range 12 {
		w.pass(30 * time.Hour)
	}
	if failed := w.pages(hook.ID, "&status=failed"); len(failed) != n+6 || !slices.IsSortedFunc(failed, newest) {
		t.Errorf("%d failed of %d, in order: %v", len(failed), n+6, slices.IsSortedFunc(failed, newest))
	}
}

// TestDeliveriesOfOlderVersions: a delivery that an older version wrote is tried again
// and replayed, and there is one of it.
func TestDeliveriesOfOlderVersions(t *testing.T) {
	w, r := newWorld(t, nil), newReceiver(t)
	w.sharded(t)
	hook := w.create(r.URL, "")
	r.answers(500, nil)
	w.ride(8)
	w.run()
	for shard := 1; shard < shards; shard++ { // as the older version wrote them
		for _, it := range w.kept(hook.ID, shard) {
			sent, err := webhook.SentFromItem(it)
			testkit.Must(t, err)
			tx := w.tenant.Write()
			tx.Delete(it.Key)
			testkit.Must(t, tx.Commit(t.Context()))
			w.put(w.tenant.Handle, table.Item{Key: table.Key{PK: w.partition(hook.ID, 0), SK: it.SK}, Type: it.Type, Doc: sent,
				Expires: it.Expires, Attrs: map[string]any{"status": sent.Status}})
		}
	}
	r.take()
	w.pass(10 * time.Second)
	if got := r.take(); len(got) != 8 {
		t.Errorf("%d attempts of 8", len(got))
	}
	r.answers(204, nil)
	w.pass(10 * time.Minute)
	all := w.pages(hook.ID, "")
	if len(all) != 8 {
		t.Fatalf("%d deliveries of 8", len(all))
	}
	for _, d := range all {
		if d.Status != webhook.Succeeded || len(d.Attempts) != 3 {
			t.Errorf("%s after %d attempts: %+v", d.Status, len(d.Attempts), d)
		}
	}
	r.take()
	path := "/api/v1/webhooks/" + hook.ID + "/replay"
	for i, body := range []string{fmt.Sprintf(`{"event": %q}`, all[0].EventID),
		fmt.Sprintf(`{"after": %q}`, timestamp.Format(w.Now().Add(-time.Hour)))} {
		w.Want(200, nil, "POST", path, w.operator, body)
		w.requested(hook.ID)
		if got := r.take(); len(got) != []int{1, 8}[i] {
			t.Errorf("%d replays of %s", len(got), body)
		}
	}
	if got := w.pages(hook.ID, ""); len(got) != 8 || len(got[0].Attempts) != 5 {
		t.Errorf("after the replays: %d deliveries, %+v", len(got), got[0])
	}
}

// TestFailuresAreSpread: what is due for events in other shards than the first is in
// other books, and is carried out at its time.
func TestFailuresAreSpread(t *testing.T) {
	w, r := newWorld(t, nil), newReceiver(t)
	w.sharded(t)
	hook := w.create(r.URL, "")
	r.answers(500, nil)
	w.ride(16)
	w.run()
	r.take()
	w.queue = nil // the messages are lost
	first := 0
	for _, it := range w.kept(hook.ID, 0) {
		if it.Found() {
			first++
		}
	}
	w.Advance(10 * time.Second)
	var mu sync.Mutex
	swept := map[string]int{}
	for _, book := range webhook.AllDue(w.DB, w.Now) {
		testkit.Must(t, book.Sweep(t.Context(), func(context.Context, due.Task) error {
			mu.Lock()
			defer mu.Unlock()
			swept[book.Name]++
			return errors.New("later")
		}))
	}
	if swept["webhooks"] != first || len(swept) < 2 {
		t.Errorf("due are %v; want %d of the first shard in its book", swept, first)
	}
	w.pass(2 * time.Minute)
	if got := r.take(); len(got) != 16 {
		t.Errorf("%d attempts of 16", len(got))
	}
}
