package remote

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"svc/pkg/base/ids"
	"svc/pkg/oauth/flow"
)

const (
	browserTime  = 15 * time.Minute // how long svc waits for the browser
	callbackPath = "/callback"      // of the redirect addresses of clients.CommandLine
)

// byBrowser signs in with a browser of this machine: the code comes to a port of the loopback
// interface (RFC 8252 section 7.3).
func (l *login) byBrowser(ctx context.Context) (flow.Tokens, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, browserTime, errors.New("nobody signed in within 15 minutes"))
	defer cancel()
	listener, err := (&net.ListenConfig{}).Listen(waiting, "tcp", "127.0.0.1:0")
	if err != nil {
		return flow.Tokens{}, fmt.Errorf("no port for the browser's answer: %w; try --device", err)
	}
	o := l.Options
	o.RedirectURI = "http://" + listener.Addr().String() + callbackPath
	b := &callback{o: o, ctx: waiting, state: ids.Secret(), verifier: ids.Secret(), done: make(chan struct{})}
	server := &http.Server{Handler: b, ReadHeaderTimeout: answerTime}
	go func() { _ = server.Serve(listener) }()
	defer func() { // the page that says how it ended is still on its way
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = server.Shutdown(ending)
		_ = server.Close()
	}()
	query := o.Request(b.state, b.verifier)
	maps.Copy(query, l.extra)
	address := o.BaseURL + "/oauth/authorize?" + query.Encode()
	fmt.Fprintf(l.Err, "Sign in with the browser. If none opens, open this address in one of this machine:\n\n%s\n\n",
		address)
	if l.hasBrowser() {
		openBrowser(address)
	}
	select {
	case <-b.done:
		return b.tokens, denied(ctx, b.err)
	case <-waiting.Done():
		return flow.Tokens{}, denied(ctx, context.Cause(waiting))
	}
}

// openBrowser opens the address. The person has it on the terminal too, so nothing happens if no
// browser opens.
func openBrowser(address string) {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	cmd := exec.Command(program, address) //nolint:gosec // no shell reads the address
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}

// callback receives the browser's answer.
type callback struct {
	o               flow.Options
	ctx             context.Context
	state, verifier string

	once   sync.Once
	tokens flow.Tokens
	err    error
	done   chan struct{}
}

// ServeHTTP takes the first request with the right state. Any other request changes nothing: an
// old tab, or a page that tries ports, must not end the sign-in. A browser may send the right one
// twice, and a second exchange of a code would end its tokens.
func (b *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	known := subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(b.state)) == 1
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	if r.Method != http.MethodGet || r.URL.Path != callbackPath || !known {
		w.WriteHeader(http.StatusNotFound)
		page(w, "This is not the answer that svc waits for. Use the address that it printed last.")
		return
	}
	b.once.Do(func() {
		defer close(b.done)
		b.tokens, b.err = b.exchange(query)
	})
	if b.err != nil {
		w.WriteHeader(http.StatusBadRequest)
		page(w, "The sign-in failed. The terminal says why.")
		return
	}
	page(w, "You are signed in. Close this window, and go back to the terminal.")
}

func (b *callback) exchange(query url.Values) (flow.Tokens, error) {
	code, err := b.o.Answer(query, b.state)
	if err != nil {
		return flow.Tokens{}, err
	}
	ctx, cancel := context.WithTimeout(b.ctx, answerTime)
	defer cancel()
	return flow.Exchange(ctx, b.o, code, b.verifier)
}

// page writes a page with a text of ours.
func page(w io.Writer, text string) {
	fmt.Fprintf(w, "<!doctype html><html lang=en><meta name=viewport content=\"width=device-width\"><title>svc</title>"+
		"<body><p>%s</p></body></html>", text)
}
