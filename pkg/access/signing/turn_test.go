package signing_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/signing"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/local/schema"
)

// gate holds every request to the table, and every opening of a key, until open
// is closed.
type gate struct {
	signing.Sealer
	next    http.RoundTripper
	once    sync.Once
	reached chan struct{} // closed when the first is held
	open    chan struct{}
}

func newGate(s signing.Sealer) *gate {
	return &gate{Sealer: s, reached: make(chan struct{}), open: make(chan struct{})}
}

func (g *gate) hold() {
	g.once.Do(func() { close(g.reached) })
	<-g.open
}

func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	g.hold()
	return g.next.RoundTrip(r)
}

func (g *gate) Open(ctx context.Context, kid string, sealed []byte) ([]byte, error) {
	g.hold()
	return g.Sealer.Open(ctx, kid, sealed)
}

// While one request reads the keys or opens one, another request waits only
// until its own deadline: a process may serve many requests at once.
func TestNobodyWaitsBeyondTheirTime(t *testing.T) {
	sealer := signing.NewSealer()
	name := testkit.Name(t, schema.Options{StreamOff: true})
	k := signing.Open(testkit.Open(t, name, nil), signing.Options{Issuer: issuer, Sealer: sealer})
	testkit.Must(t, k.Rotate(t.Context()))

	reads := newGate(sealer)
	behind, err := table.Open(t.Context(), table.Options{Table: name, Endpoint: testkit.Endpoint(t),
		Transport: func(next http.RoundTripper) http.RoundTripper { reads.next = next; return reads }})
	testkit.Must(t, err)
	silent := signing.Open(behind, signing.Options{Issuer: issuer, Sealer: sealer})
	waitsInVain(t, reads, func(ctx context.Context) error { _, err := silent.KeySet(ctx); return err })

	opens := newGate(sealer)
	slow := signing.Open(testkit.Open(t, name, nil), signing.Options{Issuer: issuer, Sealer: opens})
	waitsInVain(t, opens, func(ctx context.Context) error {
		_, err := slow.MintAccess(ctx, signing.Access{ID: "tok_1"})
		return err
	})
}

// waitsInVain starts call until the gate holds it. Then it makes a second call,
// whose deadline passes.
func waitsInVain(t *testing.T, g *gate, call func(context.Context) error) {
	t.Helper()
	first := make(chan struct{})
	go func() {
		defer close(first)
		_ = call(context.Background()) // its own end is not the subject
	}()
	defer func() { close(g.open); <-first }()
	<-g.reached
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	second := make(chan error, 1)
	go func() { second <- call(ended) }()
	select {
	case err := <-second:
		if f := new(fault.Error); !errors.As(err, &f) || f.Kind != fault.KindUnavailable {
			t.Errorf("the second: %v; want unavailable", err)
		}
	case <-time.After(10 * time.Minute):
		t.Error("the second waits for the first")
	}
}
