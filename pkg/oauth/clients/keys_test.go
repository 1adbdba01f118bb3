package clients

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/throttle"
)

// A jwks_uri is fetched with the same rules as a metadata document: from public
// addresses only, without redirects, and with a deadline. A failed fetch
// returns no keys and is not repeated at once.
func TestKeysGuard(t *testing.T) {
	const keys = `{"keys":[{"kty":"EC","crv":"P-256","kid":"1","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",` +
		`"y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}`
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			_, _ = io.WriteString(w, keys)
		}
	}
	plain := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, keys) }
	db, now := testkit.Table(t), time.Now()
	for name, test := range map[string]struct {
		handle       http.HandlerFunc // nil never ends its response
		uri          string
		names        []string // addresses to which the name resolves
		asked, found int
	}{
		"keys":                   {plain, remoteURL, []string{"8.8.8.8"}, 1, 1},
		"a redirect":             {redirect("https://example.com/other"), remoteURL, []string{"8.8.8.8"}, 1, 0},
		"a redirect inwards":     {redirect("http://169.254.169.254/latest"), remoteURL, []string{"8.8.8.8"}, 1, 0},
		"a slow server":          {nil, remoteURL, []string{"8.8.8.8"}, 1, 0},
		"loopback":               {plain, remoteURL, []string{"127.0.0.1"}, 0, 0},
		"instance metadata":      {plain, remoteURL, []string{"169.254.169.254"}, 0, 0},
		"private among public":   {plain, remoteURL, []string{"8.8.8.8", "10.0.0.1"}, 0, 0},
		"a private address, 6":   {plain, remoteURL, []string{"fd00:ec2::254"}, 0, 0},
		"another port":           {plain, "https://example.com:8443/keys", []string{"8.8.8.8"}, 0, 0},
		"the service's own name": {plain, "https://id.example/keys", []string{"8.8.8.8"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			asked, ctx := atomic.Int64{}, expiring{t.Context(), make(chan struct{})}
			r := newRemote(t, func(w http.ResponseWriter, req *http.Request) {
				asked.Add(1)
				w.Header().Set("Content-Type", "application/json")
				if test.handle != nil {
					test.handle(w, req)
					return
				}
				_ = http.NewResponseController(w).Flush() // the response is under way
				close(ctx.over)
				<-req.Context().Done()
			})
			r.names = test.names
			reg := NewRegistry(db, Options{BaseURL: "https://id.example", Documents: r.transport,
				Now: func() time.Time { return now }, Limits: throttle.Limits{Documents: -1}, Log: slog.New(slog.DiscardHandler)})
			for range 3 {
				got, err := reg.fetchedKeys(ctx, Client{ID: "cli", KeysURI: test.uri}, true)
				if len(got) != test.found || err != nil {
					t.Errorf("%d keys (%v), want %d", len(got), err, test.found)
				}
			}
			if asked.Load() != int64(test.asked) || r.lookups.Load() > 1 {
				t.Errorf("asked %d times, want %d; resolved %d times", asked.Load(), test.asked, r.lookups.Load())
			}
		})
	}
}

// A full cache evicts the oldest unproven set. A proven set is evicted only for another
// proven one, and then the least recently used one goes.
func TestKeySetsEviction(t *testing.T) {
	sets := keySets{byURI: map[string]keySet{}}
	tried := time.Now()
	has := func(uri string) bool { return !sets.get(uri).tried.IsZero() }
	fill := func(kind string, n int, proven bool) {
		for i := range n {
			uri := fmt.Sprint(kind, i)
			if sets.put(uri, keySet{tried: tried}); proven {
				sets.prove(uri)
			}
		}
	}
	fill("used", 2, true)
	fill("stranger", 2*mostDocuments, false)
	if newest := fmt.Sprint("stranger", 2*mostDocuments-1); !has("used0") || !has("used1") || has("stranger0") ||
		!has(newest) || len(sets.byURI) != mostDocuments {
		t.Errorf("%d sets after many unproven ones: used0 %t, used1 %t, the oldest %t, the newest %t", len(sets.byURI),
			has("used0"), has("used1"), has("stranger0"), has(newest))
	}
	sets.put("used0", keySet{tried: tried.Add(time.Hour)}) // a fetch keeps the set proven
	if !sets.get("used0").proven {
		t.Error("a fetched set is not proven any more")
	}
	sets.prove("used0")
	fill("proven", mostProven-1, true)
	if !has("used0") || has("used1") || !has("proven0") || sets.proven() != mostProven {
		t.Errorf("%d proven sets: used0 %t, used1 %t, the first other %t", sets.proven(), has("used0"), has("used1"),
			has("proven0"))
	}
	fill("late", mostDocuments, false)
	if sets.prove("gone"); has("gone") || len(sets.byURI) != mostDocuments || sets.proven() != mostProven {
		t.Errorf("%d sets, of which %d are proven", len(sets.byURI), sets.proven())
	}
}
