package event_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/event"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// keyedStand is newStand with a key of cursors. written says whether they are written.
func keyedStand(t *testing.T, shards int, written bool) *stand {
	t.Helper()
	wire := &testkit.Wire{}
	config := api.Config{BaseURL: "http://stand.example", KeyedCursors: written,
		CursorKey: func(context.Context) ([]byte, error) { return []byte("a key of the tests"), nil }}
	s := &stand{Stand: apitest.NewAt(t, testkit.TableOnWire(t, wire), config, event.Rows()...), t: t, wire: wire}
	s.tenant, s.operator = s.join(shards)
	return s
}

// reader is somebody who reads a feed.
type reader struct{ path, token, actor string }

func (s *stand) readers() []reader {
	s.t.Helper()
	rider := ids.New(ids.Customer, apitest.Start)
	testkit.Must(s.t, s.tenant.Load(s.t.Context(), customer.Item(s.tenant, customer.Record{
		Customer: customer.Customer{ID: rider, Name: "Rita", CreatedAt: "2026-01-01T00:00:00.000Z"}}, 1)))
	return []reader{{"/api/v1/events", s.operator, ""}, {streamPath, s.operator, ""},
		{"/api/v1/me/events", s.Token(s.tenant, authz.Rider, rider), rider}}
}

// forged returns a cursor of the form that needs no key.
func (s *stand) forged(r reader, position string) string {
	return *api.Cursor(position, "events", s.tenant.ID(), r.actor, "", "")
}

// TestForgedCursors: anybody can write a cursor in the form without a key. A position that
// is not one of the tenant's shards, or that nobody wrote, is a 400 before the feed is
// read; a position beyond the newest event is a 410. None begins at the beginning.
func TestForgedCursors(t *testing.T) {
	for _, shards := range []int{1, 3} {
		s := newStand(t, shards)
		s.append(0, "a", "b")
		positions := map[string]int{
			strings.Repeat("1.", 500) + "1": 400, strings.Repeat("0.", shards) + "0": 400, "": 400, ".": 400, "1.": 400,
			"x y": 400, "-1": 400, "+1": 400, "01": 400, "A": 400, "1!": 400, "1e9": 410, "zz": 410, "1y2p0ij32e8e7": 400,
			"2qgpckvng1r": 400, "2qgpckvng1q": 410, "1y2p0ij32e8e8": 400, strings.Repeat("9", 900): 400, "2": 200,
		}
		server := s.serve()
		for _, r := range s.readers() {
			if r.path == streamPath { // each position as a query, and as what a client read last
				for position, want := range positions {
					one := s.forged(r, position)
					_ = s.follow(server, r.token, "?"+after(one), "", want).body.Close()
					_ = s.follow(server, r.token, "", one, want).body.Close()
				}
				continue
			}
			s.Want(200, nil, "GET", r.path+"?after="+s.forged(r, "0"), r.token, "")
			requests := s.Last().Usage.Requests
			for position, want := range positions {
				got := s.Do("GET", r.path+"?"+after(s.forged(r, position)), r.token, "")
				if used := s.Last().Usage.Requests; got.Status != want || want == 400 && used >= requests ||
					used > requests+2*shards {
					t.Errorf("%s, %d shards, %.20q: %d with %d requests, want %d; a page costs %d", r.path, shards, position,
						got.Status, used, want, requests)
				}
			}
		}
	}
}

// TestKeyedCursors: a cursor with a key is good for its tenant, reader and filters alone.
// Cursors of builds without the key are read, and a process that writes none reads those
// of the others.
func TestKeyedCursors(t *testing.T) {
	for _, written := range []bool{true, false} {
		s := keyedStand(t, 2, written)
		s.append(0, "a", "b")
		s.append(1, "c")
		for _, r := range s.readers() {
			var page event.Feed
			if r.path == streamPath {
				continue
			}
			s.Want(200, &page, "GET", r.path+"?limit=1", r.token, "")
			if strings.HasPrefix(page.Cursor, "2.") != written {
				t.Errorf("%s: the cursor is %s", r.path, page.Cursor)
			}
			s.Want(200, nil, "GET", r.path+"?"+after(page.Cursor), r.token, "")
			s.Want(200, nil, "GET", r.path+"?"+after(s.forged(r, "1.0")), r.token, "")
			for name, wrong := range map[string]string{"mangled": page.Cursor[:8] + "_-" + page.Cursor[10:],
				"cut": page.Cursor[:len(page.Cursor)-2], "longer": page.Cursor + "AAAA", "form alone": "2.", "no base64": "2.!!",
				"seal alone": "2." + strings.Repeat("A", 22), "another form": "2." + s.forged(r, "1.0"),
				"without its form": strings.TrimPrefix(page.Cursor, "2.") + "A", "too long": "2." + strings.Repeat("A", 1900)} {
				if got := s.Do("GET", r.path+"?"+after(wrong), r.token, ""); got.Status != 400 {
					t.Errorf("%s, %s: %d", r.path, name, got.Status)
				}
			}
			s.Want(400, nil, "GET", r.path+"?resource=a&"+after(page.Cursor), r.token, "")
			_, other := s.join(2)
			s.Want(400, nil, "GET", "/api/v1/events?"+after(page.Cursor), other, "")
		}
	}
}

// TestCursorsOfTwoProcesses: a process that writes cursors with the key and one that does
// not yet read each other's, on the same table.
func TestCursorsOfTwoProcesses(t *testing.T) {
	newer := keyedStand(t, 1, true)
	newer.append(0, "a", "b")
	_, page := newer.read(newer.operator, "/api/v1/events?limit=1")
	older := &stand{Stand: apitest.NewAt(t, newer.DB, api.Config{BaseURL: "http://stand.example",
		CursorKey: func(context.Context) ([]byte, error) { return []byte("a key of the tests"), nil }}, event.Rows()...),
		t: t, tenant: newer.tenant}
	operator := older.Token(older.tenant, authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_EVENTS")
	got, page := older.read(operator, "/api/v1/events?limit=1&"+after(page.Cursor))
	older.want(got, "b")
	newer.append(0, "c")
	got, _ = newer.read(newer.operator, "/api/v1/events?"+after(page.Cursor))
	newer.want(got, "c")
}

// TestCursorWithNewShards: a process may know the tenant's shards late. A cursor of a
// process that knows all of them is good at once.
func TestCursorWithNewShards(t *testing.T) {
	s := newStand(t, 1)
	s.append(0, "a")
	s.read(s.operator, "/api/v1/events")
	s.Flags(s.tenant, map[string]any{"taxiEnabled": true, "deliveryEnabled": true, "currency": "USD",
		"readShards": tenant.MaxShards, "writeShards": 1})
	cursor := s.forged(reader{}, "1"+strings.Repeat(".0", tenant.MaxShards-1))
	got, _ := s.read(s.operator, "/api/v1/events?"+after(cursor))
	s.want(got)
	s.Advance(time.Minute)
	s.Want(400, nil, "GET", "/api/v1/events?"+after(s.forged(reader{}, "1"+strings.Repeat(".0", tenant.MaxShards))),
		s.operator, "")
}

// TestFilters: a filter without a value is a 400 and not the whole feed. The feed takes
// several types. Neither their order nor one that comes twice makes another cursor.
func TestFilters(t *testing.T) {
	s := newStand(t, 1)
	s.append(0, "a", "b", "a")
	readers := s.readers()
	for _, r := range readers {
		for _, name := range []string{"type", "resource", "after"} {
			got := s.Want(400, nil, "GET", r.path+"?"+name+"=", r.token, "")
			if !strings.Contains(got.Body, "query."+name) {
				t.Errorf("%s: %s", r.path, got.Body)
			}
		}
		for _, kind := range []string{"trip.vanished", "trip.requested,", ",", "trip.requested,trip.vanished",
			"trip.requested, trip.accepted", "trip"} {
			s.Want(400, nil, "GET", r.path+"?type="+url.QueryEscape(kind), r.token, "")
		}
	}
	got, page := s.read(s.operator, "/api/v1/events?limit=1&type=trip.accepted,trip.requested")
	s.want(got, "a")
	got, _ = s.read(s.operator, "/api/v1/events?type=trip.requested,trip.accepted,trip.requested&"+after(page.Cursor))
	s.want(got, "b", "a")
	got, _ = s.read(s.operator, "/api/v1/events?type=trip.accepted,trip.settled")
	s.want(got, "a")
	s.Want(400, nil, "GET", "/api/v1/events?type=trip.requested&"+after(page.Cursor), s.operator, "")
	s.want(s.follow(s.serve(), s.operator, "?after=earliest&type=trip.settled,trip.accepted", "", 200).resource(), "a")
}

// TestCursorBeyondARestoredFeed: a restore takes events away. A cursor that is ahead of
// each shard is a 410, and costs no more than three reads of each.
func TestCursorBeyondARestoredFeed(t *testing.T) {
	s := newStand(t, tenant.MaxShards)
	ctx, meter := table.Metered(t.Context())
	var far []int64
	for range tenant.MaxShards {
		far = append(far, 1e15)
	}
	_, err := event.Read(ctx, s.tenant, event.Query{After: far, Shards: tenant.MaxShards, Limit: 1}, s.Now())
	if used := meter.Usage().Requests; err == nil || used > 3*tenant.MaxShards {
		t.Errorf("%v after %d requests", err, used)
	}
}
