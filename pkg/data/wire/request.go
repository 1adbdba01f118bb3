package wire

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Requests builds signed requests. It needs Credentials, and knows only the
// operations that Learn has seen. It is safe for concurrent use.
type Requests struct {
	Credentials aws.CredentialsProvider
	Now         func() time.Time // nil means time.Now

	templates sync.Map // by operation: *template
	signer    signer
}

// template is what all requests of an operation have in common.
type template struct {
	request *http.Request // without body; its headers are those that never change
	scope   scope
}

const targetHeader, target = "X-Amz-Target", "DynamoDB_20120810."

// Headers that may differ between two requests of an operation.
const (
	authorizationHeader = "Authorization"
	dateHeader          = "X-Amz-Date"
	tokenHeader         = "X-Amz-Security-Token" //nolint:gosec // a name
	invocationHeader    = "Amz-Sdk-Invocation-Id"
	traceHeader         = "X-Amzn-Trace-Id"
)

// Learn stores the address and headers of a request that the SDK sends, unless
// it already knows the operation. The SDK finds the address and describes
// itself in headers. The header Amz-Sdk-Request has the number of the attempt;
// therefore Learn uses first attempts only. It ignores a request without a
// Signature Version 4, and one that is not a POST to "/".
func (r *Requests) Learn(sent *http.Request) {
	operation, ok := strings.CutPrefix(sent.Header.Get(targetHeader), target)
	if _, known := r.templates.Load(operation); !ok || known {
		return
	}
	scope, ok := scopeOf(sent.Header.Get(authorizationHeader))
	if !ok || sent.Method != http.MethodPost || sent.URL.RequestURI() != "/" ||
		!strings.HasPrefix(sent.Header.Get("Amz-Sdk-Request"), "attempt=1;") {
		return
	}
	header := sent.Header.Clone()
	for _, name := range []string{authorizationHeader, dateHeader, tokenHeader, invocationHeader, traceHeader} {
		header.Del(name)
	}
	header.Del("Content-Length")
	address := *sent.URL
	r.templates.Store(operation, &template{scope: scope, request: &http.Request{Method: http.MethodPost, URL: &address,
		Host: sent.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header}})
}

// New returns the signed request of an operation with the body. ok is false if
// the SDK must send it: Learn has not seen the operation, or there are no
// credentials.
func (r *Requests) New(ctx context.Context, operation string, body []byte) (request *http.Request, ok bool) {
	known, ok := r.templates.Load(operation)
	if !ok {
		return nil, false
	}
	t := known.(*template)
	credentials, err := r.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, false
	}
	now := time.Now
	if r.Now != nil {
		now = r.Now
	}
	values := [5]string{now().UTC().Format(dateFormat), invocation(), credentials.SessionToken, trace()}
	header := make(http.Header, len(t.request.Header)+len(values))
	for name, value := range t.request.Header {
		header[name] = value
	}
	for i, name := range []string{dateHeader, invocationHeader, tokenHeader, traceHeader} {
		if values[i] != "" {
			header[name] = values[i : i+1 : i+1]
		}
	}
	request = t.request.WithContext(ctx)
	request.Header = header
	request.ContentLength = int64(len(body))
	request.Body = Body(body)
	values[4] = r.signer.authorization(request, body, t.scope, credentials)
	header[authorizationHeader] = values[4:5:5]
	return request, true
}

// invocation returns a new id of a request, a UUID of version 4 (RFC 9562).
func invocation() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	var text [36]byte
	hex.Encode(text[:8], id[:4])
	hex.Encode(text[9:13], id[4:6])
	hex.Encode(text[14:18], id[6:8])
	hex.Encode(text[19:23], id[8:10])
	hex.Encode(text[24:], id[10:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}

// trace returns the trace id of the event that Lambda is processing, "" outside
// of Lambda. X-Ray and Lambda's detection of recursion use the id. trace also
// returns "" for an id with a character that needs an escape in a header.
func trace() string {
	if _, inLambda := os.LookupEnv("AWS_LAMBDA_FUNCTION_NAME"); !inLambda {
		return ""
	}
	id := os.Getenv("_X_AMZN_TRACE_ID")
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && !strings.ContainsRune("-=;:+&,", rune(c)) {
			return ""
		}
	}
	return id
}
