package e2e

import (
	"fmt"
	"testing"
	"time"
)

// imported checks that an operator's files create and change people, and that the failed
// rows come back as a file.
func (s *suite) imported(t *testing.T) {
	n := time.Now().UnixNano()
	email := fmt.Sprintf("i%d@metro.example", n)
	const people, bad = "externalId,email,name\n", ",nobody,Nobody\n"
	for _, tt := range []struct{ kind, key, head, row, bad, counted string }{
		{"customers", "externalId", people, fmt.Sprintf("%d,%s,Ann\n", n, email), bad, "created"},
		{"customers", "externalId", people, fmt.Sprintf("%d,%s,Anna\n", n, email), bad, "updated"},
		{"customers", "externalId", people, fmt.Sprintf("%d,%s,Anna\n", n, email), bad, "unchanged"},
		{"drivers", "email", "email,name\n", "d" + email + ",Dan\n", "nobody,Nobody\n", "created"},
	} {
		job, path := s.importOf(t, tt.kind, tt.key, tt.head+tt.row+tt.bad)
		if job == nil { // a company may have ten unfinished imports
			break
		}
		if job["status"] != "DONE" || fmt.Sprint(job["failed"]) != "1" || fmt.Sprint(job[tt.counted]) != "1" {
			t.Errorf("%s: %v, want one %s and one failed", tt.kind, job, tt.counted)
		}
		if faults := s.get(t, s.token(t, operator), path+"/errors").some(); len(faults) != 1 {
			t.Errorf("the faults are %v", faults)
		}
		if got := s.download(t, fmt.Sprint(job["failedRowsUrl"])); got != tt.head+tt.bad {
			t.Errorf("the failed rows of %s are %q, want %q", tt.kind, got, tt.head+tt.bad)
		}
	}
	s.get(t, s.token(t, operator), "/api/v1/imports").some()
}

// importOf imports a file. It returns the finished job, or nil where nothing runs jobs,
// and the job's path.
func (s *suite) importOf(t *testing.T, kind, key, file string) (job map[string]any, path string) {
	t.Helper()
	token := s.token(t, operator)
	made := s.do(t, call{method: "POST", path: "/api/v1/imports", token: token, key: someKey(),
		body: fmt.Sprintf(`{"kind": %q, "key": %q}`, kind, key)}).must(201)
	path = "/api/v1/imports/" + made.text("id")
	s.get(t, token, path).must(200)
	if s.NoFiles {
		s.get(t, token, path+"/errors").must(200)
		return nil, path
	}
	s.upload(t, made.json()["upload"].(map[string]any), file)
	s.eventually(t, "import of "+kind, func() bool {
		job = s.get(t, token, path).must(200).json()
		return job["status"] == "DONE" || job["status"] == "FAILED"
	})
	return job, path
}
