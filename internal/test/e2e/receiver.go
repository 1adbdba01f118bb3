package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"svc/internal/test/testkit"
)

// ReceiverURL is the address of the suite's receiver for a deployment that accepts only
// public addresses. Its host is a name in the certificate of httptest.
const ReceiverURL = "https://hooks.example.com"

// receiver is the suite's receiver of webhooks. It echoes challenges, answers 500 to the
// first attempt of each event branding.updated, and keeps all messages.
type receiver struct {
	*httptest.Server
	url string // as the service reaches it

	mu    sync.Mutex
	got   map[string][]message // by webhook-id
	later string               // the Retry-After of a 500, or ""
}

// message is one request to a receiver.
type message struct {
	at     time.Time
	header http.Header
	body   []byte
}

// receive starts a receiver. A service on this machine sends to it directly, over
// plain http. Else it listens at Target.Receiver, over TLS.
func (s *suite) receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{got: map[string][]message{}}
	r.Server = httptest.NewUnstartedServer(r)
	if s.Receiver == "" {
		r.Start()
		r.url = r.URL
		return r
	}
	l, err := net.Listen("tcp", s.Receiver)
	testkit.Must(t, err)
	_ = r.Listener.Close()
	r.Listener = l
	r.StartTLS()
	r.url = ReceiverURL
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	var body struct{ Type, Challenge string }
	text, err := io.ReadAll(q.Body)
	if err != nil || json.Unmarshal(text, &body) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := q.Header.Get("webhook-id")
	r.got[id] = append(r.got[id], message{time.Now(), q.Header, text})
	switch {
	case body.Challenge != "":
		_, _ = fmt.Fprintf(w, `{"challenge": %q}`, body.Challenge)
	case len(r.got[id]) == 1 && body.Type == "branding.updated": // a test would not be sent again
		if r.later != "" {
			w.Header().Set("Retry-After", r.later)
		}
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// postpone sets the Retry-After, in seconds, of the 500 responses from now on.
func (r *receiver) postpone(seconds string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.later = seconds
}

// messages returns the messages with an id.
func (r *receiver) messages(id string) []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got[id])
}

// ids returns the ids of all messages.
func (r *receiver) ids() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.got))
}

// signed checks the signatures of messages with the official verifier. All attempts of a
// message must have the same body, and each is signed with its own time.
func (r *receiver) signed(t *testing.T, secret string, ids ...string) {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	testkit.Must(t, err)
	for _, id := range ids {
		all := r.messages(id)
		for _, m := range all {
			if err := hook.VerifyIgnoringTimestamp(m.body, m.header); err != nil {
				t.Errorf("the message %s: %v: %v", id, err, m.header)
			}
			if !bytes.Equal(m.body, all[0].body) {
				t.Errorf("the message %s changes: %s, then %s", id, all[0].body, m.body)
			}
			if sent := m.header.Get("webhook-timestamp"); !near(sent, m.at) {
				t.Errorf("the message %s arrives at %s and is signed at %s", id, m.at, sent)
			}
		}
	}
}

// near reports whether a verifier that gets the message at a time accepts its timestamp,
// which may be five minutes off.
func near(seconds string, at time.Time) bool {
	n, err := strconv.ParseInt(seconds, 10, 64)
	return err == nil && at.Sub(time.Unix(n, 0)).Abs() < 5*time.Minute
}
