package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc/pkg/base/fault"
)

// leaf is a page of a stream in a test.
type leaf struct {
	ids   []string
	after string
	more  bool
}

func (l leaf) Before() string { return "c0" }

func (l leaf) Messages() (out []Message) {
	for _, id := range l.ids {
		out = append(out, Message{ID: id, Data: map[string]string{"id": id}})
	}
	return out
}

func (l leaf) Position() (string, bool) { return l.after, l.more }

// tape keeps what a stream writes, and when.
type tape struct {
	text  []string
	at    []time.Duration
	polls []time.Duration
}

// play runs a stream whose polls get the answers, the last one again and again. It
// returns when the stream has ended and no goroutine of it is left.
func play(t *testing.T, first leaf, cut func(*tape) error, closing chan struct{}, answers ...any) *tape {
	t.Helper()
	out := &tape{}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		follower{closing: closing, life: streamLife, retry: retry("req_1"),
			write: func(p []byte) error {
				out.text, out.at = append(out.text, string(p)), append(out.at, time.Since(began))
				if cut != nil {
					return cut(out)
				}
				return nil
			},
			poll: func(ctx context.Context, after string) (Streamed, error) {
				if _, bounded := ctx.Deadline(); !bounded {
					t.Error("a poll has no end")
				}
				out.polls = append(out.polls, time.Since(began))
				next := answers[0]
				if len(answers) > 1 {
					answers = answers[1:]
				}
				if err, failed := next.(error); failed {
					return nil, err
				}
				return next.(leaf), nil
			}}.run(t.Context(), first)
	})
	return out
}

func (o *tape) all() string { return strings.Join(o.text, "") }

// TestStreamLife: a silent stream has a comment every 15 seconds, ends after 14
// minutes, and says then when to come back. It asks every two seconds.
func TestStreamLife(t *testing.T) {
	got := play(t, leaf{after: "c0"}, nil, nil, leaf{after: "c0"})
	beats := 0
	for i, text := range got.text {
		if text == ": \n\n" {
			if beats++; got.at[i] != time.Duration(beats)*beatEach {
				t.Errorf("heartbeat %d after %v", beats, got.at[i])
			}
		}
	}
	if end := got.polls[len(got.polls)-1]; beats < 55 || end < streamLife-pollEach || end > streamLife {
		t.Errorf("%d heartbeats; the last poll after %v", beats, end)
	}
	if !strings.HasPrefix(got.text[0], "retry: ") ||
		!strings.HasSuffix(got.text[0], "event: cursor\nid: c0\ndata: {}\n\n") {
		t.Errorf("it begins with %q", got.text[0])
	}
	if n := len(got.polls); n < 415 || n > 420 || got.polls[0] != pollEach {
		t.Errorf("%d polls, the first after %v", n, got.polls[0])
	}
}

// TestEveryBlockHasData: many clients deliver a block without data as an empty message.
// However a stream begins and ends, each block has data, or is a comment.
func TestEveryBlockHasData(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	for name, got := range map[string]*tape{
		"a whole life":        play(t, leaf{after: "c0"}, nil, nil, leaf{after: "c0"}),
		"events":              play(t, leaf{[]string{"c1"}, "c4", true}, nil, nil, leaf{after: "c9"}, fault.NotFound()),
		"the process closes":  play(t, leaf{after: "c0"}, nil, closed, leaf{after: "c0"}),
		"the lease is lost":   play(t, leaf{after: "c0"}, nil, nil, errTaken),
		"nothing of the page": play(t, leaf{after: "c7", more: true}, nil, nil, fault.NotFound()),
	} {
		for block := range strings.SplitSeq(strings.TrimSuffix(got.all(), "\n\n"), "\n\n") {
			if !strings.Contains("\n"+block, "\ndata: {") && !strings.HasPrefix(block, ":") {
				t.Errorf("%s: a block without data, %q", name, block)
			}
		}
	}
}

// TestIdentifiersNameWhatWasDelivered: a client that is cut off after any block, and goes
// on from the identifier that it saw last, misses nothing.
func TestIdentifiersNameWhatWasDelivered(t *testing.T) {
	for _, first := range []leaf{{[]string{"c1", "c2", "c3"}, "c5", true}, {after: "c5", more: true}, {after: "c0"}} {
		got, last := play(t, first, nil, nil, leaf{[]string{"c6"}, "c6", false}, fault.NotFound()), ""
		delivered := "c0"
		for block := range strings.SplitSeq(got.all(), "\n\n") {
			_, id, named := strings.Cut(block, "id: ")
			if !named {
				continue
			}
			last, _, _ = strings.Cut(id, "\n")
			if strings.Contains(block, `{"id":`) {
				delivered = last
			}
			if last > delivered && len(first.ids) > 0 && delivered < "c3" {
				t.Errorf("%q says %s when the client has %s", block, last, delivered)
			}
		}
		if last != "c6" || !strings.Contains(got.text[0], "event: cursor\nid: c0\ndata: {}\n\n") {
			t.Errorf("begins with %q, ends at %s", got.text[0], last)
		}
	}
}

// TestStreamPages: each message has the cursor to continue from. While more is
// there, the next page is read at once. A position without events is told, too.
func TestStreamPages(t *testing.T) {
	refused := fault.Unauthorized("The token is not valid.", true)
	got := play(t, leaf{[]string{"c1", "c2"}, "c2", true}, nil, nil, leaf{[]string{"c3"}, "c3", false},
		leaf{after: "c3"}, leaf{after: "c9"}, refused)
	_, text, _ := strings.Cut(got.all(), "\n\n")
	if want := `id: c1
data: {"id":"c1"}

id: c2
data: {"id":"c2"}

id: c3
data: {"id":"c3"}

event: cursor
id: c9
data: {}

event: refused
data: {"error":"unauthorized","error_description":"The token is not valid."}

`; text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if want := []time.Duration{0, pollEach, 2 * pollEach, 3 * pollEach}; !slices.Equal(got.polls, want) {
		t.Errorf("polls at %v, want %v", got.polls, want)
	}
}

// TestStreamOutlivesFailures: while the service fails or limits the rate, the stream
// goes on and sends nothing. Only what the caller may not do ends it.
func TestStreamOutlivesFailures(t *testing.T) {
	got := play(t, leaf{after: "c0"}, nil, nil, errors.New("the table is down"), fault.RateLimited(7*time.Second),
		fault.Unavailable(errors.New("slow")), leaf{[]string{"c1"}, "c1", false}, fault.NotFound())
	if text := got.all(); strings.Count(text, "id: c1\n") != 1 || strings.Count(text, "event: refused") != 1 ||
		strings.Contains(text, "table is down") {
		t.Errorf("got %s", text)
	}
	if len(got.polls) != 5 || got.polls[2]-got.polls[1] != 7*time.Second {
		t.Errorf("polls at %v", got.polls)
	}
}

// TestStreamEnds: a stream ends with the first write that fails, with the process,
// and after its page where the gateway cannot stream.
func TestStreamEnds(t *testing.T) {
	closing := make(chan struct{})
	close(closing)
	for name, c := range map[string]struct {
		cut     func(*tape) error
		closing chan struct{}
		writes  int
	}{
		"the client is gone":  {func(*tape) error { return errors.New("broken pipe") }, nil, 1},
		"a page only":         {func(*tape) error { return http.ErrNotSupported }, nil, 1},
		"gone at a heartbeat": {func(o *tape) error { return errAfter(o, 2) }, nil, 2},
		"the process closes":  {nil, closing, 1},
	} {
		got := play(t, leaf{after: "c0"}, c.cut, c.closing, leaf{after: "c0"})
		if len(got.text) != c.writes || len(got.polls) > 8 {
			t.Errorf("%s: %d writes, %d polls", name, len(got.text), len(got.polls))
		}
	}
}

func errAfter(o *tape, writes int) error {
	if len(o.text) < writes {
		return nil
	}
	return errors.New("broken pipe")
}

// TestReconnectsSpread: clients whose streams end together do not come back together.
func TestReconnectsSpread(t *testing.T) {
	seen := map[string]bool{}
	for i := range 100 {
		seen[string(retry(fmt.Sprint("req_", i)))] = true
	}
	if len(seen) < 50 {
		t.Errorf("100 streams come back at %d times", len(seen))
	}
}

// TestStreamsAreBounded: a tenant cannot take all streams of a process, and a stream
// that ended leaves its place.
func TestStreamsAreBounded(t *testing.T) {
	s := &streams{}
	open := func(tenant string, n int) (taken int) {
		for range n {
			if s.enter(tenant) == nil {
				taken++
			}
		}
		return taken
	}
	if a, b := open("a", 100), open("b", 1); a != streamsOfTenant || b != 1 {
		t.Errorf("one tenant has %d streams, the next one %d", a, b)
	}
	for _, tenant := range strings.Split("cdefghijklmnop", "") {
		open(tenant, streamsOfTenant)
	}
	if s.all != streamsOfProcess {
		t.Errorf("the process has %d streams", s.all)
	}
	s.leave("b")
	if open("b", 2) != 1 || len(s.tenants) == 0 {
		t.Error("a stream that ended keeps its place")
	}
}
