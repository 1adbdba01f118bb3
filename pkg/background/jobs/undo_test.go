package jobs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/trip"
)

func rides(from, to int, rider string) []byte {
	var file strings.Builder
	file.WriteString("email,tripId,requestedAt,completedAt,originAddress,originLat,originLng,fare\r\n")
	for n := from; n < to; n++ {
		fmt.Fprintf(&file, "%s,U-%d,2024-03-%02d 08:00,2024-03-%02d 09:00,%d Old Street,40.7,-74,10\r\n", rider, n, n%28+1,
			n%28+1, n)
	}
	return []byte(file.String())
}

func undone(t *testing.T, s *apptest.Service, token, id string) *imports.ImportUndo {
	t.Helper()
	for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(10 * time.Millisecond) {
		job := apptest.JSON[imports.Job](t, s.Get(t, token, "/api/v1/imports/"+id).Must(t, 200))
		if job.Undo != nil && job.Undo.Status != imports.Undoing {
			return job.Undo
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for the end of the undo: %+v", job.Undo)
		}
	}
}

// auditLog returns the newest entries of a company's audit log.
func auditLog(t *testing.T, tn table.Tenant) string {
	t.Helper()
	page, err := tn.Query(t.Context(), tn.Partition("AUDIT"), table.Query{Limit: 100, Backward: true})
	testkit.Must(t, err)
	log := ""
	for _, it := range page.Items {
		log += it.Raw()
	}
	return log
}

// rewriteRide writes a ride again, as something else than its import.
func rewriteRide(t *testing.T, tn table.Tenant, id string) {
	t.Helper()
	it, err := tn.Get(t.Context(), trip.Key(tn, id))
	testkit.Must(t, err)
	was, err := trip.FromItem(it)
	testkit.Must(t, err)
	tx := tn.Write()
	tx.Replace(was.Item(tn, 1))
	testkit.Must(t, tx.Commit(t.Context()))
}

// TestUndo: the rides of an import are removed as a whole, and only those that it made.
// A completed ride cannot be deleted alone. The file can be imported again.
func TestUndo(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	boss := s.Token(t, s.Operator(t, "metro", "boss"))
	anna := s.Rider(t, "metro", "anna").Email
	count := func() string {
		s.Drain(t)
		var all struct {
			Items []trip.Trip `json:"items"`
		}
		testkit.Must(t, json.Unmarshal(s.Get(t, boss, "/api/v1/trips?limit=100").Must(t, 200).Body, &all))
		return fmt.Sprint(len(all.Items))
	}
	first := imported(t, s, boss, `{"kind": "trips"}`, rides(0, 20, anna))
	second := imported(t, s, boss, `{"kind": "trips"}`, rides(10, 60, anna)) // of which 10 are there
	if counts(second) != "DONE 40/0/10/0" || count() != "60" {
		t.Fatalf("%s, %s trips", counts(second), count())
	}
	one := trip.FormerID(s.Tenant("metro"), "U-1")
	if got := s.Do(t, apptest.Request{Method: "DELETE", Path: "/api/v1/trips/" + one, Token: boss}).Must(t, 409); !strings.
		Contains(string(got.Body), "Undo its import") {
		t.Errorf("%s", got.Body)
	}
	s.Post(t, boss, "/api/v1/imports/"+second.ID+"/undo", "").Must(t, 200)
	if got := undone(t, s, boss, second.ID); got.Status != imports.Undone || got.Removed != 40 || got.Kept != 0 {
		t.Fatalf("%+v", got)
	}
	again := apptest.JSON[imports.Job](t, s.Post(t, boss, "/api/v1/imports/"+second.ID+"/undo", "").Must(t, 200))
	if again.Undo.Status != imports.Undone || again.Undo.Removed != 40 || count() != "20" {
		t.Errorf("again: %+v, %s trips", again.Undo, count())
	}
	exact(t, s)
	if job := imported(t, s, boss, `{"kind": "trips"}`, rides(10, 60, anna)); counts(job) != "DONE 40/0/10/0" {
		t.Errorf("imported again: %s", counts(job))
	}
	tn := s.Tenant("metro")
	log := auditLog(t, tn)
	if strings.Count(log, `"import.undo"`) != 1 || strings.Count(log, `"import.undone"`) != 1 {
		t.Errorf("the audit log says %s", log)
	}
	// Of the first import something has changed.
	rewriteRide(t, tn, one)
	s.Post(t, boss, "/api/v1/imports/"+first.ID+"/undo", "").Must(t, 200)
	if got := undone(t, s, boss, first.ID); got.Status != imports.Refused || got.Removed != 0 ||
		!strings.Contains(*got.Reason, one) || count() != "60" {
		t.Errorf("%+v, %s trips", got, count())
	}
	cannotBeUndone(t, s, boss, anna)
	mayNotUndo(t, s, second.ID)
	it, err := tn.Get(t.Context(), imports.Key(tn, first.ID))
	testkit.Must(t, err)
	rec, err := imports.Kind.FromItem(it)
	testkit.Must(t, err)
	if _, err := rec.BeginUndo(rec.By, s.Clock.Now().Add(8*24*time.Hour)); !errors.Is(err, fault.InvalidState("")) {
		t.Errorf("after eight days: %v", err)
	}
}

// cannotBeUndone: an import of people or addresses, and one that changed nothing, answers
// what to do instead.
func cannotBeUndone(t *testing.T, s *apptest.Service, boss, anna string) {
	t.Helper()
	for options, c := range map[string]struct{ file, instead string }{
		`{"kind": "customers"}`: {"email,name\r\nu@metro.example,Uma\r\n", "An import of customers cannot be undone, because " +
			"it keeps no earlier values and people are erased, not deleted. Import a file with the right values. To remove a " +
			"person, request an erasure: POST /api/v1/privacy/requests."},
		`{"kind": "drivers"}`: {"email,name\r\nd@metro.example,Dan\r\n", "request an erasure"},
		`{"kind": "addresses"}`: {"email,address,lat,lng\r\n" + anna + ",1 Street,40,-74\r\n",
			"ask the customers to delete theirs"},
		`{"kind": "trips", "mode": "validate"}`: {string(rides(0, 1, anna)), "It changed nothing"},
	} {
		job := imported(t, s, boss, options, []byte(c.file))
		if got := s.Post(t, boss, "/api/v1/imports/"+job.ID+"/undo", "").Must(t, 409); !strings.Contains(string(got.Body),
			c.instead) {
			t.Errorf("%s: %s", options, got.Body)
		}
	}
}

// mayNotUndo: neither an operator without the right nor another company undoes a job.
func mayNotUndo(t *testing.T, s *apptest.Service, job string) {
	t.Helper()
	weak := s.Token(t, s.Operator(t, "metro", "boss"), "tenant.imports:write", "tenant.trips:write")
	s.Post(t, weak, "/api/v1/imports/"+job+"/undo", "").Must(t, 403)
	stranger := s.Token(t, s.Operator(t, "harbor", "boss"))
	s.Post(t, stranger, "/api/v1/imports/"+job+"/undo", "").Must(t, 404)
}

// TestUndoLeavesOthersRides: a ride that was deleted and that a later import made again is
// the later import's, also where the identifier is the same.
func TestUndoLeavesOthersRides(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	boss := s.Token(t, s.Operator(t, "metro", "boss"))
	file := "email,tripId,requestedAt,originAddress,originLat,originLng,status\r\n" + s.Rider(t, "metro", "anna").Email +
		",C-1,2024-03-01 08:00,Old Street,40.7,-74,CANCELLED\r\n"
	first := imported(t, s, boss, `{"kind": "trips"}`, []byte(file))
	path := "/api/v1/trips/" + trip.FormerID(s.Tenant("metro"), "C-1")
	s.Do(t, apptest.Request{Method: "DELETE", Path: path, Token: boss}).Must(t, 200)
	second := imported(t, s, boss, `{"kind": "trips"}`, []byte(file))
	if counts(first) != "DONE 1/0/0/0" || counts(second) != "DONE 1/0/0/0" {
		t.Fatalf("%s, then %s", counts(first), counts(second))
	}
	s.Post(t, boss, "/api/v1/imports/"+first.ID+"/undo", "").Must(t, 200)
	if got := undone(t, s, boss, first.ID); got.Status != imports.Refused || got.Removed != 0 {
		t.Errorf("the first import: %+v", got)
	}
	s.Get(t, boss, path).Must(t, 200)
	s.Post(t, boss, "/api/v1/imports/"+second.ID+"/undo", "").Must(t, 200)
	if got := undone(t, s, boss, second.ID); got.Status != imports.Undone || got.Removed != 1 || got.Kept != 0 {
		t.Errorf("the second import: %+v", got)
	}
	s.Get(t, boss, path).Must(t, 404)
}

// TestUndoGoesOn: an undo whose process is killed at any request is finished by the
// next, and each ride counts once.
func TestUndoGoesOn(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	boss := s.Token(t, s.Operator(t, "metro", "boss"))
	anna := s.Rider(t, "metro", "anna").Email
	for p := range testkit.CrashPoints(t, 200) {
		job := imported(t, s, boss, `{"kind": "trips"}`, rides(0, 40, anna))
		if counts(job) != "DONE 40/0/0/0" {
			t.Fatal(counts(job))
		}
		quietly[imports.Job](t, s, boss, "/api/v1/imports/"+job.ID+"/undo", "", imports.Rows())
		runner, _ := asleep(s, s.Runtime.Files)
		wire := &testkit.Wire{}
		endpoint, name := s.Stored()
		db, err := table.Open(t.Context(), table.Options{Table: name, Endpoint: endpoint, Transport: wire.Over})
		testkit.Must(t, err)
		runner.DB = db
		_ = runner.Run(wire.CrashAt(t.Context(), p.N, p.Lost))
		p.Reached(wire.Revive())
		testkit.Must(t, runner.Run(t.Context()))
		if got := undone(t, s, boss, job.ID); got.Status != imports.Undone || got.Removed != 40 || got.Kept != 0 {
			t.Errorf("killed at %v: %+v", p, got)
		}
	}
}
