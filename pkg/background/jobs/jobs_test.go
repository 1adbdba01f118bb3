package jobs_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/script"
	"svc/internal/test/testkit"
	"svc/pkg/background/jobs"
	"svc/pkg/data/audit"
	"svc/pkg/domain/export"
	"svc/pkg/domain/person"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// ride adds a trip whose notes are the text.
func ride(t *testing.T, s *apptest.Service, rider apptest.Actor, notes string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"originAddress": "12 Harbour Street, \"B\"", "originLat": 40.7,
		"originLng": -74, "notes": notes})
	testkit.Must(t, err)
	return apptest.JSON[struct{ ID string }](t,
		s.Post(t, s.Token(t, rider), "/api/v1/me/trips", string(body)).Must(t, 201)).ID
}

// finished reads an export until it is done.
func finished(t *testing.T, s *apptest.Service, token, id string) export.Job {
	t.Helper()
	for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(10 * time.Millisecond) {
		job := apptest.JSON[export.Job](t, s.Get(t, token, "/api/v1/exports/"+id).Must(t, 200))
		if job.Status == export.Ready || job.Status == export.Failed || time.Now().After(deadline) {
			return job
		}
	}
}

func begin(t *testing.T, s *apptest.Service, token, body string) export.Job {
	t.Helper()
	return apptest.JSON[export.Job](t, s.Post(t, token, "/api/v1/exports", body).Must(t, 201))
}

func download(t *testing.T, url string) (int, http.Header, string) {
	t.Helper()
	res, err := http.Get(url)
	testkit.Must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	testkit.Must(t, err)
	return res.StatusCode, res.Header, string(body)
}

func made(t *testing.T, s *apptest.Service, token, body string) string {
	t.Helper()
	job := finished(t, s, token, begin(t, s, token, body).ID)
	if job.Status != export.Ready || job.URL == nil {
		t.Fatalf("the export is %+v", job)
	}
	status, _, text := download(t, *job.URL)
	if status != 200 || int64(len(text)) != job.Bytes {
		t.Fatalf("the file: %d, %d bytes, want %d", status, len(text), job.Bytes)
	}
	return text
}

func records(t *testing.T, text string) [][]string {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	testkit.Must(t, err)
	return all
}

// TestExportOfTrips: the operator gets the trips as a file, each download address
// is recorded, and nobody else sees the job.
func TestExportOfTrips(t *testing.T) {
	s := apptest.New(t)
	rider, op := s.Rider(t, "metro", "anna"), s.Operator(t, "metro", "boss")
	notes := []string{"Ring twice", "=1+1", "a;=cmd|' /C calc'!A0;b", "line one\nline two, \"quoted\"",
		"+1 212 555 0181", "ü€😀"}
	for _, n := range notes {
		ride(t, s, rider, n)
	}
	token := s.Token(t, op)
	job := begin(t, s, token, `{"kind": "trips", "columns": ["notes", "originLat", "originAddress", "finalFare"]}`)
	if job.Status != export.Pending || job.URL != nil {
		t.Errorf("a new export is %+v", job)
	}
	job = finished(t, s, token, job.ID)
	if job.Status != export.Ready || job.Rows != int64(len(notes)) || job.URL == nil {
		t.Fatalf("the export is %+v", job)
	}
	status, header, text := download(t, *job.URL)
	if status != 200 || header.Get("Content-Type") != "text/csv; charset=utf-8; header=present" ||
		!strings.HasPrefix(header.Get("Content-Disposition"), "attachment; filename=trips-") {
		t.Errorf("the file: %d %v", status, header)
	}
	got := records(t, text)
	if len(got) != len(notes)+1 || strings.Join(got[0], " ") != "notes originLat originAddress finalFare" {
		t.Fatalf("the file:\n%s", text)
	}
	for i, want := range []string{"Ring twice", "'=1+1", "a;'=cmd|' /C calc'!A0;b", "line one\nline two, \"quoted\"",
		"+1 212 555 0181", "ü€😀"} {
		if got[i+1][0] != want || got[i+1][1] != "40.7" || got[i+1][2] != `12 Harbour Street, "B"` || got[i+1][3] != "" {
			t.Errorf("row %d: %q, want %q", i, got[i+1], want)
		}
	}
	foreign(t, s, job)
	entries, _, err := audit.List(context.Background(), s.Tenant("metro"), "", 100)
	testkit.Must(t, err)
	n := map[string]int{}
	for _, e := range entries {
		if e.Subject == job.ID && e.Who == op.ID {
			n[e.What]++
		}
	}
	if n["export.add"] != 1 || n["export.download"] != 1 {
		t.Errorf("the audit log has %v", n)
	}
}

// foreign: another operator, and one of another tenant, get the same bytes as for
// a job that does not exist. A changed address gets nothing.
func foreign(t *testing.T, s *apptest.Service, job export.Job) {
	t.Helper()
	nobody := "exp_" + strings.Repeat("0", 26)
	for _, op := range []apptest.Actor{s.Operator(t, "harbor", "boss"), s.Operator(t, "metro", "other")} {
		token := s.Token(t, op)
		a, b := s.Get(t, token, "/api/v1/exports/"+job.ID), s.Get(t, token, "/api/v1/exports/"+nobody)
		if a.Status != 404 || !bytes.Equal(a.Body, b.Body) {
			t.Errorf("%s of %s: %d %s, and %s", op.ID, op.Tenant, a.Status, a.Body, b.Body)
		}
		if list := s.Get(t, token, "/api/v1/exports").Must(t, 200); strings.Contains(string(list.Body), job.ID) {
			t.Errorf("%s of %s lists the export", op.ID, op.Tenant)
		}
	}
	for name, url := range map[string]string{"another name": strings.Replace(*job.URL, "as=", "as=x", 1),
		"a later end":     strings.Replace(*job.URL, "until=1", "until=2", 1),
		"another file":    strings.Replace(*job.URL, job.ID, "exp_"+strings.Repeat("0", 26), 1),
		"out of the path": strings.Replace(*job.URL, "/files/", "/files/../", 1),
		"no signature":    (*job.URL)[:strings.Index(*job.URL, "?")]} {
		if status, _, body := download(t, url); status != http.StatusForbidden && status != http.StatusNotFound ||
			strings.Contains(body, "Ring") {
			t.Errorf("%s: %d", name, status)
		}
	}
	s.Clock.Advance(16 * time.Minute)
	if status, _, _ := download(t, *job.URL); status != http.StatusForbidden {
		t.Errorf("after 16 minutes the address gets %d", status)
	}
}

// crashing is a store that fails at some calls, as if the process had ended there:
// after the call's effect, or before it.
type crashing struct {
	jobs.Files
	at    int // calls until the next failure
	after bool
	turn  func()
}

var errCrash = errors.New("the process ends")

func (c *crashing) crash(do func() error) error {
	if c.at--; c.at == 0 {
		c.at = 3
		if c.after = !c.after; c.after {
			return errors.Join(do(), errCrash)
		}
		return errCrash
	}
	return do()
}

func (c *crashing) Begin(ctx context.Context, file string) (up string, err error) {
	return up, c.crash(func() (err error) { up, err = c.Files.Begin(ctx, file); return err })
}

func (c *crashing) Part(ctx context.Context, file, up string, n int, content []byte) (tag string, err error) {
	if c.turn != nil {
		c.turn()
	}
	return tag, c.crash(func() (err error) { tag, err = c.Files.Part(ctx, file, up, n, content); return err })
}

func (c *crashing) Finish(ctx context.Context, file, up string, tags []string) error {
	return c.crash(func() error { return c.Files.Finish(ctx, file, up, tags) })
}

func (c *crashing) Put(ctx context.Context, file string, content []byte) error {
	return c.crash(func() error { return c.Files.Put(ctx, file, content) })
}

// clock is a runner's clock.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// asleep ends the service's own runner for jobs, and returns one of the test's own.
func asleep(s *apptest.Service, files jobs.Files) (jobs.Runner, *clock) {
	c := &clock{s.Clock.Now()}
	return jobs.Runner{DB: s.DB, Files: files, Now: c.Now, Bytes: 600, Time: time.Hour}, c
}

// quiet makes the service begin jobs that its own runner does not see for a minute.
func quiet(t *testing.T, s *apptest.Service, token, body string) string {
	t.Helper()
	return quietly[export.Job](t, s, token, "/api/v1/exports", body, export.Rows()).ID
}

// quietly posts a body to one of the rows.
func quietly[T any](t *testing.T, s *apptest.Service, token, path, body string, rows []api.Row) (job T) {
	t.Helper()
	server, err := api.New(api.Config{DB: s.DB, Verifier: s.Runtime.Keys(), BaseURL: s.URL, Now: s.Clock.Now,
		Files: s.Runtime.Files}, rows...)
	testkit.Must(t, err)
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &job); err != nil || w.Code/100 != 2 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return job
}

// TestKilledAnywhere: whatever call of the store a process ends at, the next one
// goes on, and the file has every row once.
func TestKilledAnywhere(t *testing.T) {
	testkit.LongHere(t)
	s := apptest.New(t)
	rider, op := s.Rider(t, "metro", "anna"), s.Operator(t, "metro", "boss")
	want := map[string]bool{}
	for n := range 25 {
		want[ride(t, s, rider, fmt.Sprintf("note %d", n))] = true
	}
	token := s.Token(t, op)
	for _, n := range testkit.Sample(t, 4) {
		first := n + 1
		for _, limit := range []time.Duration{time.Hour, time.Nanosecond} { // parts, and rests that are too short
			files := &crashing{Files: s.Runtime.Files, at: first}
			runner, clock := asleep(s, files)
			runner.Time = limit
			id := quiet(t, s, token, `{"kind": "trips", "columns": ["id", "notes"]}`)
			crashes := 0
			var job export.Job
			for runs := 0; job.Status != export.Ready && job.Status != export.Failed; runs++ {
				if runs > 200 {
					t.Fatal("the job does not end")
				}
				if runner.Run(t.Context()) != nil {
					crashes++
				}
				clock.now = clock.now.Add(3 * time.Minute) // the lease ends
				job = apptest.JSON[export.Job](t, s.Get(t, token, "/api/v1/exports/"+id).Must(t, 200))
			}
			if job.Status != export.Ready || crashes == 0 {
				t.Fatalf("after %d crashes: %+v", crashes, job)
			}
			_, _, text := download(t, *job.URL)
			got := map[string]bool{}
			for _, r := range records(t, text)[1:] {
				got[r[0]] = true
			}
			if n := strings.Count(text, "\r\n"); n != len(want)+1 || len(got) != len(want) || job.Rows != int64(len(want)) ||
				job.Bytes != int64(len(text)) {
				t.Errorf("from call %d: %d lines, %d trips, want %d; %+v", first, n, len(got), len(want), job)
			}
		}
	}
}

// TestLateRunner: a runner that wakes up after its lease, when another has gone
// on, changes nothing.
func TestLateRunner(t *testing.T) {
	s := apptest.New(t)
	rider, token := s.Rider(t, "metro", "anna"), s.Token(t, s.Operator(t, "metro", "boss"))
	for n := range 25 {
		ride(t, s, rider, fmt.Sprintf("note %d", n))
	}
	id := quiet(t, s, token, `{"kind": "trips", "columns": ["id"]}`)
	other, clock := asleep(s, s.Runtime.Files)
	late := &crashing{Files: s.Runtime.Files, at: 1 << 30}
	runner, _ := asleep(s, late)
	late.turn = func() {
		late.turn = nil
		clock.now = clock.now.Add(3 * time.Minute)
		testkit.Must(t, other.Run(t.Context()))
	}
	testkit.Must(t, runner.Run(t.Context()))
	job := apptest.JSON[export.Job](t, s.Get(t, token, "/api/v1/exports/"+id).Must(t, 200))
	if _, _, text := download(t, *job.URL); job.Rows != 25 || len(records(t, text)) != 26 {
		t.Errorf("%+v\n%s", job, text)
	}
}

// TestRevokedWhileItRuns: a job ends when its operator loses what it needs, before
// the next slice.
func TestRevokedWhileItRuns(t *testing.T) {
	testkit.LongHere(t)
	ctx := context.Background()
	for name, revoke := range map[string]func(*testing.T, *apptest.Service, apptest.Actor){
		"the permission to export": func(t *testing.T, s *apptest.Service, op apptest.Actor) {
			_, err := person.Store{DB: s.DB}.Revoke(ctx, s.Tenant("metro"), s.By(), op.ID, "EXPORT_REPORTS")
			testkit.Must(t, err)
		},
		"the permission for the data": func(t *testing.T, s *apptest.Service, op apptest.Actor) {
			_, err := person.Store{DB: s.DB}.Revoke(ctx, s.Tenant("metro"), s.By(), op.ID, "VIEW_TRIPS")
			testkit.Must(t, err)
		},
		"the membership": func(t *testing.T, s *apptest.Service, op apptest.Actor) {
			testkit.Must(t, person.Store{DB: s.DB}.Leave(ctx, s.Tenant("metro"), s.By(), op.ID))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := apptest.New(t)
			op := s.Operator(t, "metro", "boss")
			token, rider := s.Token(t, op), s.Rider(t, "metro", "anna")
			for n := range 25 {
				ride(t, s, rider, fmt.Sprintf("note %d", n))
			}
			id := quiet(t, s, token, `{"kind": "trips"}`)
			files := &crashing{Files: s.Runtime.Files, at: 1 << 30}
			files.turn = func() { files.turn = nil; revoke(t, s, op) }
			runner, _ := asleep(s, files)
			testkit.Must(t, runner.Run(ctx))
			it, err := s.Tenant("metro").Get(ctx, export.Key(s.Tenant("metro"), id))
			testkit.Must(t, err)
			rec, err := export.Kind.FromItem(it)
			testkit.Must(t, err)
			if rec.Status != export.Failed || rec.Error == nil || len(rec.Parts) != 1 {
				t.Errorf("the job is %s with %d parts", rec.Status, len(rec.Parts))
			}
		})
	}
}

// TestNeedsTheData: an operator who may export but not read the data gets no file.
func TestNeedsTheData(t *testing.T) {
	s := apptest.New(t)
	op := s.Operator(t, "metro", "boss")
	narrow := s.Token(t, op, "tenant.reports:export", "tenant.trips:read")
	if a := s.Post(t, narrow, "/api/v1/exports", `{"kind": "customers"}`); a.Status != 403 || a.Code() != "insufficient_scope" {
		t.Errorf("without the scope: %d %s", a.Status, a.Body)
	}
	made(t, s, narrow, `{"kind": "trips"}`)
	wide := s.Token(t, op)
	_, err := person.Store{DB: s.DB}.Revoke(context.Background(), s.Tenant("metro"), s.By(), op.ID, "VIEW_CUSTOMERS")
	testkit.Must(t, err)
	if a := s.Post(t, wide, "/api/v1/exports", `{"kind": "customers"}`); a.Status != 403 || a.Code() != "forbidden" {
		t.Errorf("without the permission: %d %s", a.Status, a.Body)
	}
}

// TestEveryKind: receipts, postings and the report of a completed trip agree, in
// both formats and in a tenant with several shards.
func TestEveryKind(t *testing.T) {
	s := apptest.New(t)
	s.Change(t, "metro", func(n *tenant.Tenant) { n.ReadShards = 4 })
	s.Clock.Advance(2 * time.Minute)
	s.Change(t, "metro", func(n *tenant.Tenant) { n.WriteShards = 4 })
	token := s.Token(t, s.Operator(t, "metro", "boss"))
	rider, driver := s.Rider(t, "metro", "anna"), s.Driver(t, "metro", "dan")
	drive := s.Token(t, driver)
	for range 3 {
		s.Ride(t, s.Token(t, rider), drive, script.Ride{Notes: "n", Fare: "12.30"})
	}
	s.Drain(t)
	day := s.Clock.Now().UTC().AddDate(0, 0, -1).Format("2006-01-02")
	for kind, want := range map[string]struct {
		columns string
		rows    int
		first   string
	}{
		"trips":     {`"finalFare", "currency"`, 3, "12.3,USD"},
		"receipts":  {`"total", "paymentType"`, 3, "12.3,CASH"},
		"customers": {`"totalTrips"`, 1, "3"},
		"drivers":   {`"totalTrips", "id"`, 1, "3," + driver.ID},
		"postings":  {`"side", "actorId"`, 3, "driver," + driver.ID},
	} {
		body := fmt.Sprintf(`{"kind": %q, "from": %q, "columns": [%s]`, kind, day, want.columns)
		got := records(t, made(t, s, token, body+"}"))[1:]
		if len(got) != want.rows || strings.Join(got[0], ",") != want.first {
			t.Errorf("%s: %q", kind, got)
		}
		lines := strings.Split(strings.TrimSpace(made(t, s, token, body+`, "format": "ndjson"}`)), "\n")
		var object map[string]any
		if len(lines) != want.rows || json.Unmarshal([]byte(lines[0]), &object) != nil || len(object) != len(got[0]) {
			t.Errorf("%s as NDJSON: %q", kind, lines)
		}
	}
	revenue, trips := 0.0, 0
	for _, r := range records(t, made(t, s, token, fmt.Sprintf(
		`{"kind": "report", "from": %q, "columns": ["revenue", "COMPLETED"]}`, day)))[1:] {
		var sum float64
		var n int
		_, err := fmt.Sscan(r[0], &sum)
		testkit.Must(t, err)
		_, err = fmt.Sscan(r[1], &n)
		testkit.Must(t, err)
		revenue, trips = revenue+sum, trips+n
	}
	if trips != 3 || fmt.Sprintf("%.2f", revenue) != "36.90" {
		t.Errorf("the report has %d trips and %.2f", trips, revenue)
	}
}
