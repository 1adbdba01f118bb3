package engine

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// openDoor starts the engine's door, a reverse proxy, and sets URL: a loopback address
// whose path is a random credential. The door closes when the engine has ended, before
// Exited's channel does.
//
// The door protects the data from web pages. It does not protect the data from programs
// and users of this machine that find the engine's own port: there dynoxide serves them
// the data. DynamoDB Local, which listens on all addresses of the machine, serves them an
// empty database, because they do not know the key.
func (e *Engine) openDoor(key string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	secret := rand.Text()
	e.URL = "http://" + listener.Addr().String() + "/" + secret
	server := &http.Server{ //nolint:gosec // only programs of this machine reach the listener
		Handler: door(e.own, e.transport, secret, key), ErrorLog: log.New(io.Discard, "", 0)}
	e.exited = make(chan struct{})
	go func() { _ = server.Serve(listener) }()
	go func() {
		<-e.child.done
		_ = server.Close()
		close(e.exited)
	}()
	return nil
}

// door returns a handler that forwards requests to the engine at the URL if their
// path begins with the secret. It rejects all other requests, and all requests of web
// pages: the engine itself checks no credentials, and lets every origin read its
// responses. If key is not "", the door replaces the client's access key id by it.
func door(engine *url.URL, transport http.RoundTripper, secret, key string) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(engine)
			r.Out.URL.Path, r.Out.URL.RawPath = "/", ""
			if key != "" && r.Out.Header.Get("Authorization") != "" {
				r.Out.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+key+"/20260101/"+keyRegion+
					"/dynamodb/aws4_request, SignedHeaders=host, Signature=00")
			}
		},
		ModifyResponse: func(res *http.Response) error {
			for name := range res.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					res.Header.Del(name)
				}
			}
			return nil
		},
		// The client sees the end of the connection, as it does without the door.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		Transport:    transport,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		page := r.Header["Origin"] != nil || r.Header["Sec-Fetch-Site"] != nil
		if subtle.ConstantTimeCompare([]byte(first), []byte(secret)) != 1 || page {
			http.Error(w, "The database of svc dev answers only at the address in dev.json, and no web page.",
				http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(w, r)
	})
}
