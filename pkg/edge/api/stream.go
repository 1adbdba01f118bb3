package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"svc/pkg/base/codec"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/edge/gateway"
)

// Streamed is the answer of an endpoint that sends server-sent events (HTML standard,
// "Server-sent events"). It has one page of the events. For the next page, the same request
// is repeated with the query parameter after set to Position.
type Streamed interface {
	Before() string // the position before the page's first message
	Messages() []Message
	Position() (after string, more bool)
}

// Message is one server-sent event. A client that has read it continues from ID.
type Message struct {
	ID   string
	Data any
}

// lastEventID is the header in which a client says which message it read last.
const lastEventID = "Last-Event-ID"

// The times of a stream.
const (
	pollEach   = 2 * time.Second  // pause between two polls for the next page
	beatEach   = 15 * time.Second // less than the time after which proxies close a silent connection
	streamLife = 14 * time.Minute // less than the longest time of a function
	patience   = 30 * time.Second // timeout of one write or one poll
	firstPage  = 10 * time.Second // timeout of the checks and the first page
	spare      = 5 * time.Second  // time between a stream's end and the end of its request's context
)

// The maximum numbers of streams that one process serves at once.
const (
	streamsOfProcess = 256
	streamsOfTenant  = 32
)

// streams counts the open streams of a process.
type streams struct {
	mu      sync.Mutex
	all     int
	tenants map[string]int
}

// enter counts a new stream of the tenant, or rejects it with a 429.
func (s *streams) enter(tenant string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= streamsOfProcess || s.tenants[tenant] >= streamsOfTenant {
		return fault.RateLimited(patience)
	}
	if s.tenants == nil {
		s.tenants = map[string]int{}
	}
	s.all++
	s.tenants[tenant]++
	return nil
}

// leave counts down for a stream of the tenant that has ended.
func (s *streams) leave(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.tenants[tenant]--; s.tenants[tenant] == 0 {
		delete(s.tenants, tenant)
	}
}

// resume changes the request so that the stream continues after the message that the client
// read last. A client that reconnects sends its first query again, so the header overrides
// the query.
func (x *exchange) resume() {
	id := x.r.Header.Get(lastEventID)
	if !x.row.streams || id == "" {
		return
	}
	query := x.r.URL.Query()
	query.Set("after", id)
	at := *x.r.URL
	at.RawQuery = query.Encode()
	x.r.URL = &at
}

// beginStream writes the status and the headers of a stream's response.
func beginStream(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store, no-transform") // a proxy that compresses would wait for more
	h.Set("X-Accel-Buffering", "no")                 // nginx
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
}

// lifeOf returns how long a stream lasts. The stream ends before the context of its
// request does.
func lifeOf(r *http.Request) time.Duration {
	if end, ok := r.Context().Deadline(); ok {
		return min(streamLife, time.Until(end)-spare)
	}
	return streamLife
}

// follow writes a page and the pages after it to the client. Each page is the answer to
// an internal request of its own, so every check is made again for each.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, page Streamed, at place) {
	polls := 0
	conn := http.NewResponseController(w)
	defer func() { _ = conn.SetWriteDeadline(time.Time{}) }()
	follower{closing: s.Closing, life: lifeOf(r), retry: retry(w.Header().Get(gateway.RequestHeader)),
		write: func(p []byte) error {
			_ = conn.SetWriteDeadline(time.Now().Add(patience)) // the client may have stopped reading
			if _, err := w.Write(p); err != nil {
				return err
			}
			return conn.Flush()
		},
		poll: func(ctx context.Context, after string) (next Streamed, err error) {
			if polls++; at.taken != nil && polls%checkEach == 0 && at.taken(ctx) {
				return nil, errTaken
			}
			again := r.Clone(ctx)
			again.Header.Set(lastEventID, after)
			err = s.serve(&discard{}, again, Entry{Resource: itself, polls: true}, func(x *exchange, ctx context.Context) error {
				err := x.serve(ctx)
				next, _ = x.answer.(Streamed)
				return err
			})
			return next, err
		}}.run(r.Context(), page)
}

// follower writes the pages of one stream to the client.
type follower struct {
	write   func([]byte) error // writes and flushes; with the error ErrUnsupported, nothing more can be written
	poll    func(ctx context.Context, after string) (Streamed, error)
	closing <-chan struct{}
	life    time.Duration
	retry   []byte
}

// run writes pages until the client disconnects, a check fails, the process shuts down,
// or life has passed.
func (f follower) run(ctx context.Context, page Streamed) {
	end := time.NewTimer(f.life)
	defer end.Stop()
	beat := time.NewTicker(beatEach)
	defer beat.Stop()
	out := bytes.NewBuffer(slices.Clone(f.retry))
	cursor(out, page.Before()) // a client that is disconnected continues from here
	after, more := page.Position()
	if after != page.Before() && len(page.Messages()) == 0 {
		cursor(out, after)
	}
	for {
		if write(out, page.Messages()) != nil || out.Len() > 0 && f.write(out.Bytes()) != nil {
			return
		}
		pause := pollEach
		if more {
			pause = 0
		}
		if page = f.next(ctx, after, pause, beat.C, end.C); page == nil {
			return
		}
		out.Reset()
		was := after
		if after, more = page.Position(); after != was && len(page.Messages()) == 0 {
			cursor(out, after) // the filter dropped all events of the page
		}
	}
}

// next returns the next page, or nil if the stream has ended. If the service fails, next
// tries again after a pause.
func (f follower) next(ctx context.Context, after string, pause time.Duration, beat, end <-chan time.Time) Streamed {
	for f.wait(ctx, pause, beat, end) {
		page, err := f.pollOnce(ctx, after)
		if err == nil {
			return page
		}
		if errors.Is(err, errTaken) {
			return nil
		}
		refusal := fault.Of(err)
		if ctx.Err() == nil && final(refusal) {
			f.refuse(refusal)
		}
		if ctx.Err() != nil || final(refusal) {
			return nil
		}
		pause = min(max(pollEach, refusal.RetryAfter), patience)
	}
	return nil
}

// pollOnce reads the next page of the stream.
func (f follower) pollOnce(ctx context.Context, after string) (Streamed, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return f.poll(ctx, after)
}

// final reports whether the error ends the stream: any but a 429 and the service's own
// failures.
func final(f *fault.Error) bool {
	return f.Status() < http.StatusInternalServerError && f.Status() != http.StatusTooManyRequests
}

// wait waits until the next poll, after pause. At each beat it writes a comment, which keeps
// the connection open. It returns false if the stream has ended.
func (f follower) wait(ctx context.Context, pause time.Duration, beat, end <-chan time.Time) bool {
	next := time.NewTimer(pause)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-f.closing:
			return false
		case <-end:
			return false
		case <-beat:
			if f.write([]byte(": \n\n")) != nil {
				return false
			}
		case <-next.C:
			return true
		}
	}
}

// refuse tells the client why the stream ends.
func (f follower) refuse(why *fault.Error) {
	if body, err := errorBody(why); err == nil {
		_ = f.write(fmt.Appendf(nil, "event: refused\ndata: %s\n\n", body))
	}
}

// retry returns the line that says after how many milliseconds the client should
// reconnect. It is part of the first message, because some clients deliver a block
// without data as an empty message. The value depends on the request, so that the clients
// of a process that ends do not reconnect all at once.
func retry(request string) []byte {
	return fmt.Appendf(nil, "retry: %d\n", 1000+ids.Pick(request, 4000))
}

// cursor writes a message that only names the position after. The message has data,
// because many clients keep no identifier of a message without data.
func cursor(w io.Writer, after string) {
	_, _ = fmt.Fprintf(w, "event: cursor\nid: %s\ndata: {}\n\n", after)
}

// write writes messages as server-sent events.
func write(w io.Writer, messages []Message) error {
	for _, m := range messages {
		data, err := codec.Marshal(m.Data) // the JSON has no line breaks
		if err != nil {
			return err
		}
		if _, err = fmt.Fprintf(w, "id: %s\ndata: %s\n\n", m.ID, data); err != nil {
			return err
		}
	}
	return nil
}
