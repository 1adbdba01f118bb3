package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// The service answers a malformed path with 404, in the format of all its errors.
func TestMalformedPathIsOur404(t *testing.T) {
	w := share(t)
	token := w.token("dashboard", "operator@metro.example")
	c, err := net.Dial("tcp", strings.TrimPrefix(w.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	for _, path := range []string{"/api/v1/trips/%zz", "/api/v1/trips/a b", "/%", "/api/v1/%2", "/oauth/a b", "/a\tb",
		"/api/v1/trips/%ff", "/api/v1/trips/%00", "/api/v1/trips/%2e%2e", "//api/v1/trips", "/api//v1/trips"} {
		if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path,
			token); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var body struct {
			Error       string `json:"error"`
			Description string `json:"error_description"`
		}
		err = json.NewDecoder(res.Body).Decode(&body)
		if err != nil || res.StatusCode != 404 || body.Error != "not_found" || body.Description == "" ||
			res.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d %+v %v", path, res.StatusCode, body, err)
		}
	}
}
