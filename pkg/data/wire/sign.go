package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Signature Version 4 of AWS (IAM User Guide, "Create a signed AWS API
// request"), for a POST to the root of an address.
const (
	algorithm  = "AWS4-HMAC-SHA256"
	ending     = "aws4_request"
	dateFormat = "20060102T150405Z"
	day        = len("20060102")
)

// scope has the region and service of a signature, and the headers that the
// signature covers: plain without a session token, withToken with one.
type scope struct {
	region, service  string
	plain, withToken covered
}

// covered lists the signed headers in alphabetical order.
type covered struct {
	lower, canonical []string
	joined           string
}

func cover(lower []string) covered {
	c := covered{lower: lower, joined: strings.Join(lower, ";")}
	for _, name := range lower {
		c.canonical = append(c.canonical, http.CanonicalHeaderKey(name))
	}
	return c
}

// scopeOf returns the scope of a request that the SDK signed, from the
// request's Authorization header.
func scopeOf(authorization string) (s scope, ok bool) {
	rest, ok := strings.CutPrefix(authorization, algorithm+" Credential=")
	if !ok {
		return s, false
	}
	parts := strings.Split(rest, ", ")
	if len(parts) != 3 {
		return s, false
	}
	credential := strings.Split(parts[0], "/") // id, day, region, service, ending
	signed, found := strings.CutPrefix(parts[1], "SignedHeaders=")
	if len(credential) != 5 || credential[4] != ending || !found {
		return s, false
	}
	token := strings.ToLower(tokenHeader)
	plain := slices.DeleteFunc(strings.Split(signed, ";"), func(name string) bool { return name == token })
	at, _ := slices.BinarySearch(plain, token)
	return scope{region: credential[2], service: credential[3], plain: cover(plain),
		withToken: cover(slices.Insert(slices.Clone(plain), at, token))}, true
}

// signer keeps the last signing key. Each day (UTC) has its own key.
type signer struct{ last atomic.Pointer[signingKey] }

type signingKey struct {
	secret, day string
	scope       string // region and service
	key         []byte
}

// key returns the signing key of a day (YYYYMMDD).
func (s *signer) key(secret, day string, in scope) []byte {
	name := in.region + "/" + in.service
	if k := s.last.Load(); k != nil && k.day == day && k.secret == secret && k.scope == name {
		return k.key
	}
	key := []byte("AWS4" + secret)
	for _, part := range []string{day, in.region, in.service, ending} {
		key = sum(key, part)
	}
	s.last.Store(&signingKey{secret, day, name, key})
	return key
}

func sum(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(text))
	return h.Sum(nil)
}

// authorization returns the value of the request's Authorization header.
func (s *signer) authorization(r *http.Request, body []byte, in scope, credentials aws.Credentials) string {
	headers := in.plain
	if credentials.SessionToken != "" {
		headers = in.withToken
	}
	text := make([]byte, 0, 2048)
	text = append(text, "POST\n/\n\n"...)
	for i, name := range headers.lower {
		text = append(append(append(append(text, name...), ':'), value(r, headers.canonical[i])...), '\n')
	}
	text = append(append(append(text, '\n'), headers.joined...), '\n')
	text = appendHash(text, body)

	at := r.Header[dateHeader][0]
	within := at[:day] + "/" + in.region + "/" + in.service + "/" + ending
	toSign := append(make([]byte, 0, 256), algorithm+"\n"+at+"\n"+within+"\n"...)
	toSign = appendHash(toSign, text)
	signature := sum(s.key(credentials.SecretAccessKey, at[:day], in), string(toSign))
	return algorithm + " Credential=" + credentials.AccessKeyID + "/" + within + ", SignedHeaders=" + headers.joined +
		", Signature=" + hex.EncodeToString(signature)
}

func appendHash(out, text []byte) []byte {
	hash := sha256.Sum256(text)
	return hex.AppendEncode(out, hash[:])
}

// value returns a header's value as the signature uses it. Signature Version 4
// requires the removal of surplus blanks. value does not remove any, because
// the SDK's headers have no surplus blanks.
func value(r *http.Request, canonical string) string {
	switch canonical {
	case "Host":
		if r.Host != "" {
			return r.Host
		}
		return r.URL.Host
	case "Content-Length":
		return strconv.FormatInt(r.ContentLength, 10)
	}
	if values := r.Header[canonical]; len(values) > 0 {
		return values[0]
	}
	return ""
}
