package jobs_test

import (
	"net/http"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/domain/export"
	"svc/pkg/domain/imports"
	"svc/pkg/local/files"
)

// TestJobsOfMachines: a job of a machine goes on when its token has expired, and ends when
// the machine is disabled, also if it is enabled again before the job runs.
func TestJobsOfMachines(t *testing.T) {
	s := apptest.New(t)
	s.Runtime.Files.(*files.Folder).Received = nil // the service's own runner does not see the files
	olga := s.Operator(t, "metro", "boss")
	boss := s.Token(t, olga)
	for _, disabled := range []bool{false, true} {
		m := s.Machine(t, boss, "EXPORT_REPORTS", "VIEW_DRIVERS", "IMPORT_DATA", "CREATE_DRIVERS")
		token := s.Works(t, m)
		runner, clock := asleep(s, s.Runtime.Files)
		copied := quiet(t, s, token, `{"kind": "drivers"}`)
		loaded := quietly[imports.Job](t, s, token, "/api/v1/imports", `{"kind":"drivers"}`, imports.Rows())
		file := []byte("email,firstName\nnew@metro.example,New\n")
		if status, text := testkit.Upload(t, http.DefaultClient, *loaded.Upload, file); status != 204 {
			t.Fatalf("the upload: %d %s", status, text)
		}
		if disabled {
			for _, body := range []string{`{"enabled":false}`, `{"enabled":true}`} {
				s.Patch(t, boss, "/api/v1/machines/"+m.ID, body).Must(t, 200)
			}
		} else {
			s.Clock.Advance(16 * time.Minute)
			clock.now = s.Clock.Now()
		}
		testkit.Must(t, runner.Run(t.Context()))
		again := s.Works(t, m)
		out := apptest.JSON[export.Job](t, s.Get(t, again, "/api/v1/exports/"+copied).Must(t, 200))
		in := apptest.JSON[imports.Job](t, s.Get(t, again, "/api/v1/imports/"+loaded.ID).Must(t, 200))
		if failed := out.Status == export.Failed; failed != disabled {
			t.Errorf("disabled %t: the export is %s", disabled, out.Status)
		}
		if failed := in.Status == imports.Failed; failed != disabled {
			t.Errorf("disabled %t: the import is %s", disabled, in.Status)
		}
		boss = s.SignIn(t, olga).AccessToken
	}
}
