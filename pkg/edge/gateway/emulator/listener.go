package emulator

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
)

// Listener returns a listener like l, on which net/http accepts requests with
// malformed paths. On l itself, net/http would respond to them with a 400 in
// plain text. The connections of the returned listener escape the malformed
// parts, so that the request reaches a function. The function sends a 404 in
// our format, because no resource has such a path.
func Listener(l net.Listener) net.Listener { return listener{l} }

// listener is what the function Listener returns. Its connections are of type conn.
type listener struct{ net.Listener }

// Accept returns the next connection, as a conn.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	out := &conn{Conn: c}
	out.between.Store(true)
	return out, nil
}

// conn escapes malformed paths of request lines. Read needs no lock, because
// net/http never reads concurrently from a connection.
type conn struct {
	net.Conn
	between atomic.Bool // the next bytes begin with a request line
	rest    []byte      // bytes that were read and escaped, but not yet returned
}

// Write notes that a response begins, so the next bytes from the client are a new request.
func (c *conn) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(p, []byte("HTTP/1.1 100 ")) { // a body follows 100 Continue
		c.between.Store(true)
	}
	return c.Conn.Write(p)
}

// Read escapes the request line, if the next bytes begin with one.
func (c *conn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		n, err := c.Conn.Read(p)
		if err != nil || !c.between.Load() || !bytes.Contains(p[:n], []byte("\n")) {
			return n, err
		}
		c.between.Store(false)
		c.rest = escapeTarget(p[:n])
		if len(c.rest) <= len(p) {
			n, c.rest = copy(p, c.rest), nil
			return n, nil
		}
		c.rest = bytes.Clone(c.rest)
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// escapeTarget escapes the target of a request line at the start of data. It
// returns data unchanged if data does not begin with a complete request line, if
// the target does not begin with a slash, or if the target is well-formed.
func escapeTarget(data []byte) []byte {
	line, after, ok := bytes.Cut(data, []byte("\n"))
	start, end := bytes.IndexByte(line, ' ')+1, bytes.LastIndex(line, []byte(" HTTP/1."))
	if !ok || start == 0 || end <= start || line[start] != '/' {
		return data
	}
	target := string(line[start:end])
	path, query, hasQuery := strings.Cut(target, "?")
	escaped := escape(path, true)
	if hasQuery {
		escaped += "?" + escape(query, false)
	}
	if escaped == target {
		return data
	}
	return bytes.Join([][]byte{line[:start], []byte(escaped), line[end:], []byte("\n"), after}, nil)
}

// escape percent-encodes blanks and control characters. In a path it also encodes each
// percent sign that is not followed by two hexadecimal digits.
func escape(text string, path bool) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		stray := path && c == '%' && (i+2 >= len(text) || !isHex(text[i+1]) || !isHex(text[i+2]))
		if c <= ' ' || c == 0x7f || stray {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')
}
