package event_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/edge/gateway"
)

const streamPath = "/api/v1/events/stream"

// sse is an open stream of events.
type sse struct {
	t    *testing.T
	body io.ReadCloser
	text *bufio.Scanner
	last string // the identifier that a client would send
}

// message is one server-sent event.
type message struct{ kind, id, data string }

// follow opens a stream. It fails the test unless the response has the status.
func (s *stand) follow(server *httptest.Server, token, query, last string, status int) *sse {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), "GET", server.URL+streamPath+query, nil)
	testkit.Must(s.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	a, err := server.Client().Do(r)
	testkit.Must(s.t, err)
	s.t.Cleanup(func() { _ = a.Body.Close() })
	if a.StatusCode != status {
		text, _ := io.ReadAll(a.Body)
		s.t.Fatalf("GET %s: %d %s, want %d", query, a.StatusCode, text, status)
	}
	return &sse{s.t, a.Body, bufio.NewScanner(a.Body), last}
}

// next reads the next message as a client does. It returns false at the end.
func (e *sse) next() (m message, ok bool) {
	for e.text.Scan() {
		name, value, _ := strings.Cut(e.text.Text(), ": ")
		switch {
		case name == "event":
			m.kind = value
		case name == "id":
			m.id = value
		case name == "data":
			m.data = value
		case name == "" && m.data != "":
			if m.id != "" {
				e.last = m.id
			}
			return m, true
		}
	}
	return m, false
}

// resource reads the next event, and returns its resource in a list.
func (e *sse) resource() []string {
	e.t.Helper()
	for {
		m, ok := e.next()
		if !ok {
			e.t.Fatal("the stream ended")
		}
		if m.kind != "" {
			continue
		}
		var got event.Event
		testkit.Must(e.t, json.Unmarshal([]byte(m.data), &got))
		return []string{got.Resource}
	}
}

func (s *stand) serve() *httptest.Server {
	server := httptest.NewServer(s.Server)
	s.t.Cleanup(server.Close)
	return server
}

// TestStream: a client that loses its connection in the middle of a page goes on
// after the last event that it read, on one shard and on several: nothing is missing,
// and nothing comes twice. The stream and the feed share their cursors.
func TestStream(t *testing.T) {
	for _, shards := range []int{1, 3} {
		s := newStand(t, shards)
		server := s.serve()
		live := s.follow(server, s.operator, "", "", 200)
		if m, ok := live.next(); !ok || m.kind != "cursor" || m.id == "" {
			t.Fatalf("the stream begins with %+v", m)
		}
		nothing := live.last
		_ = live.body.Close() // before the first event
		for i, id := range []string{"a", "b", "c", "d", "e", "f"} {
			s.append(i%shards, id)
		}
		seen := map[string]int{}
		last := nothing
		for range 6 { // a new connection for each event
			one := s.follow(server, s.operator, "", last, 200)
			seen[one.resource()[0]]++
			last = one.last
			_ = one.body.Close()
		}
		for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
			if seen[id] != 1 {
				t.Errorf("%d shards: %s came %d times", shards, id, seen[id])
			}
		}
		_, page := s.read(s.operator, "/api/v1/events")
		s.append(0, "g")
		got, _ := s.read(s.operator, "/api/v1/events?"+after(last))
		s.want(got, "g")
		s.want(s.follow(server, s.operator, "?"+after(page.Cursor), "", 200).resource(), "g")
		// The header says where a client is; the query, which it repeats, where it began.
		s.want(s.follow(server, s.operator, "?after=earliest", last, 200).resource(), "g")
		s.follow(server, s.operator, "?resource=g", last, 400) // a cursor is bound to its filters
	}
}

// TestStreamFilters: a stream of one resource moves on past events of others, and
// tells its client so.
func TestStreamFilters(t *testing.T) {
	s := newStand(t, 1)
	live := s.follow(s.serve(), s.operator, "?resource=b", "", 200)
	first, _ := live.next()
	s.append(0, "a")
	moved, _ := live.next()
	if moved.kind != "cursor" || moved.id == first.id {
		t.Errorf("after another resource's event: %+v", moved)
	}
	s.append(0, "b", "c")
	s.want(live.resource(), "b")
}

// TestStreamEndsWithTheGrant: what ends the right to read ends the stream, and no
// event that comes after it is sent.
func TestStreamEndsWithTheGrant(t *testing.T) {
	for name, c := range map[string]struct {
		take func(s *stand, actor string)
		code string
	}{
		"token revoked": {func(s *stand, _ string) {
			it, err := s.tenant.Get(t.Context(), authz.TokenKey(s.tenant, s.operator))
			testkit.Must(t, err)
			it.Attrs = map[string]any{"revoked": true}
			testkit.Must(t, s.tenant.Load(t.Context(), it))
		}, "unauthorized"},
		"grant revoked": {func(s *stand, actor string) {
			testkit.Must(t, s.tenant.Load(t.Context(), table.Item{Key: authz.GrantKey(s.tenant,
				"cli_00000000000000000000000000", actor), Type: "grant", Attrs: map[string]any{"epoch": 2}}))
		}, "unauthorized"},
		"permission lost": {func(s *stand, actor string) {
			testkit.Must(t, s.tenant.Load(t.Context(), table.Item{Key: authz.ActorKey(s.tenant, authz.Dashboard, actor),
				Type: "membership", Attrs: map[string]any{"permissions": []string{"VIEW_TRIPS"}}}))
		}, "forbidden"},
		"member removed": {func(s *stand, actor string) {
			tx := s.tenant.Write()
			tx.Delete(authz.ActorKey(s.tenant, authz.Dashboard, actor))
			testkit.Must(t, tx.Commit(t.Context()))
		}, "unauthorized"},
		"tenant suspended": {func(s *stand, _ string) {
			s.Flags(s.tenant, map[string]any{"disabled": true, "readShards": 1, "writeShards": 1})
		}, "unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, 1)
			actor := ids.New(ids.Person, apitest.Start)
			s.operator = s.Token(s.tenant, authz.Dashboard, actor, "VIEW_EVENTS")
			live := s.follow(s.serve(), s.operator, "", "", 200)
			s.append(0, "before")
			s.want(live.resource(), "before")
			c.take(s, actor)
			s.append(0, "after")
			m, ok := live.next()
			var body struct{ Error string }
			_ = json.Unmarshal([]byte(m.data), &body)
			if !ok || m.kind != "refused" || body.Error != c.code {
				t.Errorf("the next message is %+v, want refused, %s", m, c.code)
			}
			if m, more := live.next(); more {
				t.Errorf("%+v follows", m)
			}
		})
	}
}

// TestStreamLeavesNothing: when clients are gone, however they left, no goroutine of
// their streams is left, and their places are free.
func TestStreamLeavesNothing(t *testing.T) {
	s := newStand(t, 1)
	server := s.serve()
	const bound = 32
	var open []*sse
	for range bound {
		open = append(open, s.follow(server, s.operator, "", "", 200))
	}
	s.follow(server, s.operator, "", "", 429)
	_, token := s.join(1)
	s.follow(server, token, "", "", 200) // another tenant is not concerned
	for _, one := range open {
		_ = one.body.Close()
	}
	server.CloseClientConnections()
	for streams() > 0 {
		time.Sleep(time.Millisecond)
	}
	for range bound {
		open = append(open, s.follow(server, s.operator, "", "", 200))
	}
	s.follow(server, s.operator, "", "", 429)
}

// streams counts the goroutines that write a stream or make a poll for one.
func streams() int {
	stacks := make([]byte, 4<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "api.follower.run")
}

// TestStreamRefusals: a request that may not read gets the response of the feed, byte
// for byte, and no stream.
func TestStreamRefusals(t *testing.T) {
	s := newStand(t, 1)
	s.append(0, "a")
	_, mine := s.read(s.operator, "/api/v1/events")
	_, stranger := s.join(1)
	blind := s.Token(s.tenant, authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_TRIPS")
	for _, c := range []struct {
		token, query, last string
		status             int
	}{
		{"", "", "", 401}, {"no token", "", "", 401}, {blind, "", "", 403},
		{stranger, "?" + after(mine.Cursor), "", 400}, {stranger, "", mine.Cursor, 400}, {s.operator, "", "nonsense", 400},
		{s.operator, "?after=nonsense", "", 400}, {s.operator, "?type=trip.nothing", "", 400}, {s.operator, "?x=1", "", 400},
	} {
		got := s.Do("GET", streamPath+c.query, c.token, "", "Last-Event-ID", c.last)
		query := c.query
		if c.last != "" {
			query = "?" + after(c.last)
		}
		want := s.Do("GET", "/api/v1/events"+query, c.token, "")
		if got.Status != c.status || got.Body != want.Body || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%+v: %d %s, want %s", c, got.Status, got.Body, want.Body)
		}
	}
}

// TestStreamBehindTheGateway: a gateway that cannot stream gets one page, which says
// when to ask again.
func TestStreamBehindTheGateway(t *testing.T) {
	s := newStand(t, 1)
	s.append(0, "a", "b")
	for _, method := range []string{"GET", "HEAD"} {
		raw, err := json.Marshal(map[string]any{"version": "2.0", "routeKey": "ANY " + streamPath, "rawPath": streamPath,
			"rawQueryString": "after=earliest", "headers": map[string]string{"authorization": "Bearer " + s.operator},
			"requestContext": map[string]any{"apiId": "a", "http": map[string]string{"method": method, "path": streamPath}}})
		testkit.Must(t, err)
		answer, err := gateway.Handler(s.Server)(t.Context(), raw)
		testkit.Must(t, err)
		var got struct {
			StatusCode        int
			Body              string
			Headers           map[string]string
			MultiValueHeaders map[string][]string
		}
		testkit.Must(t, json.Unmarshal(answer, &got))
		events := strings.Count(got.Body, `"type":"trip.requested"`)
		if got.StatusCode != 200 || method == "GET" && (events != 2 || !strings.HasPrefix(got.Body, "retry: ")) ||
			method == "HEAD" && got.Body != "" || !strings.Contains(string(answer), `"text/event-stream"`) {
			t.Errorf("%s: %s", method, answer)
		}
	}
}
