package app_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/script"
	"svc/internal/test/testkit"
	"svc/pkg/domain/export"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/privacy"
)

// poisoned makes the workers panic whose functions the names are, in each request to the
// table about the tenant.
type poisoned struct {
	mu   sync.Mutex
	hits map[string]int
}

func poison(s *apptest.Service, tenant string, functions ...string) *poisoned {
	p := &poisoned{hits: map[string]int{}}
	s.Wire.Panics(func(_ string, body []byte) bool {
		if !strings.Contains(string(body), tenant) {
			return false
		}
		stack := string(debug.Stack())
		for _, name := range functions {
			if strings.Contains(stack, "svc/pkg/background/"+name) {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.hits[name]++
				return true
			}
		}
		return false
	})
	return p
}

func (p *poisoned) hit(t *testing.T, functions ...string) {
	t.Helper()
	for _, name := range functions {
		eventually(t, name+" to panic", func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.hits[name] > 0
		})
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testkit.Patience); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain for " + what)
		}
	}
}

// logged collects what the process logs during a test.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func capturedLog(t *testing.T) *logged {
	t.Helper()
	l, was := &logged{}, slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(l, nil)))
	t.Cleanup(func() { slog.SetDefault(was) })
	return l
}

// receiver counts the webhooks of a tenant's endpoint.
func receiver(t *testing.T, s *apptest.Service, boss string) (got func() int) {
	t.Helper()
	var mu sync.Mutex
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"challenge"`) {
			_, _ = w.Write(body) // which has what the echo has
			return
		}
		mu.Lock()
		defer mu.Unlock()
		n++
	}))
	t.Cleanup(server.Close)
	s.Post(t, boss, "/api/v1/webhooks", fmt.Sprintf(`{"url": %q}`, server.URL+"/hook")).Must(t, 201)
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// neighbour is a company with its people, their tokens, and the calls of its webhook.
type neighbour struct {
	slug, boss, rider, driver string
	id, riderID, mail         string
	hooks                     func() int
}

// neighbours returns both companies. Their webhooks are enabled.
func neighbours(t *testing.T, s *apptest.Service) []neighbour {
	t.Helper()
	var both []neighbour
	for _, slug := range []string{"metro", "harbor"} {
		anna := s.Rider(t, slug, "anna")
		c := neighbour{slug: slug, boss: s.Token(t, s.Operator(t, slug, "boss")), rider: s.Token(t, anna),
			driver: s.Token(t, s.Driver(t, slug, "dan")), id: s.Tenant(slug).ID(), riderID: anna.ID, mail: anna.Email}
		c.hooks = receiver(t, s, c.boss)
		both = append(both, c)
	}
	for _, c := range both {
		eventually(t, "the endpoint of "+c.slug, func() bool {
			return strings.Contains(string(s.Get(t, c.boss, "/api/v1/webhooks").Body), `"enabled"`)
		})
	}
	return both
}

// jobsEnd begins an import, an export and a copy of a person's data, and checks how they end.
func (c neighbour) jobsEnd(t *testing.T, s *apptest.Service, want string) {
	t.Helper()
	in := apptest.JSON[imports.Job](t, s.Post(t, c.boss, "/api/v1/imports", `{"kind": "customers"}`).Must(t, 201))
	out := apptest.JSON[export.Job](t, s.Post(t, c.boss, "/api/v1/exports", `{"kind": "trips"}`).Must(t, 201))
	about := apptest.JSON[privacy.PrivacyRequest](t, s.Post(t, c.boss, "/api/v1/privacy/requests",
		fmt.Sprintf(`{"kind": "export", "customerId": %q}`, c.riderID)).Must(t, 201))
	file := "email,name,phone\r\nnew@" + c.slug + ".example,Zoe New,+12125550123\r\n"
	_, _ = testkit.Upload(t, http.DefaultClient, *in.Upload, []byte(file))
	got, deadline := "", time.Now().Add(2*time.Minute)
	for ; got != want && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		got = fmt.Sprint(apptest.JSON[imports.Job](t, s.Get(t, c.boss, "/api/v1/imports/"+in.ID)).Status, " ",
			apptest.JSON[export.Job](t, s.Get(t, c.boss, "/api/v1/exports/"+out.ID)).Status, " ",
			apptest.JSON[privacy.PrivacyRequest](t, s.Get(t, c.boss, "/api/v1/privacy/requests/"+about.ID)).Status)
	}
	if got != want {
		t.Errorf("%s: import, export and copy are %s, want %s", c.slug, got, want)
	}
}

// TestPanicsEndAtTheirBorder: whatever worker panics in the work for one company, the
// process lives, and the work of the other company is done. What panicked is a dead
// letter, a task that is due again, or a job that has failed. The log names it, and
// nothing of what people typed.
func TestPanicsEndAtTheirBorder(t *testing.T) {
	log := capturedLog(t)
	s := apptest.New(t)
	both := neighbours(t, s)
	s.Drain(t)
	metro, harbor := both[0], both[1]
	receipt := func(c neighbour, trip string) bool {
		return s.Get(t, c.boss, "/api/v1/trips/"+trip+"/receipt").Status == 200
	}

	stream := []string{"settlement.Function", "projection.Function", "feed.Function"}
	p := poison(s, metro.id, stream...)
	lost := s.Ride(t, metro.rider, metro.driver, script.Ride{})
	kept := s.Ride(t, harbor.rider, harbor.driver, script.Ride{})
	p.hit(t, stream...)
	letters := s.DeadLetters(t) // it returns, so nothing is delivered for ever
	eventually(t, "harbor's webhooks", func() bool { return harbor.hooks() > 0 })
	if !receipt(harbor, kept) || receipt(metro, lost) || letters == 0 {
		t.Errorf("receipts: harbor %v, metro %v; %d dead letters", receipt(harbor, kept), receipt(metro, lost), letters)
	}

	s.Wire.Restore()
	for _, c := range both {
		s.Patch(t, c.boss, "/api/v1/settings", `{"dispatch": {"mode": "offers"}}`).Must(t, 200)
	}
	s.DeadLetters(t)
	before := harbor.hooks()
	sends := []string{"dispatch.Worker.Step", "deliver.Worker.Handle"}
	p = poison(s, metro.id, sends...)
	for _, c := range both {
		s.Ride(t, c.rider, c.driver, script.Ride{}, "request")
	}
	p.hit(t, sends...)
	eventually(t, "harbor's webhooks beside metro's panics", func() bool { return harbor.hooks() > before })

	s.Wire.Restore()
	work := []string{"jobs.Runner.apply", "jobs.Runner.exporting", "erasure.Runner.Slice"}
	p = poison(s, metro.id, work...)
	for _, c := range both {
		want := map[string]string{"harbor": "DONE READY DONE", "metro": "FAILED FAILED BLOCKED"}[c.slug]
		c.jobsEnd(t, s, want)
	}
	p.hit(t, work...)
	text := log.String()
	for _, name := range []string{metro.id, lost, "stream record given up", `"job":"` + metro.id + "#imp_"} {
		if !strings.Contains(text, name) {
			t.Errorf("the log does not name %s", name)
		}
	}
	for _, private := range []string{metro.mail, "new@metro.example", "12125550123", "Zoe"} {
		if strings.Contains(text, private) {
			t.Errorf("the log has %s", private)
		}
	}
}
