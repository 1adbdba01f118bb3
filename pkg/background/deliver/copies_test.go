package deliver_test

import (
	"net/http"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/domain/webhook"
)

// copies returns the versions of the copies of the tenant's endpoints, and how many of
// them have the endpoint enabled.
func (w *world) copies(id string) (versions map[int64]bool, enabled int) {
	w.t.Helper()
	versions = map[int64]bool{}
	for shard := range webhook.Copies {
		it, err := w.tenant.Get(w.t.Context(), webhook.CopyKey(w.tenant, shard))
		testkit.Must(w.t, err)
		book, err := webhook.Kind.FromItem(it)
		testkit.Must(w.t, err)
		versions[book.Version] = true
		if r := book.Find(id); r != nil && r.Status == webhook.Enabled {
			enabled++
		}
	}
	return versions, enabled
}

// TestEndpointsAreCopied: the first event in another shard than the first writes the
// copies of the endpoints. Each change writes all of them, so nothing is sent after an
// endpoint was removed or disabled, or has another address.
func TestEndpointsAreCopied(t *testing.T) {
	w, r := newWorld(t, nil), newReceiver(t)
	hook := w.create(r.URL, "")
	w.ride(4)
	w.run()
	if versions, enabled := w.copies(hook.ID); enabled != 1 {
		t.Fatalf("with one shard there are copies: %v", versions)
	}
	w.sharded(t)
	w.ride(12)
	w.run()
	if versions, enabled := w.copies(hook.ID); len(versions) != 1 || enabled != webhook.Copies {
		t.Fatalf("copies of versions %v; %d have the endpoint", versions, enabled)
	}
	if got := r.take(); len(got) != 17 {
		t.Errorf("got %d messages, want 17", len(got))
	}
	w.Want(201, nil, "POST", "/api/v1/webhooks", w.operator, `{"url": "https://hooks.metro.example"}`)
	if versions, enabled := w.copies(hook.ID); len(versions) != 1 || enabled != webhook.Copies {
		t.Errorf("after another endpoint was added: versions %v, %d enabled", versions, enabled)
	}
	path := "/api/v1/webhooks/" + hook.ID
	for _, change := range []struct{ method, path, body string }{
		{"PATCH", path, `{"enabled": false}`}, {"PATCH", path, `{"enabled": true}`}, {"DELETE", path, ""},
	} {
		w.Want(200, nil, change.method, change.path, w.operator, change.body)
		if versions, enabled := w.copies(hook.ID); len(versions) != 1 || enabled > 0 {
			t.Errorf("%s %s: versions %v, %d enabled", change.method, change.body, versions, enabled)
		}
		w.ride(8)
		w.run()
		if got := r.take(); len(got) > 0 {
			t.Errorf("%s %s: %d messages", change.method, change.body, len(got))
		}
	}
}

// TestCopiesOfOlderVersions: a version before copies changes the tenant's endpoints
// alone. After a few events the copies are as they are, and an endpoint that is enabled
// by then got every event since.
func TestCopiesOfOlderVersions(t *testing.T) {
	w, r, late := newWorld(t, nil), newReceiver(t), newReceiver(t)
	w.sharded(t)
	hook := w.create(r.URL, "")
	w.ride(12)
	w.run()
	older := func(f func(*webhook.Book)) {
		it := w.item()
		book, err := webhook.Kind.FromItem(it)
		testkit.Must(t, err)
		f(&book)
		next := webhook.Kind.Item(w.tenant, "", book)
		next.Version = it.Version
		tx := w.tenant.Write()
		tx.Replace(next)
		testkit.Must(t, tx.Commit(t.Context()))
		w.step(webhook.Key(w.tenant))
	}
	second, err := webhook.New(late.URL, "", nil, "usr_1", w.Now(), true)
	testkit.Must(t, err)
	_, second.Secret, err = webhook.NewSecret(t.Context(), w.worker.Secrets.Seal, w.tenant, second.ID)
	testkit.Must(t, err)
	older(func(b *webhook.Book) { b.Endpoints = append(b.Endpoints, second) })
	w.run() // the challenge
	w.ride(40)
	w.run()
	w.endpoints()
	if versions, enabled := w.copies(second.ID); len(versions) != 1 || enabled != webhook.Copies {
		t.Errorf("copies of versions %v; %d have the endpoint", versions, enabled)
	}
	got := map[string]bool{}
	for _, one := range late.take() {
		got[one.id] = true
	}
	if len(got) != 41 { // and the challenge
		t.Errorf("the second endpoint got %d, want 41", len(got))
	}
	older(func(b *webhook.Book) { b.Find(hook.ID).Disable(webhook.ByOperator, w.Now()) })
	w.ride(40)
	w.run()
	if versions, enabled := w.copies(hook.ID); len(versions) != 1 || enabled > 0 {
		t.Errorf("copies of versions %v; %d have the endpoint", versions, enabled)
	}
}

// TestFailingNowAndThen: an endpoint that fails now and then is changed at most twice a
// minute, not at each event.
func TestFailingNowAndThen(t *testing.T) {
	w, r := newWorld(t, nil), newReceiver(t)
	hook := w.create(r.URL, "")
	before := w.item().Version
	for n := range 20 {
		r.answers([]int{http.StatusServiceUnavailable, http.StatusNoContent}[n%2], nil)
		w.ride(1)
		w.run()
	}
	if changes := w.item().Version - before; changes > 2 {
		t.Errorf("20 events changed the endpoint %d times", changes)
	}
	if since := w.get(hook.ID).FailingSince; since != nil {
		t.Errorf("it fails since %s", *since)
	}
	r.answers(http.StatusServiceUnavailable, nil)
	w.pass(2 * time.Minute)
	w.ride(1)
	w.run()
	if w.get(hook.ID).FailingSince == nil {
		t.Error("it does not fail")
	}
}
