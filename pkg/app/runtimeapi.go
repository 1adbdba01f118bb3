package app

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"slices"
)

// responseBuffer is the maximum size, in bytes, of a response that one write
// sends together with its headers. Most responses are smaller.
const responseBuffer = 64 << 10

// useRuntimeAPI prepares the connections to address, which is Lambda's runtime
// API. events is how many events the process handles at once. aws-lambda-go
// clones Go's default transport, so useRuntimeAPI changes that transport. There
// is no other way.
//
//   - It keeps a connection for each of the events. Go's default keeps two, and
//     would open a new connection for almost every event.
//   - A response and its headers are sent together.
//   - A streamed response has the header that Lambda's guide wants.
func useRuntimeAPI(address string, events int) {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return
	}
	if events > t.MaxIdleConnsPerHost {
		t.MaxIdleConnsPerHost, t.MaxIdleConns = events, max(t.MaxIdleConns, 2*events)
	}
	t.WriteBufferSize, t.ReadBufferSize = responseBuffer, 16<<10
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, to string) (net.Conn, error) {
		c, err := dial(ctx, network, to)
		if err == nil && to == address {
			c = &joined{Conn: c}
		}
		return c, err
	}
}

// joined is a connection that sends the headers of a request together with the first
// piece of its body, if the body has no known length. net/http sends such headers at
// once, because the body may come much later. For Lambda, the complete body exists
// before the request is sent, so nothing is delayed.
type joined struct {
	net.Conn
	headers []byte // request headers that are not sent yet, or empty
}

// Write implements io.Writer. It keeps the headers of a request with a chunked body, and
// sends them with the next bytes. net/http calls Write from one goroutine, and ends a
// chunked body with a last chunk, so kept headers are always sent.
func (c *joined) Write(p []byte) (int, error) {
	if len(c.headers) == 0 && waits(p) {
		c.headers = withMode(append(c.headers, p...))
		return len(p), nil
	}
	if len(c.headers) == 0 {
		return c.Conn.Write(p)
	}
	waited := len(c.headers)
	n, err := c.Conn.Write(append(c.headers, p...))
	c.headers = c.headers[:0]
	return max(0, n-waited), err
}

// Parts of a request's bytes, by which waits and withMode recognize its headers.
var (
	endOfHeaders = []byte("\r\n\r\n")
	streamedType = []byte("\r\nContent-Type: application/vnd.awslambda.http-integration-response\r\n")
	inChunks     = []byte("\r\nTransfer-Encoding: chunked\r\n")
)

// waits reports whether p holds the headers of a request whose body follows in chunks,
// and nothing else.
func waits(p []byte) bool {
	end := bytes.Index(p, endOfHeaders)
	return end >= 0 && end+len(endOfHeaders) == len(p) && bytes.HasPrefix(p, []byte("POST ")) &&
		bytes.Contains(p, inChunks)
}

// withMode adds the header that announces a streamed response, which aws-lambda-go
// does not send (AWS Lambda Developer Guide, "Implementing response streaming in a
// custom runtime").
func withMode(headers []byte) []byte {
	if !bytes.Contains(headers, streamedType) {
		return headers
	}
	end := len(headers) - len("\r\n")
	return slices.Insert(headers, end, []byte("Lambda-Runtime-Function-Response-Mode: streaming\r\n")...)
}
