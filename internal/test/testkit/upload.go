package testkit

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"testing"

	"svc/pkg/edge/api"
)

// Upload sends a file with the form of an upload address, as multipart/form-data, and
// returns the response's status and body.
func Upload(t testing.TB, client *http.Client, u api.Upload, file []byte) (status int, text string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range u.Fields {
		Must(t, form.WriteField(name, value))
	}
	part, err := form.CreateFormFile("file", "people.csv")
	Must(t, err)
	_, err = part.Write(file)
	Must(t, err)
	Must(t, form.Close())
	res, err := client.Post(u.URL, form.FormDataContentType(), &body)
	Must(t, err)
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	Must(t, err)
	return res.StatusCode, string(got)
}
