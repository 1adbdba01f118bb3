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
	"strings"
	"testing"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/app/apptest"
	"svc/pkg/background/jobs"
	"svc/pkg/data/audit"
	"svc/pkg/domain/export"
	"svc/pkg/domain/person"
	"svc/pkg/local/testkit"
)

// ride adds a trip whose notes are the text.
func ride(t *testing.T, s *apptest.Service, rider apptest.Actor, notes string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"originAddress": "12 Harbour Street, \"B\"", "originLat": 40.7, "originLng": -74,
		"notes": notes})
	testkit.Must(t, err)
	return apptest.JSON[struct{ ID string }](t,
		s.Post(t, s.Token(t, rider), "/api/v1/me/trips", string(body)).Must(t, 201)).ID
}

// finished reads an export until it is done.
func finished(t *testing.T, s *apptest.Service, token, id string) export.Job {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
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
	notes := []string{"Ring twice", "=1+1", "a;=cmd|' /C calc'!A0;b", "line one\nline two, \"quoted\"", "+1 212 555 0181", "ü€😀"}
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

var _ = []any{fmt.Sprint, errors.New, authz.Rider, jobs.ErrParts, person.Store{}}
