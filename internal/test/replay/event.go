package replay

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"time"

	"svc/pkg/edge/gateway/emulator"
)

// Event returns the gateway's event of a request, in payload format 2.0. token and body
// may be "" for none; without a body contentType is ignored.
func Event(token, contentType, method, target, body string) (json.RawMessage, error) {
	r, err := http.NewRequest(method, "https://api.svc.example"+target, nil) //nolint:noctx // nobody sends it
	if err != nil {
		return nil, err
	}
	r.RemoteAddr, r.TLS = "192.0.2.1", &tls.ConnectionState{}
	r.Header = http.Header{"Accept": {"application/json"}, "User-Agent": {"bench/1"}}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", contentType)
	}
	route, id := emulator.Route{Path: emulator.Default}, rand.Text()[:15]+"="
	return json.Marshal(emulator.Event(r, []byte(body), route, nil, id, time.Now()))
}
