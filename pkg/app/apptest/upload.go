package apptest

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"testing"

	"svc/pkg/edge/api"
	"svc/pkg/local/testkit"
)

// Upload sends a file as a form, and returns the status and the body.
func Upload(t testing.TB, u api.Upload, file []byte) (status int, text string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range u.Fields {
		testkit.Must(t, form.WriteField(name, value))
	}
	part, err := form.CreateFormFile("file", "people.csv")
	testkit.Must(t, err)
	_, err = part.Write(file)
	testkit.Must(t, err)
	testkit.Must(t, form.Close())
	res, err := http.Post(u.URL, form.FormDataContentType(), &body)
	testkit.Must(t, err)
	defer res.Body.Close()
	var answer bytes.Buffer
	_, err = answer.ReadFrom(res.Body)
	testkit.Must(t, err)
	return res.StatusCode, answer.String()
}
