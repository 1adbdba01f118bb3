package protocol

import (
	"crypto/subtle"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// ParseForm parses a form-encoded body. An empty parameter counts as absent,
// and a repeated one is an error (RFC 6749 section 3.2). Only resource may be
// repeated (RFC 8707 section 2).
func ParseForm(r *http.Request) (url.Values, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, Refuse("invalid_request", "The body must be application/x-www-form-urlencoded.")
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, BodyError(err)
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, Refuse("invalid_request", "The body is not a well-formed form.")
	}
	for name, values := range form {
		if len(values) > 1 && name != "resource" {
			return nil, Refuse("invalid_request", "The parameter %s is repeated.", Printable(name))
		}
		if len(values) == 1 && values[0] == "" {
			delete(form, name)
		}
	}
	return form, nil
}

// Encoded reports whether the body has a content coding (RFC 9110 section 8.4).
func Encoded(r *http.Request) bool {
	for coding := range strings.SplitSeq(strings.Join(r.Header.Values("Content-Encoding"), ","), ",") {
		if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
			return true
		}
	}
	return false
}

// BodyError converts the error of a body that could not be read. The body is either too
// large, for which BodyError returns err itself, or incomplete.
func BodyError(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return err
	}
	return Refuse("invalid_request", "The body is incomplete and could not be read.")
}

// Equal reports whether two hashes or secrets are equal, in constant time.
func Equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// Printable replaces the characters that an error description must not contain
// (RFC 6749 section 5.2 allows ASCII without quote and backslash). It cuts the
// text to 100 characters.
func Printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '?'
		}
		return r
	}, text)
	if len(text) > 100 {
		return text[:100] + "..."
	}
	return text
}

// Seconds formats a duration in whole seconds, rounded up.
func Seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
