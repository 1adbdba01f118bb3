package e2e

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"testing"
	"time"
)

// imported checks that an operator's files create and change people.
func (s *suite) imported(t *testing.T) {
	token, n := s.token(t, operator), time.Now().UnixNano()
	for _, tt := range []struct{ kind, key, file string }{
		{"customers", "externalId", fmt.Sprintf("externalId,email,name\n%d,i%d@metro.example,Ann\n,nobody,Nobody\n", n, n)},
		{"customers", "externalId", fmt.Sprintf("externalId,email,name\n%d,i%d@metro.example,Anna\n,nobody,Nobody\n", n, n)},
		{"drivers", "email", fmt.Sprintf("email,name\nd%d@metro.example,Dan\nnobody,Nobody\n", n)},
	} {
		made := s.do(t, call{method: "POST", path: "/api/v1/imports", token: token,
			body: fmt.Sprintf(`{"kind": %q, "key": %q}`, tt.kind, tt.key), key: fmt.Sprint("e2e-", time.Now().UnixNano())}).must(201)
		path := "/api/v1/imports/" + made.text("id")
		s.get(t, token, path).must(200)
		if s.NoFiles { // a company may have ten unfinished imports
			s.get(t, token, path+"/errors").must(200)
			break
		}
		s.upload(t, made.json()["upload"].(map[string]any), tt.file)
		var job map[string]any
		s.eventually(t, "import of "+tt.kind, func() bool {
			job = s.get(t, token, path).must(200).json()
			return job["status"] == "DONE" || job["status"] == "FAILED"
		})
		if job["status"] != "DONE" || fmt.Sprint(job["failed"]) != "1" {
			t.Errorf("%s: %v", tt.kind, job)
		}
		if faults := s.get(t, token, path+"/errors").some(); len(faults) != 1 {
			t.Errorf("the faults are %v", faults)
		}
	}
	s.get(t, token, "/api/v1/imports").some()
}

// upload sends a file as the form that a response describes.
func (s *suite) upload(t *testing.T, to map[string]any, file string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range to["fields"].(map[string]any) {
		_ = form.WriteField(name, fmt.Sprint(value)) // a buffer accepts everything
	}
	part, _ := form.CreateFormFile("file", "people.csv")
	_, _ = part.Write([]byte(file))
	_ = form.Close()
	res, err := http.Post(fmt.Sprint(to["url"]), form.FormDataContentType(), &body)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		t.Errorf("the upload: %d", res.StatusCode)
	}
}
