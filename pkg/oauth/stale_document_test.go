package oauth_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/throttle"
	"svc/pkg/oauth"
	"svc/pkg/oauth/flow"
)

// unpublish removes a document.
func (p *publisher) unpublish(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pages, address)
}

// While a client's document cannot be fetched, the stored client stays usable
// for a week.
func TestStaleDocument(t *testing.T) {
	testkit.Long(t)
	d := newDocumented(t, apptest.Unthrottled)
	d.publish(plannerAt)
	if _, err := flow.Token(t.Context(), d.options(plannerAt)); err != nil {
		t.Fatal(err)
	}
	d.unpublish(plannerAt)
	d.Clock.Advance(25 * time.Hour)
	if _, err := flow.Token(t.Context(), d.options(plannerAt)); err != nil {
		t.Errorf("while the document cannot be fetched: %v", err)
	}
	if got := d.times(plannerAt); got != 2 {
		t.Errorf("fetched %d times, want 2: a failure is tried again after a minute", got)
	}
	d.publish(plannerAt, "client_id", "https://planner.example/other")
	d.Clock.Advance(2 * time.Minute)
	if res := d.ask(t, plannerAt); res.StatusCode != 400 {
		t.Errorf("a document that is not valid: %d", res.StatusCode)
	}
	d.unpublish(plannerAt)
	d.Clock.Advance(8 * 24 * time.Hour)
	if res := d.ask(t, plannerAt); res.StatusCode != 400 {
		t.Errorf("after a week: %d", res.StatusCode)
	}
}

// Invented addresses at a client's host do not use up the client's own fetch
// budget.
func TestDocumentBudgetOfAStoredClient(t *testing.T) {
	testkit.Long(t)
	d := newDocumented(t, oauth.Limits{Documents: 100_000, Registrations: -1, TokenFailures: -1})
	d.header = "max-age=1"
	d.publish(plannerAt)
	if _, err := flow.Token(t.Context(), d.options(plannerAt)); err != nil {
		t.Fatal(err)
	}
	d.Clock.Advance(6 * time.Minute)
	d.Clock.Hold()   // the counts are by the hour
	const host = 600 // fetches per hour of a client's host, by all callers
	counts := throttle.New(d.DB, d.Clock.Now, nil, slog.New(slog.DiscardHandler))
	for range host - 2 { // each request would fetch
		testkit.Must(t, counts.Count(t.Context(), throttle.Counter{Kind: "document-host", Key: "planner.example",
			Limit: host, Window: time.Hour}))
	}
	for n := range 2 {
		d.ask(t, fmt.Sprintf("https://planner.example/made-up-%d", n))
	}
	if res := d.ask(t, "https://planner.example/one-more"); res.StatusCode != 429 {
		t.Fatalf("the budget of the host is not spent: %d", res.StatusCode)
	}
	d.publish(plannerAt, "redirect_uris", []string{"https://planner.example/moved"})
	if res := d.ask(t, plannerAt); res.StatusCode != 400 || d.times(plannerAt) != 2 {
		t.Errorf("the document was not fetched again: %d, fetched %d times", res.StatusCode, d.times(plannerAt))
	}
}
