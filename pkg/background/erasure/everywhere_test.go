package erasure_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/export"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/privacy"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/webhook"
	"svc/pkg/edge/api"
)

// scan returns where in the table each of the values is: the type and key of items
// that contain it, in any form of letters.
func scan(t *testing.T, s *apptest.Service, values []string) map[string][]string {
	t.Helper()
	found, has := map[string][]string{}, finder(values)
	for _, it := range items(t, s) {
		text := flat(it)
		for _, value := range values {
			if has(text, value) {
				found[value] = append(found[value], flat(map[string]types.AttributeValue{"type": it["type"], "pk": it["pk"],
					"sk": it["sk"]}))
			}
		}
	}
	return found
}

// finder returns a function that reports whether a text contains one of the values, in any form of
// letters. Hashes and identifiers have any four characters somewhere, so a value of at most four must
// stand between others than letters and digits.
func finder(values []string) func(text, value string) bool {
	patterns := map[string]*regexp.Regexp{}
	for _, value := range values {
		pattern := regexp.QuoteMeta(value)
		if len(value) <= 4 {
			pattern = `(^|[^0-9a-z])` + pattern + `($|[^0-9a-z])`
		}
		patterns[value] = regexp.MustCompile(`(?i)` + pattern)
	}
	return func(text, value string) bool { return patterns[value].MatchString(text) }
}

// flat returns the texts, numbers and bytes of an item.
func flat(it map[string]types.AttributeValue) string {
	var b strings.Builder
	for name, value := range it {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			fmt.Fprintf(&b, "%s=%s ", name, v.Value)
		case *types.AttributeValueMemberSS:
			fmt.Fprintf(&b, "%s=%v ", name, v.Value)
		case *types.AttributeValueMemberN:
			fmt.Fprintf(&b, "%s=%s ", name, v.Value)
		case *types.AttributeValueMemberB:
			fmt.Fprintf(&b, "%s=%s ", name, v.Value)
		}
	}
	return b.String()
}

// everywhere is scan, and also reads the files and the logs.
func everywhere(t *testing.T, s *apptest.Service, values []string) map[string][]string {
	t.Helper()
	found, has := scan(t, s, values), finder(values)
	look := func(where, text string) {
		for _, value := range values {
			if has(text, value) {
				found[value] = append(found[value], where)
			}
		}
	}
	folder, logs := s.Kept()
	look("logs", logs)
	root := os.DirFS(folder)
	testkit.Must(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, path)
		look("file "+path, path+string(text))
		return err
	}))
	return found
}

// until reads a job until it has one of the statuses.
func until[J any](t *testing.T, s *apptest.Service, token, path string, status func(J) string, want ...string) J {
	t.Helper()
	for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(10 * time.Millisecond) {
		job := apptest.JSON[J](t, s.Get(t, token, path).Must(t, 200))
		if strings.Contains(strings.Join(want, " "), status(job)) {
			return job
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is %+v, want %s", path, job, want)
		}
	}
}

// brought imports a file of people, and returns the job when it is done.
func brought(t *testing.T, s *apptest.Service, token, options, file string) imports.Job {
	t.Helper()
	job := apptest.JSON[imports.Job](t, s.Post(t, token, "/api/v1/imports", options).Must(t, 201))
	if status, text := testkit.Upload(t, http.DefaultClient, *job.Upload, []byte(file)); status != 204 {
		t.Fatalf("the upload: %d %s", status, text)
	}
	return until(t, s, token, "/api/v1/imports/"+job.ID, func(j imports.Job) string { return string(j.Status) }, "DONE",
		"FAILED")
}

// made exports, and returns the job when its file is there.
func made(t *testing.T, s *apptest.Service, token, body string) export.Job {
	t.Helper()
	job := apptest.JSON[export.Job](t, s.Post(t, token, "/api/v1/exports", body).Must(t, 201))
	return until(t, s, token, "/api/v1/exports/"+job.ID, func(j export.Job) string { return string(j.Status) }, "READY",
		"FAILED")
}

// TestErasedEverywhere: stored responses to the person and to others, rows of
// imports, and files of exports, imports and copies have the person, and have not
// after the erasure. A repeated request changes nothing, before and after it.
func TestErasedEverywhere(t *testing.T) { //nolint:funlen // one story
	t.Parallel()
	s := apptest.With(t, apptest.Options{Phones: true})
	s.Change(t, "metro", func(n *tenant.Tenant) { n.Country = "DE" })
	boss := s.Token(t, s.Operator(t, "metro", "boss"))
	dan := s.Driver(t, "metro", "dan")
	driver := s.Token(t, dan)
	file := "email,phone,externalId,firstName,lastName\r\n" +
		"zw@metro.example,+49 30 901827,CRM-88121,Zwenda,Quillfeather\r\n" +
		"not an address,+49 30 901828,CRM-2,Zwenda,Broken\r\n"
	job := brought(t, s, boss, `{"kind": "customers", "key": "externalId"}`, file)
	if job.Created != 1 || job.Failed != 1 {
		t.Fatalf("the import is %+v", job)
	}
	s.Drain(t) // a booking searches for the number
	book := func() apptest.Answer {
		return s.Do(t, apptest.Request{Method: http.MethodPost, Path: "/api/v1/trips", Token: boss,
			Header: map[string]string{"Idempotency-Key": "booking-of-zw@metro.example"},
			Body: `{"phone": "+4930901827", "originAddress": "9 Basilisk Row", "originLat": 40.712345, "originLng": -74.006789,
				"notes": "bring an umbrella"}`})
	}
	trip := apptest.JSON[struct{ ID, CustomerID string }](t, book().Must(t, 201))
	brought(t, s, boss, `{"kind": "customers", "key": "phone"}`, "phone,lastName\r\n+49 30 901827,Ormsbury\r\n")
	s.Patch(t, driver, "/api/v1/me/status", `{"online": true}`).Must(t, 200)
	s.Do(t, apptest.Request{Method: http.MethodPost, Path: "/api/v1/trips/" + trip.ID + "/assign", Token: boss,
		Header: map[string]string{"Idempotency-Key": "assign"}, Body: fmt.Sprintf(`{"driverId": %q}`, dan.ID)}).Must(t, 200)
	arrive := func() apptest.Answer {
		return s.Do(t, apptest.Request{Method: http.MethodPost, Path: "/api/v1/me/trips/" + trip.ID + "/arrived",
			Token: driver, Header: map[string]string{"Idempotency-Key": "arrived"}})
	}
	arrive().Must(t, 200)
	s.Post(t, boss, "/api/v1/trips/"+trip.ID+"/cancel", `{"reason": "changed my mind entirely"}`).Must(t, 200)
	s.Drain(t)
	kept := made(t, s, boss, `{"kind": "customers"}`)
	made(t, s, boss, `{"kind": "trips", "format": "ndjson"}`)
	copyOf(t, s, boss, fmt.Sprintf(`{"kind": "export", "customerId": %q}`, trip.CustomerID))
	values := []string{"Zwenda", "Quillfeather", "Ormsbury", "30901827", "30 901827", "zw@metro.example", "CRM-88121",
		"9 Basilisk Row", "40.712345", "bring an umbrella", "changed my mind entirely"}
	before := everywhere(t, s, values)
	for _, value := range values {
		if !strings.Contains(strings.Join(before[value], " "), "file") {
			t.Errorf("no file has %q: %v", value, before[value])
		}
	}
	if !strings.Contains(strings.Join(before["9 Basilisk Row"], " "), "IDEMPOTENCY") {
		t.Errorf("no stored response has the address: %v", before["9 Basilisk Row"])
	}
	if n := len(leading(t, s, trip.CustomerID)); n != 2 {
		t.Errorf("%d rows lead an import to the person", n)
	}
	r := request(t, s, boss, fmt.Sprintf(`{"kind": "erase", "customerId": %q}`, trip.CustomerID))
	became(t, s, boss, r.ID, privacy.Ready)
	boss = s.SignIn(t, s.Operator(t, "metro", "boss")).AccessToken
	s.Post(t, boss, "/api/v1/privacy/requests/"+r.ID+"/run", "").Must(t, 200)
	became(t, s, boss, r.ID, privacy.Done)
	s.Drain(t)
	for value, where := range everywhere(t, s, values) {
		t.Errorf("after the erasure %q is in\n%s", value, strings.Join(where, "\n"))
	}
	if left := leading(t, s, trip.CustomerID); len(left) > 0 {
		t.Errorf("after the erasure an import is led to the person by %v", left)
	}
	// The retries get a 409, and nothing is done again.
	for _, again := range []apptest.Answer{book(), arrive()} {
		if again.Must(t, 409); again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("a retry got %s", again.Body)
		}
	}
	if got := apptest.JSON[export.Job](t, s.Get(t, boss, "/api/v1/exports/"+kept.ID).Must(t, 200)); got.URL != nil ||
		got.Status != export.Ready {
		t.Errorf("the export is %+v", got)
	}
	if got := apptest.JSON[imports.Job](t, s.Get(t, boss, "/api/v1/imports/"+job.ID).Must(t, 200)); got.FailedURL != nil {
		t.Errorf("the import is %+v", got)
	}
	verify(t, s)
}

// leading returns the rows that lead an import to a person.
func leading(t *testing.T, s *apptest.Service, id string) (rows []string) {
	t.Helper()
	for _, where := range scan(t, s, []string{id})[id] {
		if strings.Contains(where, "=imported ") {
			rows = append(rows, where)
		}
	}
	return rows
}

// TestErasureBesideAnExport: an export that is under way when a person is erased
// begins again, so its file does not have the person.
func TestErasureBesideAnExport(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	anna, tn := s.Rider(t, "metro", "anna"), s.Tenant("metro")
	now := s.Clock.Now()
	job, err := export.New("customers", "csv", nil, "", "", time.UTC, now)
	testkit.Must(t, err)
	job.ID, job.Status = ids.New(ids.Export, now), export.Running
	rec := export.Record{Job: job, Version: 1, Position: "p", Upload: "u", Parts: []string{"a"}, Tail: "t"}
	testkit.Must(t, tn.Load(t.Context(), export.Kind.Item(tn, "", rec)))
	testkit.Must(t, s.Runtime.Files.Put(context.Background(), rec.File(tn)+".u.part", []byte(anna.Email)))
	boss := s.Token(t, s.Operator(t, "metro", "boss"))
	r := request(t, s, boss, fmt.Sprintf(`{"kind": "erase", "customerId": %q}`, anna.ID))
	became(t, s, boss, r.ID, privacy.Ready)
	s.Post(t, boss, "/api/v1/privacy/requests/"+r.ID+"/run", "").Must(t, 200)
	became(t, s, boss, r.ID, privacy.Done)
	for value, where := range everywhere(t, s, []string{anna.Email}) {
		t.Errorf("after the erasure %q is in\n%s", value, strings.Join(where, "\n"))
	}
	it, err := tn.Get(t.Context(), export.Key(tn, job.ID))
	testkit.Must(t, err)
	got, err := export.Kind.FromItem(it)
	if err != nil || got.Upload+got.Position+got.Tail != "" || got.Done() {
		t.Errorf("the export is %+v, %v", got, err)
	}
}

// TestErasureOfResponsesOfManyActors: every actor's stored responses are searched,
// however many actors and responses there are.
func TestErasureOfResponsesOfManyActors(t *testing.T) {
	testkit.LongHere(t)
	t.Parallel()
	s := apptest.New(t)
	anna, tn := s.Rider(t, "metro", "anna"), s.Tenant("metro")
	var actors []string
	for n := range 3 {
		actors = append(actors, s.Operator(t, "metro", fmt.Sprint("op", n)).ID)
	}
	var stored []table.Item
	for n := range 700 {
		key := api.AnswerKey(tn, actors[n%3], fmt.Sprint(n))
		stored = append(stored, table.Item{Key: key, Type: "idempotency", Attrs: map[string]any{"status": 200,
			"fingerprint": "f", "body": fmt.Sprintf(`{"customerId":%q,"notes":"Wyvern %d"}`, anna.ID, n)}})
	}
	testkit.Must(t, tn.Load(t.Context(), stored...))
	boss := s.Token(t, s.Operator(t, "metro", "boss"))
	r := request(t, s, boss, fmt.Sprintf(`{"kind": "erase", "customerId": %q}`, anna.ID))
	became(t, s, boss, r.ID, privacy.Ready)
	s.Post(t, boss, "/api/v1/privacy/requests/"+r.ID+"/run", "").Must(t, 200)
	became(t, s, boss, r.ID, privacy.Done)
	if left := scan(t, s, []string{"Wyvern"}); len(left) > 0 {
		t.Errorf("%d responses are left", len(left["Wyvern"]))
	}
}

// TestErasedSubscriptions: a copy has the subscriptions of the person's agents without
// their secrets, and an erasure deletes them.
func TestErasedSubscriptions(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	anna, tn := s.Rider(t, "metro", "anna"), s.Tenant("metro")
	key, now := webhook.BookKey(tn, anna.ID), s.Clock.Now()
	one, err := webhook.New("https://wyvern.example/hook", "", nil, anna.ID, now, false)
	testkit.Must(t, err)
	one.Secret = []byte("sealed")
	one.Subscription = &webhook.Subscription{RefreshBefore: timestamp.Format(now.Add(time.Hour))}
	it := webhook.Kind.Item(tn, "", webhook.Book{Endpoints: []webhook.Record{one}})
	it.Key = key
	testkit.Must(t, tn.Load(t.Context(), it))
	boss := s.Token(t, s.Operator(t, "metro", "boss"))
	text := copyOf(t, s, boss, fmt.Sprintf(`{"kind": "export", "customerId": %q}`, anna.ID))
	if !strings.Contains(text, "wyvern.example") || strings.Contains(text, "secret") {
		t.Errorf("the copy is %s", text)
	}
	r := request(t, s, boss, fmt.Sprintf(`{"kind": "erase", "customerId": %q}`, anna.ID))
	became(t, s, boss, r.ID, privacy.Ready)
	s.Post(t, boss, "/api/v1/privacy/requests/"+r.ID+"/run", "").Must(t, 200)
	became(t, s, boss, r.ID, privacy.Done)
	for value, where := range everywhere(t, s, []string{"wyvern"}) {
		t.Errorf("after the erasure %q is in\n%s", value, strings.Join(where, "\n"))
	}
}
