package emulator

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// response is a function's response, in the format of payload 2.0.
type response struct {
	status  int
	header  http.Header
	body    []byte
	cookies []string
}

var errResponse = errors.New("the function's response is malformed")

// newResponse decodes a function's response. API Gateway also accepts a response
// without statusCode, which no function of ours sends.
func newResponse(raw json.RawMessage) (*response, error) {
	var f events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", errResponse, err)
	}
	if f.StatusCode < 100 || f.StatusCode > 599 {
		return nil, fmt.Errorf("%w: statusCode is not a number from 100 to 599", errResponse)
	}
	a := &response{status: f.StatusCode, header: http.Header{}, cookies: f.Cookies, body: []byte(f.Body)}
	for name, value := range f.Headers {
		a.header.Set(name, value)
	}
	if f.IsBase64Encoded {
		var err error
		if a.body, err = base64.StdEncoding.DecodeString(f.Body); err != nil {
			return nil, fmt.Errorf("%w: body: %w", errResponse, err)
		}
	}
	return a, nil
}

// write sends the response.
func (a *response) write(w http.ResponseWriter) {
	h := w.Header()
	for name, values := range a.header {
		switch name {
		case "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Upgrade", "Trailer":
			continue // the gateway itself sets these headers
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
