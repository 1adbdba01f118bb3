package deliver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"syscall"
	"time"

	"svc/pkg/base/outbound"
	"svc/pkg/data/table"
	"svc/pkg/domain/webhook"
)

// patience is how long one attempt may take.
const patience = 15 * time.Second

// mostEcho is how many bytes of the response to a challenge are read.
const mostEcho = 4 << 10

// Public returns a transport that connects to public addresses only. At each attempt it
// checks the address and dials the address that it checked.
func Public() *http.Transport {
	t := outbound.Public()
	t.ResponseHeaderTimeout = patience
	return t
}

// Local returns the transport of svc dev: plain http reaches the machine itself, and
// everything else is as in Public.
func Local() http.RoundTripper { return local{Public(), &http.Transport{DisableKeepAlives: true}} }

// local sends plain http to the loopback address over loopback, and all other requests
// over public.
type local struct{ public, loopback http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l local) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "http" && outbound.IsLoopback(r.URL.Hostname()) {
		return l.loopback.RoundTrip(r)
	}
	return l.public.RoundTrip(r)
}

// outcome is the result of one attempt. word is one of a few fixed words, such as
// "timeout". An outcome never has text that the receiver wrote: an operator could use it
// to read internal services.
type outcome struct {
	word  string
	took  time.Duration
	after time.Duration // the pause that the receiver asks for (Retry-After)
	echo  []byte        // the response body to a challenge
	err   error         // an error of the table; then nothing was sent
}

// tableError is an error of the table in Worker.stands. It says nothing about the
// endpoint.
type tableError struct{ error }

// post sends one signed message to the endpoint to. id identifies the message for the
// receiver; secrets sign it. When the connection is open, post checks again that the
// endpoint may get the message. If not, it sends nothing and the outcome's word is
// webhook.Disabled. With echo it also reads the response body. post follows no redirect.
func (w Worker) post(ctx context.Context, t table.Tenant, to *webhook.Record, id string, body []byte, secrets [][]byte,
	echo bool) (out outcome) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var ended error
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		// The transport sends the message after this function has returned. stands gets ctx
		// and not traced: its own requests would call this function again.
		if ended = w.stands(ctx, t, to); ended != nil {
			_ = c.Conn.Close()
		}
	}})
	r, err := http.NewRequestWithContext(traced, http.MethodPost, to.URL, bytes.NewReader(body))
	if err != nil {
		return outcome{word: "connection_error"}
	}
	began := time.Now()
	webhook.Sign(r.Header, id, w.Now(), body, secrets...)
	if to.Subscription != nil {
		r.Header.Set("X-Mcp-Subscription-Id", to.ID)
	}
	res, err := w.Client.RoundTrip(r)
	if out.took = time.Since(began); err != nil {
		var failed tableError
		if out.word = wordOf(cmp.Or(ended, err)); errors.As(ended, &failed) {
			out.err = failed
		}
		return out
	}
	defer func() { _ = res.Body.Close() }()
	out.word, out.after = statusWord(res.StatusCode), retryAfter(res.Header.Get("Retry-After"), w.Now())
	if echo && out.word == webhook.Succeeded {
		if out.echo, err = io.ReadAll(io.LimitReader(res.Body, mostEcho)); err != nil {
			out.word = wordOf(err)
		}
	}
	return out
}

// statusWord returns the word that is recorded for an HTTP status.
func statusWord(status int) string {
	switch {
	case status == http.StatusGone:
		return webhook.Gone
	case status >= 500:
		return "http_5xx"
	case status >= 400:
		return "http_4xx"
	case status >= 300 || status < 200:
		return "http_3xx"
	}
	return webhook.Succeeded
}

// wordOf returns the word that is recorded for an error of a request.
func wordOf(err error) string {
	var dns *net.DNSError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var timeout net.Error
	switch {
	case errors.Is(err, errEnded):
		return webhook.Disabled
	case errors.Is(err, outbound.ErrNotPublic):
		return "address_not_public"
	case errors.As(err, &dns):
		return "dns_error"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection_refused"
	case errors.As(err, &record), errors.As(err, &alert), errors.As(err, &unknown), errors.As(err, &name),
		errors.As(err, &invalid), errors.As(err, &verification):
		return "tls_error"
	}
	return "connection_error"
}

// retryAfter parses a Retry-After header: seconds or a date (RFC 9110 section 10.2.3). It
// returns at most a day, and 0 for other text.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
		return time.Duration(min(max(seconds, 0), 24*3600)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), 24*time.Hour)
	}
	return 0
}
