package jobs_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/background/jobs"
	"svc/pkg/base/fault"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/person"
	"svc/pkg/edge/api"
	"svc/pkg/local/files"
)

func beginImport(t *testing.T, s *apptest.Service, token, body string) imports.Job {
	t.Helper()
	job := apptest.JSON[imports.Job](t, s.Post(t, token, "/api/v1/imports", body).Must(t, 201))
	if job.Upload == nil || job.Status != imports.Waiting {
		t.Fatalf("a new import is %+v", job)
	}
	return job
}

func importDone(t *testing.T, s *apptest.Service, token, id string) imports.Job {
	t.Helper()
	for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(10 * time.Millisecond) {
		job := apptest.JSON[imports.Job](t, s.Get(t, token, "/api/v1/imports/"+id).Must(t, 200))
		if job.Status == imports.Done || job.Status == imports.Failed || time.Now().After(deadline) {
			return job
		}
	}
}

func imported(t *testing.T, s *apptest.Service, token, body string, file []byte) imports.Job {
	t.Helper()
	job := beginImport(t, s, token, body)
	if status, text := testkit.Upload(t, http.DefaultClient, *job.Upload, file); status != 204 {
		t.Fatalf("the upload: %d %s", status, text)
	}
	return importDone(t, s, token, job.ID)
}

func counts(job imports.Job) string {
	return fmt.Sprintf("%s %d/%d/%d/%d", job.Status, job.Created, job.Updated, job.Unchanged, job.Failed)
}

func utf16le(text string) []byte {
	out := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(text)) {
		out = binary.LittleEndian.AppendUint16(out, unit)
	}
	return out
}

func latin1(t *testing.T, text string) []byte {
	t.Helper()
	out, err := charmap.Windows1252.NewEncoder().String(text)
	testkit.Must(t, err)
	return []byte(out)
}

// TestImportOfTheWorldsFiles: files as eleven programs and locales write them. Each
// is imported twice; the second time nothing changes.
func TestImportOfTheWorldsFiles(t *testing.T) {
	testkit.LongHere(t)
	s := apptest.New(t)
	token := s.Token(t, s.Operator(t, "metro", "boss"))
	for i, tt := range []struct{ program, options, file, wrong string }{
		{"Excel, English", "", "First Name,Last Name,Email,Phone\r\n" +
			"Jürgen,\"O'Neil, Jr\",$@metro.example,+1 212 555 0181\r\n", ""},
		{"Excel, CSV UTF-8", "", "\ufeffFirst Name,Last Name,E-mail\r\nJürgen,Öz,$@metro.example\r\n", ""},
		{"Excel, German", `,"encoding":"latin1"`, "Vorname;Nachname;E-Mail;Telefon\r\nJürgen;Öz;$@metro.example;030 1234567\r\n", ""},
		{"Excel, German, encoding not named", "", "Vorname;Nachname;E-Mail\r\nJürgen;Öz;$@metro.example\r\n", "encoding"},
		{"Excel, French", "", "\ufeffPrénom;Nom;Courriel;Téléphone\r\nJürgen;x;$@metro.example;06 12 34 56 78\r\n", ""},
		{"Excel, Unicode text", "", "Email\tName\r\n$@metro.example\tJürgen Öz\r\n", ""},
		{"Google Sheets", "", "Name,Email\r\n\"Öz, Jürgen\",$@metro.example", ""},
		{"LibreOffice, tab", "", "Email\tName\tNote\n$@metro.example\tJürgen Öz\tnothing\n", ""},
		{"Numbers, Spanish", "", "Nombre;Apellidos;Correo\nJürgen;Öz;$@metro.example\n", ""},
		{"a file with sep=", "", "sep=;\r\nEmail;Name\r\n$@metro.example;Jürgen Öz\r\n", ""},
		{"Airtable, old line breaks within cells", "", "Name,Email,Notes\n" +
			"\"Jürgen Öz\",$@metro.example,\"one\ntwo \"\"quoted\"\"\"\n\n\n", ""},
		{"another company's export", `,"format":"ndjson"`, "{\"email\":\"$@metro.example\",\"full_name\":\"Jürgen Öz\",\"age\":[1]}\n", ""},
	} {
		t.Run(tt.program, func(t *testing.T) {
			file := []byte(strings.ReplaceAll(tt.file, "$", fmt.Sprint("p", i)))
			switch {
			case strings.Contains(tt.program, "German"):
				file = latin1(t, string(file))
			case strings.Contains(tt.program, "Unicode text"):
				file = utf16le(string(file))
			}
			body := `{"kind":"customers"` + tt.options + `}`
			first := imported(t, s, token, body, file)
			if tt.wrong != "" {
				all := apptest.JSON[api.Page[imports.Fault]](t,
					s.Get(t, token, "/api/v1/imports/"+first.ID+"/errors").Must(t, 200))
				if counts(first) != "DONE 0/0/0/1" || len(all.Items) != 1 || all.Items[0].Code != tt.wrong ||
					all.Items[0].Line != 2 {
					t.Errorf("%s %+v", counts(first), all.Items)
				}
				return
			}
			again := imported(t, s, token, body, file)
			if counts(first) != "DONE 1/0/0/0" || counts(again) != "DONE 0/0/1/0" {
				t.Fatalf("%s, then %s", counts(first), counts(again))
			}
			r, err := customer.Store.Find(t.Context(), s.Tenant("metro"), fmt.Sprintf("p%d@metro.example", i))
			testkit.Must(t, err)
			if r.FirstName != "Jürgen" || r.LastName == "" {
				t.Errorf("the customer is %+v", r)
			}
		})
	}
}

// TestImportOfFaults: good rows are imported, the others come back as a file to mend
// and send again.
func TestImportOfFaults(t *testing.T) {
	s := apptest.New(t)
	token := s.Token(t, s.Operator(t, "metro", "boss"))
	file := "externalId,email,name,phone\n" +
		"1,a1@metro.example,Ann One,+1 212 555 0181\n" +
		"2,a2@metro.example,=1+1,\n" +
		"3,no address,Bob,\n" +
		"1,a4@metro.example,Twice,\n" +
		",a5@metro.example,No Key,\n" +
		"6,a6@metro.example,\"Open\"x,\n" +
		"7,a1@metro.example,Somebody Else,\n" +
		"8,a8@metro.example,Too,many,cells\n" +
		"9,a9@metro.example,Nina \"Nine\",1.2126E+10\n" +
		"10,a10@metro.example,'=1+1,\n" +
		"11,a11@metro.example,\"cut"
	job := imported(t, s, token, `{"kind":"customers","key":"externalId"}`, []byte(file))
	all := apptest.JSON[api.Page[imports.Fault]](t, s.Get(t, token, "/api/v1/imports/"+job.ID+"/errors").Must(t, 200))
	var got []string
	for _, f := range all.Items {
		got = append(got, fmt.Sprint(f.Row, f.Line, " ", f.Column, " ", f.Code))
	}
	want := "2 3 name formula, 3 4 email invalid, 4 5 externalId duplicate, 5 6 externalId required, 6 7  cells, " +
		"7 8 email taken, 8 9  cells, 9 10  cells, 11 12  cells"
	if counts(job) != "DONE 2/0/0/9" || strings.Join(got, ", ") != want || job.FailedURL == nil {
		t.Fatalf("%s\n%s\n%s", counts(job), strings.Join(got, ", "), want)
	}
	_, _, failed := download(t, *job.FailedURL)
	if lines := strings.Split(strings.TrimSpace(failed), "\n"); len(lines) != 10 ||
		lines[0] != "externalId,email,name,phone" || lines[2] != "3,no address,Bob," {
		t.Errorf("the failed rows:\n%s", failed)
	}
	r, err := customer.Store.Find(t.Context(), s.Tenant("metro"), "a10@metro.example")
	testkit.Must(t, err)
	if r.Name != "=1+1" || r.ExternalID != "10" {
		t.Errorf("the customer is %+v", r)
	}
	mended := imported(t, s, token, `{"kind":"customers","key":"externalId"}`,
		[]byte("externalId,email,name\n1,,Ann Two\n3,a3@metro.example,Bob\n"))
	if counts(mended) != "DONE 1/1/0/0" {
		t.Error(counts(mended))
	}
	// Whoever may import must not take over an account by its mail address.
	moved := imported(t, s, token, `{"kind":"customers","key":"externalId"}`,
		[]byte("externalId,email,name\n1,a1b@metro.example,\n"))
	if counts(moved) != "DONE 0/0/0/1" {
		t.Error(counts(moved))
	}
	metro := s.Tenant("metro")
	if _, err := customer.Store.Find(t.Context(), metro, "a1b@metro.example"); !errors.Is(err, fault.NotFound()) {
		t.Errorf("the moved account: %v", err)
	}
	if r, err := customer.Store.Find(t.Context(), metro, "a1@metro.example"); err != nil || r.Name != "Ann Two" {
		t.Errorf("%+v %v", r, err)
	}
}

// TestImportIsBounded: files that would need much memory or time end with a clear
// error.
func TestImportIsBounded(t *testing.T) {
	testkit.LongHere(t)
	s := apptest.New(t)
	token := s.Token(t, s.Operator(t, "metro", "boss"))
	many := bytes.Repeat([]byte("x,not an address\n"), 1500)
	for name, tt := range map[string]struct{ file, want string }{
		"empty workbook":    {"PK\x03\x04" + strings.Repeat("\x00", 100), "workbook"},
		"gzip":              {"\x1f\x8b\x08" + strings.Repeat("\x00", 100), "compressed"},
		"a million columns": {"email" + strings.Repeat(",x", 1_000_000) + "\na@metro.example\n", "at most 1,000"},
		"a row without end": {"email,name\na@metro.example,\"" + strings.Repeat("x", 1_000_000), "quotation mark"},
		"a million cells":   {"email,name\na@metro.example,x" + strings.Repeat(",", 1_000_000) + "\n", "64 KB"},
		"no key":            {"name\nAnn\n", "no column email"},
		"twice":             {"email,e-mail\n", "Two columns"},
		"only a header":     {"email,name\r\n", "no rows"},
		"too many rows":     {"email\n" + strings.Repeat("a\n", 100_001), "1,000 faults"},
		"too many faults":   {"name,email\n" + string(many), "1,000 faults"},
	} {
		t.Run(name, func(t *testing.T) {
			job := imported(t, s, token, `{"kind":"customers"}`, []byte(tt.file))
			if job.Status != imports.Failed || job.Error == nil || !strings.Contains(*job.Error, tt.want) {
				t.Errorf("%s %v", counts(job), job.Error)
			}
		})
	}
	job := beginImport(t, s, token, `{"kind":"customers"}`)
	large := make([]byte, imports.MaxBytes+1)
	if status, text := testkit.Upload(t, http.DefaultClient, *job.Upload, large); status != 400 ||
		!strings.Contains(text, "50000000") {
		t.Errorf("a file that is too large: %d %s", status, text)
	}
}

// TestImportBelongsToItsOperator: nobody else sees the job, and its address takes no
// other file, no larger one, and none when it has expired.
func TestImportBelongsToItsOperator(t *testing.T) {
	s := apptest.New(t)
	token := s.Token(t, s.Operator(t, "metro", "boss"))
	job := beginImport(t, s, token, `{"kind":"drivers"}`)
	nobody := "imp_" + strings.Repeat("0", 26)
	for _, op := range []apptest.Actor{s.Operator(t, "harbor", "boss"), s.Operator(t, "metro", "other")} {
		other := s.Token(t, op)
		for _, path := range []string{"", "/errors"} {
			a, b := s.Get(t, other, "/api/v1/imports/"+job.ID+path), s.Get(t, other, "/api/v1/imports/"+nobody+path)
			if a.Status != 404 || !bytes.Equal(a.Body, b.Body) {
				t.Errorf("%s of %s: %d %s, and %s", op.ID, op.Tenant, a.Status, a.Body, b.Body)
			}
		}
		if list := s.Get(t, other, "/api/v1/imports").Must(t, 200); strings.Contains(string(list.Body), job.ID) {
			t.Errorf("the list of %s shows the import", op.ID)
		}
	}
	for field, value := range map[string]string{"key": strings.Replace(job.Upload.Fields["key"], "imp_", "imp_0", 1),
		"most": "99999999999", "until": "9999999999", "signature": strings.Repeat("0", 64)} {
		forged := api.Upload{URL: job.Upload.URL, Fields: map[string]string{}}
		for k, v := range job.Upload.Fields {
			forged.Fields[k] = v
		}
		forged.Fields[field] = value
		if status, text := testkit.Upload(t, http.DefaultClient, forged, []byte("email\n")); status != 403 {
			t.Errorf("another %s: %d %s", field, status, text)
		}
	}
	s.Clock.Advance(16 * time.Minute)
	status, text := testkit.Upload(t, http.DefaultClient, *job.Upload, []byte("email\n"))
	if status != 403 || !strings.Contains(text, "expired") {
		t.Errorf("an expired address: %d %s", status, text)
	}
}

// TestImportsAtOnce: two imports of the same people at once create each person once,
// and every row is counted.
func TestImportsAtOnce(t *testing.T) {
	testkit.LongHere(t)
	s := apptest.New(t)
	token := s.Token(t, s.Operator(t, "metro", "boss"))
	var file strings.Builder
	file.WriteString("email,name\n")
	for i := range 200 {
		fmt.Fprintf(&file, "at%d@metro.example,Person %d\n", i, i)
	}
	var two [2]imports.Job
	for i := range two {
		two[i] = beginImport(t, s, token, `{"kind":"customers"}`)
	}
	var wait sync.WaitGroup
	for i := range two {
		testkit.Upload(t, http.DefaultClient, *two[i].Upload, []byte(file.String()))
		wait.Go(func() { _ = s.Runtime.Scheduled()["JobsFunction"](context.Background()) })
	}
	wait.Wait()
	a, b := importDone(t, s, token, two[0].ID), importDone(t, s, token, two[1].ID)
	if a.Created+b.Created != 200 || a.Unchanged+b.Unchanged != 200 || a.Failed+b.Failed+a.Updated+b.Updated != 0 {
		t.Errorf("%s and %s", counts(a), counts(b))
	}
}

// TestRevokedImport: an import stops when its operator loses the permission.
func TestRevokedImport(t *testing.T) {
	s := apptest.New(t)
	op := s.Operator(t, "metro", "boss")
	token := s.Token(t, op)
	job := beginImport(t, s, token, `{"kind":"customers"}`)
	_, err := person.Store{DB: s.DB}.Revoke(t.Context(), s.Tenant("metro"), s.By(), op.ID, "CREATE_CUSTOMERS")
	testkit.Must(t, err)
	testkit.Upload(t, http.DefaultClient, *job.Upload, []byte("email,name\nr1@metro.example,Ann One\n"))
	if got := importDone(t, s, token, job.ID); got.Status != imports.Failed || got.Created != 0 ||
		!strings.Contains(*got.Error, "may not do it any more") {
		t.Errorf("%s %v", counts(got), got.Error)
	}
}

// TestImportOfAddresses: addresses go to customers who exist, with decimal commas if
// they are named, and drivers come with their cars.
func TestImportOfAddresses(t *testing.T) {
	s := apptest.New(t)
	token := s.Token(t, s.Operator(t, "metro", "boss"))
	imported(t, s, token, `{"kind":"customers"}`, []byte("email,name\nhome@metro.example,Ann Home\n"))
	file := []byte("email;address;lat;lng;label\nhome@metro.example;Hafenstraße 12;40,7128;-74,006;Home\n" +
		"nobody@metro.example;Nowhere;1;2;\n")
	if got := imported(t, s, token, `{"kind":"addresses"}`, file); counts(got) != "DONE 0/0/0/2" {
		t.Error(counts(got))
	}
	comma := `{"kind":"addresses","decimal":"comma"}`
	if got := imported(t, s, token, comma, file); counts(got) != "DONE 1/0/0/1" {
		t.Error(counts(got))
	}
	if got := imported(t, s, token, comma, file); counts(got) != "DONE 0/0/1/1" {
		t.Error(counts(got))
	}
	cars := []byte("email,name,plate,model\ncar@metro.example,Dan Road,NYC-1,Volvo V60\n")
	if got := imported(t, s, token, `{"kind":"drivers","mode":"validate"}`, cars); counts(got) != "DONE 1/0/0/0" {
		t.Error(counts(got))
	}
	if got := imported(t, s, token, `{"kind":"drivers"}`, cars); counts(got) != "DONE 1/0/0/0" {
		t.Error(counts(got))
	}
}

// dying is a store whose calls fail, one after a few others, as if the process had
// ended there.
type dying struct {
	jobs.Files
	calls, at int
}

var errDied = errors.New("killed")

func (d *dying) die() error {
	if d.calls++; d.calls >= d.at {
		d.calls, d.at = 0, d.at%6+2
		return errDied
	}
	return nil
}

func (d *dying) Stat(ctx context.Context, file string) (int64, string, error) {
	size, tag, err := d.Files.Stat(ctx, file)
	return size, tag, cmp.Or(err, d.die())
}

func (d *dying) Range(ctx context.Context, file, tag string, from, n int64) ([]byte, error) {
	text, err := d.Files.Range(ctx, file, tag, from, min(n, 2000))
	return text, cmp.Or(err, d.die())
}

func (d *dying) Put(ctx context.Context, file string, content []byte) error {
	return cmp.Or(d.Files.Put(ctx, file, content), d.die())
}

// TestImportKilledAnywhere: an import that was killed goes on, and counts every row
// once.
func TestImportKilledAnywhere(t *testing.T) {
	testkit.LongHere(t)
	s := apptest.New(t)
	token := s.Token(t, s.Operator(t, "metro", "boss"))
	var file strings.Builder
	file.WriteString("email,name,note\n")
	for i := range 120 {
		fmt.Fprintf(&file, "killed%d@metro.example,Person,\"line\n%d\"\n", i, i)
		if i%30 == 0 {
			file.WriteString("nobody,Nobody,\n")
		}
	}
	job := quietly[imports.Job](t, s, token, "/api/v1/imports", `{"kind":"customers"}`, imports.Rows())
	store := s.Runtime.Files.(*files.Folder)
	store.Received = nil // the service's own runner does not see the file
	testkit.Upload(t, http.DefaultClient, *job.Upload, []byte(file.String()))
	d := &dying{Files: store, at: 1}
	runner, clock := asleep(s, d)
	runner.Time = time.Nanosecond
	crashes := 0
	for runner.Run(t.Context()) != nil {
		if crashes++; crashes > 300 {
			t.Fatal("the import does not end")
		}
		clock.now = clock.now.Add(3 * time.Minute) // the lease ends
	}
	got := importDone(t, s, token, job.ID)
	if counts(got) != "DONE 120/0/0/4" || crashes < 5 || got.Rows != 124 {
		t.Fatalf("after %d crashes: %s %v", crashes, counts(got), got.Error)
	}
	_, _, failed := download(t, *got.FailedURL)
	if failed != "email,name,note\n"+strings.Repeat("nobody,Nobody,\n", 4) {
		t.Errorf("the failed rows: %q", failed)
	}
}

// TestImportOfAReplacedFile: the rows come from the file that was validated, or from
// none.
func TestImportOfAReplacedFile(t *testing.T) {
	s := apptest.New(t)
	token := s.Token(t, s.Operator(t, "metro", "boss"))
	job := quietly[imports.Job](t, s, token, "/api/v1/imports", `{"kind":"customers"}`, imports.Rows())
	store := s.Runtime.Files.(*files.Folder)
	store.Received = nil
	testkit.Upload(t, http.DefaultClient, *job.Upload, []byte("email,name\none@metro.example,One\n"))
	runner, _ := asleep(s, &replacing{Files: store, then: func() {
		testkit.Upload(t, http.DefaultClient, *job.Upload, []byte("email,name\ntwo@metro.example,Two\n"))
	}})
	runner.Time = time.Nanosecond
	testkit.Must(t, runner.Run(t.Context()))
	if got := importDone(t, s, token, job.ID); got.Status != imports.Failed || !strings.Contains(*got.Error, "replaced") {
		t.Errorf("%s %v", counts(got), got.Error)
	}
}

// replacing calls then after the first look at the file.
type replacing struct {
	jobs.Files
	then func()
}

func (r *replacing) Stat(ctx context.Context, file string) (int64, string, error) {
	size, tag, err := r.Files.Stat(ctx, file)
	if r.then != nil && err == nil {
		r.then()
		r.then = nil
	}
	return size, tag, err
}
