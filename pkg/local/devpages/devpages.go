// Package devpages serves the pages that exist in `svc dev` only:
//
//	/dev/callback  a client that shows every step of an OAuth sign-in
//	/dev/mail      the outbox
//	/dev/streams   the lags that `svc status` shows
//	/dev/process   the memory and goroutines of the process
//
// No deployed function contains this package.
package devpages

import (
	"context"
	"embed"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/pkg/access/authz"
)

// The addresses of the pages.
const (
	Callback = "/dev/callback"
	Outbox   = "/dev/mail"
	Streams  = "/dev/streams"
	Process  = "/dev/process"
)

//go:embed *.html *.js *.css
var files embed.FS

var pages = template.Must(template.ParseFS(files, "*.html"))

// mailKept is the number of messages that the outbox keeps, the newest.
const mailKept = 100

// Message is a mail that the service would have sent.
type Message struct {
	At                time.Time
	To, Subject, Text string
}

// Lines returns the text, line by line, and which lines are links.
func (m Message) Lines() []Line {
	var lines []Line
	for line := range strings.Lines(m.Text) {
		line = strings.TrimSpace(line)
		lines = append(lines, Line{line, strings.HasPrefix(line, "http://") || strings.HasPrefix(line, "https://")})
	}
	return lines
}

// Line is one line of a message.
type Line struct {
	Text string
	Link bool
}

// Pages keeps the messages and serves the pages. The zero value is ready.
type Pages struct {
	// Hosts are further names to which the gateway answers, in lower case.
	Hosts []string
	// IsDomain reports whether a host is a tenant's domain; nil means no host.
	IsDomain func(ctx context.Context, host string) bool

	mu   sync.Mutex
	mail []Message // oldest first

	lag func() map[string]time.Duration
}

// ShowLag makes Streams serve the lag of each stream function, for `svc status`.
func (p *Pages) ShowLag(lag func() map[string]time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lag = lag
}

// streams serves the lags in nanoseconds, by function.
func (p *Pages) streams(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	lag := p.lag
	p.mu.Unlock()
	if lag == nil {
		http.Error(w, "the service is starting", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(lag()) // an error means that the caller disconnected
}

// Send adds a message to the outbox. It is an oauth.Mailer.
func (p *Pages) Send(_ context.Context, to, subject, text string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mail = append(p.mail, Message{time.Now(), to, subject, text})
	p.mail = p.mail[max(0, len(p.mail)-mailKept):]
	return nil
}

// Wrap serves the pages, and passes every other request that guard accepts to
// next.
func (p *Pages) Wrap(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /dev/", own(http.HandlerFunc(http.NotFound)))
	mux.Handle("GET "+Callback, own(http.HandlerFunc(callback)))
	mux.Handle("GET "+Outbox, own(http.HandlerFunc(p.outbox)))
	mux.Handle("GET "+Streams, own(http.HandlerFunc(p.streams)))
	mux.Handle("GET "+Process, own(http.HandlerFunc(process)))
	for _, name := range []string{"callback.js", "dev.css"} {
		mux.Handle("GET /dev/"+name, own(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, files, name)
		})))
	}
	return p.guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/dev/") {
			mux.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r) // the mux would clean its path
	}))
}

// own sets the headers of the pages. They exist by this machine's names only,
// not at a tenant's domain.
func own(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ownName(hostOf(r)) {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "+
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

func callback(w http.ResponseWriter, _ *http.Request) {
	scopes := map[authz.Audience]string{}
	for _, a := range []authz.Audience{authz.Rider, authz.Driver, authz.Dashboard} {
		scopes[a] = strings.Join(authz.Scopes(a), " ")
	}
	render(w, "callback.html", scopes)
}

func (p *Pages) outbox(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	mail := slices.Clone(p.mail)
	p.mu.Unlock()
	slices.Reverse(mail)
	render(w, "mail.html", mail)
}

func render(w http.ResponseWriter, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pages.ExecuteTemplate(w, name, data) // an error means that the browser disconnected
}
