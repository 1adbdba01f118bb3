package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/background/dispatch"
	"svc/pkg/data/due"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/webhook"
)

// Tasks that were given up are listed with what they are about, put back, and dropped.
func TestDeadTasks(t *testing.T) {
	t.Parallel()
	w := start(t)
	db := w.opened()
	metro, err := tenant.Store{DB: db}.BySlug(t.Context(), "metro")
	testkit.Must(t, err)
	at := time.Now().Add(-time.Hour)
	testkit.Must(t, dispatch.Worker{DB: db, Now: time.Now}.Book().GiveUp(t.Context(),
		due.Task{Tenant: metro.ID, Kind: "trip", ID: "trp_none", At: at, Attempts: 10}))
	send := webhook.TaskOf(webhook.Message{Tenant: metro.ID, Endpoint: "whk_none", Event: "evt_none"}, at)
	for _, book := range webhook.AllDue(db, time.Now)[:2] {
		testkit.Must(t, book.GiveUp(t.Context(), send))
	}
	var all []struct{ First string }
	list := func(want int) {
		t.Helper()
		all = nil
		testkit.Must(t, json.Unmarshal([]byte(w.ok("dlq", "list", "due", "--json")), &all))
		if len(all) != want {
			t.Fatalf("%d dead tasks, want %d: %+v", len(all), want, all)
		}
	}
	list(3)
	if got := w.ok("dlq", "list", "due", "--wide"); !strings.Contains(got, "trp_none") ||
		!strings.Contains(got, metro.ID) ||
		!strings.Contains(got, "webhooks-2") {
		t.Error(got)
	}
	if got := w.ok("status"); !strings.Contains(got, "dead letters of due"+strings.Repeat(" ", 17)+"3") {
		t.Error(got)
	}
	w.ok("dlq", "drop", "due", all[0].First)
	list(2)
	if _, errs, code := w.run("dlq", "drop", "due", "none"); code != 1 || !strings.Contains(errs, "svc dlq list due") {
		t.Errorf("a task that is none: %d %s", code, errs)
	}
	if got := w.ok("audit", "metro"); !strings.Contains(got, "dlq.drop") {
		t.Errorf("audit: %s", got)
	}
	if got := w.ok("dlq", "replay", "due", "--json"); !strings.Contains(got, `"done": 2`) {
		t.Error(got)
	}
	list(0)
	if _, errs, code := w.run("dlq", "list", "due", "--queue", "https://x.example/q"); code != 2 {
		t.Errorf("with a queue: %d %s", code, errs)
	}
}
