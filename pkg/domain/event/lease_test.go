package event_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/edge/api"
)

// open returns the persons of a tenant's leases, the oldest first.
func (s *stand) open() []string {
	s.t.Helper()
	it, err := s.tenant.Get(s.t.Context(), s.tenant.Key("STREAMS", "STREAMS"))
	testkit.Must(s.t, err)
	var l struct{ Open []struct{ Person string } }
	if it.Found() {
		testkit.Must(s.t, it.Decode(&l))
	}
	out := []string{}
	for _, o := range l.Open {
		out = append(out, o.Person)
	}
	return out
}

// TestLeases: streams whose processes know nothing of each other share the table. A
// company has at most half of them, and a stream that loses its lease ends. A lease
// goes with its stream; that of a process that was killed ends by itself.
func TestLeases(t *testing.T) {
	testkit.Long(t)
	s := &stand{t: t, wire: &testkit.Wire{}}
	s.Stand = apitest.NewAt(t, testkit.TableOnWire(t, s.wire), api.Config{BaseURL: "http://stand.example", Streams: 8},
		event.Rows()...)
	s.tenant, _ = s.join(1)
	testkit.Must(t, s.tenant.Load(t.Context(), table.Item{Key: s.tenant.Key("STREAMS", "STREAMS"), Type: "streams",
		Version: 1, Attrs: map[string]any{"newer": "kept"}, Doc: json.RawMessage(`{"open": [], "more": 1}`)}))
	server := s.serve()
	person := func() (id, token string) {
		id = ids.New(ids.Person, s.Now())
		return id, s.Token(s.tenant, authz.Dashboard, id, "VIEW_EVENTS")
	}
	a, first := person()
	var all []*sse
	for range 4 {
		all = append(all, s.follow(server, first, "", "", 200))
	}
	var names []string
	for range 3 {
		name, token := person()
		names = append(names, name)
		all = append(all, s.follow(server, token, "", "", 200))
	}
	s.want(s.open(), append([]string{a}, names...)...)
	_, late := person()
	s.follow(server, late, "", "", 429)
	n, other := s.join(1)
	s.follow(server, other, "", "", 200)
	if n.ID() == s.tenant.ID() {
		t.Fatal("it is the same company")
	}
	for _, lost := range all[:3] {
		for more := true; more; {
			_, more = lost.next()
		}
	}
	for _, one := range all[3:] {
		_ = one.body.Close()
	}
	server.CloseClientConnections()
	for len(s.open()) > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	it, err := s.tenant.Get(t.Context(), s.tenant.Key("STREAMS", "STREAMS"))
	testkit.Must(t, err)
	if it.Text("newer") != "kept" || !strings.Contains(it.Raw(), `"more":1`) {
		t.Errorf("a newer build's data is lost: %s", it.Raw())
	}
}

// TestLeaseOfTheDead: what a process that was killed leaves stands in nobody's way when
// Lambda would have ended it.
func TestLeaseOfTheDead(t *testing.T) {
	s := &stand{t: t}
	s.Stand = apitest.NewAt(t, testkit.Table(t), api.Config{BaseURL: "http://stand.example", Streams: 1},
		event.Rows()...)
	s.tenant, s.operator = s.join(1)
	testkit.Must(t, s.tenant.Load(t.Context(), table.Item{Key: s.tenant.Key("STREAMS", "STREAMS"), Type: "streams",
		Version: 1, Doc: json.RawMessage(`{"open": [{"id": "req_1", "person": "per_1", "until": "2026-03-01T12:14:05Z"}]}`)}))
	server := s.serve()
	s.follow(server, s.operator, "", "", 429)
	s.Advance(14*time.Minute + 5*time.Second)
	s.follow(server, s.operator, "", "", 200)
}
