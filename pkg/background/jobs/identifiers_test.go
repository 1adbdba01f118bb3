package jobs_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/base/ids"
	"svc/pkg/domain/imports"
)

// meeting are identifiers that a program, a path or a table could take for one another.
var meeting = []string{"A-1", "a-1", "A 1", "A+1", "A%201", "A%2B1", "A/1", "A%2F1", "A//1", "..1", "1..", "...", "é",
	"e\u0301", "ß", "SS", "İ", "i", "null", "0", "00", `"`, `\`, "A\u200b1", "👍", strings.Repeat("界", 128)}

// peopleFile returns a file with one new person for each identifier.
func peopleFile(t *testing.T, external []string) []byte {
	t.Helper()
	var file bytes.Buffer
	w := csv.NewWriter(&file)
	testkit.Must(t, w.Write([]string{"email", "externalId", "firstName"}))
	for _, id := range external {
		testkit.Must(t, w.Write([]string{strings.ToLower(ids.Code()+ids.Code()) + "@people.example", id, "Ann"}))
	}
	w.Flush()
	return file.Bytes()
}

// invited makes a person with the identifier.
func invited(t testing.TB, s *apptest.Service, token, kind, external string) apptest.Answer {
	body, err := json.Marshal(map[string]string{"email": strings.ToLower(ids.Code()+ids.Code()) + "@people.example",
		"firstName": "Bob", "externalId": external})
	testkit.Must(t, err)
	return s.Post(t, token, "/api/v1/"+kind, string(body))
}

// TestIdentifiersMeet: imports and the API meet with the same identifiers, in two kinds of
// records and two companies, and at once. Each identifier has one record of a kind and company,
// and who comes later learns which. The same file again changes nothing.
func TestIdentifiersMeet(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	for _, slug := range []string{"metro", "harbor"} {
		boss := s.Token(t, s.Operator(t, slug, "boss"))
		for _, kind := range []string{"customers", "drivers"} {
			job := `{"kind": "` + kind + `"}`
			holders := map[string]string{}
			for n, external := range meeting {
				if n%2 == 0 {
					holders[external] = apptest.JSON[struct{ ID string }](t, invited(t, s, boss, kind, external).Must(t, 201)).ID
				}
			}
			half := len(holders)
			file := peopleFile(t, meeting)
			want := fmt.Sprintf("DONE %d/0/0/%d", len(meeting)-half, half)
			first := imported(t, s, boss, job, file)
			if counts(first) != want {
				t.Fatalf("%s of %s: %s, want %s", kind, slug, counts(first), want)
			}
			faults := string(s.Get(t, boss, "/api/v1/imports/"+first.ID+"/errors?limit=200").Must(t, 200).Body)
			for _, id := range holders {
				if !strings.Contains(faults, id) {
					t.Errorf("no fault names %s: %s", id, faults)
				}
			}
			want = fmt.Sprintf("DONE 0/0/%d/%d", len(meeting)-half, half)
			if again := imported(t, s, boss, job, file); counts(again) != want {
				t.Errorf("the same file again: %s, want %s", counts(again), want)
			}
			for _, external := range meeting {
				one := s.Get(t, boss, "/api/v1/"+kind+"/external/"+url.PathEscape(external)).Must(t, 200)
				got := apptest.JSON[struct{ ID, ExternalID string }](t, one)
				if got.ExternalID != external || holders[external] != "" && holders[external] != got.ID {
					t.Errorf("%q leads to %+v", external, got)
				}
				twice := invited(t, s, boss, kind, external)
				if twice.Status != 409 || !strings.Contains(string(twice.Body), got.ID) {
					t.Errorf("%q again: %d %s", external, twice.Status, twice.Body)
				}
			}
			for _, bad := range []string{".", "..", " A-1", "A-1 ", "\u00a0A-1", "A\u00071", strings.Repeat("x", 129)} {
				invited(t, s, boss, kind, bad).Must(t, 400)
			}
			oneWins(t, s, boss, kind)
		}
	}
}

// oneWins lets an import and requests claim the same identifiers at once.
func oneWins(t *testing.T, s *apptest.Service, boss, kind string) {
	t.Helper()
	var external []string
	for n := range 40 {
		external = append(external, fmt.Sprint("both-", n))
	}
	job := beginImport(t, s, boss, `{"kind": "`+kind+`"}`)
	file := peopleFile(t, external)
	made := 0
	var all sync.WaitGroup
	all.Go(func() {
		if status, text := testkit.Upload(t, http.DefaultClient, *job.Upload, file); status != 204 {
			t.Errorf("the upload: %d %s", status, text)
		}
	})
	all.Go(func() {
		for _, id := range external {
			switch a := invited(t, s, boss, kind, id); a.Status {
			case 201:
				made++
			case 409:
			default:
				t.Errorf("%s: %d %s", id, a.Status, a.Body)
			}
		}
	})
	all.Wait()
	done := importDone(t, s, boss, job.ID)
	if done.Status != imports.Done || done.Created+made != len(external) || done.Created+done.Failed != len(external) {
		t.Errorf("%d made by the API, and %s of %d by the import", made, counts(done), len(external))
	}
	for _, id := range external {
		page := apptest.JSON[struct{ Items []struct{ ExternalID string } }](t, s.Get(t, boss,
			"/api/v1/"+kind+"?externalId="+id).Must(t, 200))
		if len(page.Items) != 1 || page.Items[0].ExternalID != id {
			t.Errorf("%s has %+v", id, page.Items)
		}
	}
}

// TestUndoFreesIdentifiers: what an undone import gave is free again.
func TestUndoFreesIdentifiers(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	boss, anna := s.Token(t, s.Operator(t, "metro", "boss")), s.Rider(t, "metro", "anna")
	booked := func() apptest.Answer {
		return s.Post(t, boss, "/api/v1/trips", fmt.Sprintf(
			`{"customerId":%q,"originAddress":"1 Pier","originLat":40.7,"originLng":-74,"externalId":"U-3"}`, anna.ID))
	}
	job := imported(t, s, boss, `{"kind": "trips"}`, rides(0, 5, anna.Email))
	s.Get(t, boss, "/api/v1/trips/external/U-3").Must(t, 200)
	booked().Must(t, 409)
	s.Post(t, boss, "/api/v1/imports/"+job.ID+"/undo", "").Must(t, 200)
	if u := undone(t, s, boss, job.ID); u.Status != imports.Undone || u.Removed != 5 {
		t.Fatalf("%+v", u)
	}
	s.Get(t, boss, "/api/v1/trips/external/U-3").Must(t, 404)
	booked().Must(t, 201)
}
