package e2e

import (
	"fmt"
	"testing"
	"time"
)

// file is an import file with one good row and one bad row. counted is the counter of the
// job that counts the good row, such as created.
type file struct{ kind, key, head, row, bad, counted string }

// imported checks that an operator's files create and change people, and that the failed
// rows come back as a file.
func (s *suite) imported(t *testing.T) {
	n := time.Now().UnixNano()
	email := fmt.Sprintf("i%d@metro.example", n)
	drivers := file{"drivers", "email", "email,name\n", "d" + email + ",Dan\n", "nobody,Nobody\n", "created"}
	person := func(name, counted string) file {
		return file{"customers", "externalId", "externalId,email,name\n", fmt.Sprintf("%d,%s,%s\n", n, email, name),
			",nobody,Nobody\n", counted}
	}
	people := []file{person("Ann", "created"), person("Anna", "updated"), person("Anna", "unchanged")}
	if s.tools != nil || s.NoFiles { // each waits for the schedule; a company may have ten unfinished imports
		people = people[:1]
	}
	path := s.beginImport(t, drivers)
	for _, f := range people {
		s.finishImport(t, f, s.beginImport(t, f))
	}
	s.finishImport(t, drivers, path)
	if !s.NoFiles {
		s.undone(t, n)
	}
	s.get(t, s.token(t, operator), "/api/v1/imports").some()
}

// undone checks that the undo of an import of past trips removes all of them.
func (s *suite) undone(t *testing.T, n int64) {
	t.Helper()
	const head = "email,tripId,requestedAt,completedAt,originAddress,originLat,originLng,fare\n"
	ride := file{"trips", "email", head, fmt.Sprintf(
		"rider1@metro.example,E-%d,2024-01-02T08:00:00Z,2024-01-02T09:00:00Z,1 Old Street,40.7,-74,10\n", n),
		"rider1@metro.example,,,,,,,\n", "created"}
	path := s.beginImport(t, ride)
	s.finishImport(t, ride, path)
	token := s.token(t, operator)
	s.do(t, call{method: "POST", path: path + "/undo", token: token}).must(200)
	var undo map[string]any
	s.eventually(t, "undo of an import", func() bool {
		undo, _ = s.get(t, token, path).must(200).json()["undo"].(map[string]any)
		return undo["status"] == "DONE"
	})
	if fmt.Sprint(undo["removed"]) != "1" {
		t.Errorf("the undo: %v, want one ride removed", undo)
	}
}

// beginImport begins an import and sends its file. It returns the job's path.
func (s *suite) beginImport(t *testing.T, f file) string {
	t.Helper()
	made := s.create(t, s.token(t, operator), "/api/v1/imports",
		fmt.Sprintf(`{"kind": %q, "key": %q}`, f.kind, f.key)).must(201)
	if !s.NoFiles {
		s.upload(t, made, f.head+f.row+f.bad)
	}
	return "/api/v1/imports/" + made.text("id")
}

// finishImport waits until an import is done, and checks what it has counted and refused.
func (s *suite) finishImport(t *testing.T, f file, path string) {
	t.Helper()
	token := s.token(t, operator)
	if s.NoFiles {
		s.get(t, token, path).must(200)
		s.get(t, token, path+"/errors").must(200)
		return
	}
	var job map[string]any
	s.eventually(t, "import of "+f.kind, func() bool {
		job = s.get(t, token, path).must(200).json()
		return job["status"] == "DONE" || job["status"] == "FAILED"
	})
	if job["status"] != "DONE" || fmt.Sprint(job["failed"]) != "1" || fmt.Sprint(job[f.counted]) != "1" {
		t.Errorf("%s: %v, want one %s and one failed", f.kind, job, f.counted)
	}
	if faults := s.get(t, token, path+"/errors").some(); len(faults) != 1 {
		t.Errorf("the faults are %v", faults)
	}
	if got, _ := s.download(t, fmt.Sprint(job["failedRowsUrl"])); got != f.head+f.bad {
		t.Errorf("the failed rows of %s are %q, want %q", f.kind, got, f.head+f.bad)
	}
}
