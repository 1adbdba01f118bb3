// Package devpages serves the pages that exist in `svc dev` only:
//
//	/dev/callback  a client that shows every step of an OAuth sign-in
//	/dev/mail      the mails that the service would have sent
//	/dev/streams   how far each stream function is behind, for `svc status`
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

// The paths of the pages.
const (
	Callback = "/dev/callback"
	Outbox   = "/dev/mail"
	Streams  = "/dev/streams"
	Process  = "/dev/process"
)

//go:embed *.html *.js *.css
var files embed.FS

var pages = template.Must(template.ParseFS(files, "*.html"))

// mailKept is the number of mails that the outbox keeps: the newest ones.
const mailKept = 100

// Message is a mail that the service would have sent.
type Message struct {
	At                time.Time
	To, Subject, Text string
}

// Lines returns the lines of the mail's text, and which of them are links.
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

// Pages keeps the mails and serves the pages. The zero value is ready.
type Pages struct {
	// Hosts are further names to which the gateway answers, in lower case.
	Hosts []string
	// IsDomain reports whether a host is a tenant's domain; nil means no host.
	IsDomain func(ctx context.Context, host string) bool

	mu   sync.Mutex
	mail []Message // oldest first

	lag func() map[string]time.Duration // set by ShowLag; nil before its call
}

// ShowLag makes the page at Streams serve what lag returns: how far each stream function
// is behind.
func (p *Pages) ShowLag(lag func() map[string]time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lag = lag
}

// streams serves the lags of the stream functions as JSON, in nanoseconds by function.
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

// Send adds a mail to the outbox. It is an oauth.Mailer.
func (p *Pages) Send(_ context.Context, to, subject, text string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mail = append(p.mail, Message{time.Now(), to, subject, text})
	p.mail = p.mail[max(0, len(p.mail)-mailKept):]
	return nil
}

// Wrap returns a handler that serves the pages and passes all other requests to next. It
// first rejects every request that guard does not accept.
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
		next.ServeHTTP(w, r) // not through the mux, which would clean the path
	}))
}

// own wraps a handler of the pages. It answers 404 unless the request's host is a name of
// this machine, so that a tenant's domain has no such pages. It also sets the security
// headers.
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

// callback serves the page of the OAuth client, which knows the scopes of each audience.
func callback(w http.ResponseWriter, _ *http.Request) {
	scopes := map[authz.Audience]string{}
	for _, a := range []authz.Audience{authz.Rider, authz.Driver, authz.Dashboard} {
		scopes[a] = strings.Join(authz.Scopes(a), " ")
	}
	render(w, "callback.html", scopes)
}

// outbox serves the page with the mails, newest first.
func (p *Pages) outbox(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	mail := slices.Clone(p.mail)
	p.mu.Unlock()
	slices.Reverse(mail)
	render(w, "mail.html", mail)
}

// render sends the page of the template name with the data.
func render(w http.ResponseWriter, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pages.ExecuteTemplate(w, name, data) // an error means that the browser disconnected
}
