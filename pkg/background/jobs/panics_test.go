package jobs_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/background/jobs"
	"svc/pkg/base/phone"
	"svc/pkg/base/phone/plans"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/imports"
	"svc/pkg/edge/api"
)

// TestImportOfTimesThatAreNone: what other programs write for an empty cell, and for a
// time without a date, is a fault of its row. The other rows are imported.
func TestImportOfTimesThatAreNone(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	boss := s.Token(t, s.Operator(t, "metro", "boss"))
	anna := s.Rider(t, "metro", "anna")
	times := []string{"0001-01-01T00:00:00", "0001-01-01T00:00:00Z", "1753-01-01", "1899-12-30 08:00",
		"1900-01-01T00:00:00",
		"1969-12-31T23:59:59Z", "9999-12-31T23:59:59", "0001-01-01T00:00:00+23:59"}
	var csv, lines strings.Builder
	csv.WriteString("email,tripId,requestedAt,completedAt,originAddress,originLat,originLng,fare\r\n")
	row := func(n int, requested, completed string) {
		fmt.Fprintf(&csv, "%s,R-%d,%s,%s,1 Old Street,40.7,-74,10.25\r\n", anna.Email, n, requested, completed)
		fmt.Fprintf(&lines, `{"email":%q,"tripId":"N-%d","requestedAt":%q,"completedAt":%q,"originAddress":"1 Old Street",`+
			`"originLat":40.7,"originLng":-74,"fare":10.25}`+"\n", anna.Email, n, requested, completed)
	}
	for n, at := range times {
		row(n, at, "2024-03-01T09:00:00Z")
		row(100+n, "2024-03-01T08:00:00Z", at)
	}
	row(200, "2024-03-01T08:00:00Z", "2024-03-01T09:00:00Z")
	row(201, "1970-01-02T08:00:00Z", "1970-01-02T09:00:00Z")
	for format, file := range map[string]string{"csv": csv.String(), "ndjson": lines.String()} {
		job := imported(t, s, boss, `{"kind": "trips", "format": "`+format+`"}`, []byte(file))
		if want := fmt.Sprintf("DONE 2/0/0/%d", 2*len(times)); counts(job) != want {
			t.Errorf("%s: %s, want %s; %v", format, counts(job), want, job.Error)
		}
		all := apptest.JSON[api.Page[imports.Fault]](t, s.Get(t, boss, "/api/v1/imports/"+job.ID+"/errors?limit=100").
			Must(t, 200))
		for _, f := range all.Items {
			if f.Column != "requestedAt" && f.Column != "completedAt" || f.Code != "invalid" {
				t.Errorf("%s: %+v", format, f)
			}
		}
	}
	s.Drain(t)
}

// panicking reads phones, and panics at one from its given reading on.
type panicking struct {
	from int
	mu   sync.Mutex
	read int
}

const poison = "+12125550199"

func (p *panicking) phone(typed, country string) *phone.Number {
	p.mu.Lock()
	defer p.mu.Unlock()
	if typed == poison {
		if p.read++; p.read >= p.from {
			panic("no number: " + typed)
		}
	}
	return plans.Read(typed, country)
}

// TestPanickingRow: a row with which the work panics, whether it is checked or applied,
// is a fault. Nothing of it is written, and the other rows are.
func TestPanickingRow(t *testing.T) {
	t.Parallel()
	for _, n := range testkit.Sample(t, 3) {
		from := n + 1
		t.Run(fmt.Sprint("at reading ", from), func(t *testing.T) {
			s := apptest.New(t)
			boss := s.Token(t, s.Operator(t, "metro", "boss"))
			job := quietly[imports.Job](t, s, boss, "/api/v1/imports", `{"kind": "customers"}`, imports.Rows())
			file := "email,name,phone\r\n"
			for n := range 6 {
				number := fmt.Sprintf("+1212555018%d", n)
				if n == 3 {
					number = poison
				}
				file += fmt.Sprintf("p%d@metro.example,Pia %d,%s\r\n", n, n, number)
			}
			testkit.Must(t, s.Runtime.Files.Put(t.Context(), imports.Record{Import: job}.File(s.Tenant("metro")), []byte(file)))
			runner, _ := asleep(s, s.Runtime.Files)
			runner.Phones = (&panicking{from: from}).phone
			testkit.Must(t, runner.Run(t.Context()))
			done := importDone(t, s, boss, job.ID)
			if counts(done) != "DONE 5/0/0/1" {
				t.Fatalf("%s %v", counts(done), done.Error)
			}
			for n := range 6 {
				_, err := customer.Store.Find(t.Context(), s.Tenant("metro"), fmt.Sprintf("p%d@metro.example", n))
				if (err == nil) != (n != 3) {
					t.Errorf("row %d: %v", n, err)
				}
			}
		})
	}
}

// blocking holds the reads of a tenant's files until it is told.
type blocking struct {
	jobs.Files
	tenant string
	held   chan struct{}
}

func (b blocking) Range(ctx context.Context, file, tag string, from, n int64) ([]byte, error) {
	if strings.Contains(file, b.tenant) {
		select {
		case <-b.held:
		case <-ctx.Done():
		}
	}
	return b.Files.Range(ctx, file, tag, from, n)
}

// TestCompaniesTakeTurns: the jobs of one company that take long do not hold up those
// of another, even those begun after them.
func TestCompaniesTakeTurns(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	tokens, people := map[string]string{}, []byte("email,name\r\n")
	for n := range 60 {
		people = fmt.Appendf(people, "q%d@place.example,Quinn %d\r\n", n, n)
	}
	begin := func(slug string) string {
		if tokens[slug] == "" {
			tokens[slug] = s.Token(t, s.Operator(t, slug, "boss"))
		}
		job := quietly[imports.Job](t, s, tokens[slug], "/api/v1/imports", `{"kind": "customers"}`, imports.Rows())
		testkit.Must(t, s.Runtime.Files.Put(t.Context(), imports.Record{Import: job}.File(s.Tenant(slug)), people))
		return job.ID
	}
	slow := []string{begin("metro"), begin("metro"), begin("metro")}
	quick := begin("harbor")
	files := blocking{s.Runtime.Files, s.Tenant("metro").ID(), make(chan struct{})}
	runner, _ := asleep(s, files)
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(t.Context()) }()
	status := func(slug, id string) imports.Status {
		return apptest.JSON[imports.Job](t, s.Get(t, tokens[slug], "/api/v1/imports/"+id).Must(t, 200)).Status
	}
	wait := func(slug, id, what string) {
		deadline := time.Now().Add(testkit.Patience)
		for ; status(slug, id) != imports.Done; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("waited in vain for %s", what)
			}
		}
	}
	wait("harbor", quick, "harbor's import while metro's hang")
	later := begin("harbor")
	wait("harbor", later, "harbor's import that began while metro's hang")
	for _, id := range slow {
		if got := status("metro", id); got == imports.Done {
			t.Errorf("%s is %s although its file hangs", id, got)
		}
	}
	close(files.held)
	testkit.Must(t, <-ended)
	for _, id := range slow {
		wait("metro", id, "metro's imports")
	}
}

// TestManyColumns: a file with more than 1,000 columns is refused, whatever they are
// called, and so is a line of NDJSON.
func TestManyColumns(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	boss := s.Token(t, s.Operator(t, "metro", "boss"))
	for n, tt := range []struct {
		name, format, file, want string
	}{
		{"blank headings", "csv", "email,name" + strings.Repeat(",", 60_000) + "\r\nc0@metro.example,Cleo\r\n",
			"FAILED 0/0/0/0"},
		{"headings of one letter", "csv", "email,name" + strings.Repeat(",x", 999) + "\r\nc0@metro.example,Cleo\r\n",
			"FAILED 0/0/0/0"},
		{"1,000 columns", "csv", "email,name" + strings.Repeat(",x", 998) + "\r\nc0@metro.example,Cleo\r\n", "DONE 1/0/0/0"},
		{"members", "ndjson", `{"email":"c1@metro.example","name":"Cleo"` + members(999) + "}\n", "DONE 0/0/0/1"},
		{"1,000 members", "ndjson", `{"email":"c1@metro.example","name":"Cleo"` + members(998) + "}\n", "DONE 1/0/0/0"},
	} {
		job := imported(t, s, boss, `{"kind": "customers", "format": "`+tt.format+`"}`, []byte(tt.file))
		if counts(job) != tt.want || job.Status == imports.Failed && !strings.Contains(*job.Error, "1,000") {
			t.Errorf("%d %s: %s, want %s; %v", n, tt.name, counts(job), tt.want, job.Error)
		}
	}
}

func members(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, `,"m%d":1`, i)
	}
	return out.String()
}
