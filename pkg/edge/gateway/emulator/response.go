package emulator

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// response is a function's response, in the format of payload 2.0.
type response struct {
	status  int
	header  http.Header
	body    []byte
	cookies []string
}

var errResponse = errors.New("the function's response is malformed")

// newResponse decodes a function's response. If the response has no statusCode, it
// becomes the body of a response with status 200 and type application/json.
// newResponse ignores multiValueHeaders, which belong to payload 1.0.
func newResponse(raw json.RawMessage) (*response, error) {
	var f struct {
		StatusCode      json.RawMessage            `json:"statusCode"`
		Headers         map[string]json.RawMessage `json:"headers"`
		Cookies         []string                   `json:"cookies"`
		Body            *string                    `json:"body"`
		IsBase64Encoded bool                       `json:"isBase64Encoded"`
	}
	if !json.Valid(raw) {
		return nil, errResponse
	}
	isObject := bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{"))
	if isObject {
		if err := json.Unmarshal(raw, &f); err != nil {
			return nil, fmt.Errorf("%w: %w", errResponse, err)
		}
	}
	if f.StatusCode == nil {
		return plain(raw), nil
	}
	a := &response{header: http.Header{}, cookies: f.Cookies}
	if err := json.Unmarshal(bytes.Trim(f.StatusCode, `"`), &a.status); err != nil || a.status < 100 || a.status > 599 {
		return nil, fmt.Errorf("%w: statusCode is not a number from 100 to 599", errResponse)
	}
	for name, value := range f.Headers {
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			text = string(value) // a number or a boolean
		}
		if string(value) != "null" {
			a.header.Set(name, text)
		}
	}
	if f.Body != nil {
		a.body = []byte(*f.Body)
	}
	if f.IsBase64Encoded {
		decoded, err := base64.StdEncoding.DecodeString(string(a.body))
		if err != nil {
			return nil, fmt.Errorf("%w: body: %w", errResponse, err)
		}
		a.body = decoded
	}
	return a, nil
}

func plain(raw json.RawMessage) *response {
	a := &response{status: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}, body: raw}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		a.body = []byte(text)
	}
	return a
}

// write sends the response.
func (a *response) write(w http.ResponseWriter) {
	h := w.Header()
	for name, values := range a.header {
		switch name {
		case "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Upgrade", "Trailer":
			continue // set by the gateway itself
		}
		if strings.ContainsAny(name, " \r\n:") {
			continue
		}
		h[name] = values
	}
	for _, c := range a.cookies {
		h.Add("Set-Cookie", c)
	}
	if h.Get("Content-Type") == "" {
		if len(a.body) > 0 {
			h.Set("Content-Type", "text/plain; charset=utf-8")
		} else {
			h["Content-Type"] = nil // else net/http would guess
		}
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// refuse sends an error response of the gateway itself.
func refuse(w http.ResponseWriter, status int, message string) {
	body, _ := json.Marshal(struct {
		Message string `json:"message"`
	}{message})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
