package app

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// pieces is a connection that keeps what is written, in pieces. It takes only
// so many bytes.
type pieces struct {
	net.Conn
	all  []string
	room int
}

func (p *pieces) Write(b []byte) (int, error) {
	n := min(len(b), p.room)
	p.all, p.room = append(p.all, string(b[:n])), p.room-n
	if n < len(b) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// TestJoined: headers wait only if a body in chunks follows. No byte is lost,
// and a failed write counts no byte of the headers.
func TestJoined(t *testing.T) {
	const head = "POST /response HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: b\r\n\r\n"
	const known = "POST /response HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n"
	const kind = "Content-Type: application/vnd.awslambda.http-integration-response\r\n"
	const streams = "POST /response HTTP/1.1\r\n" + kind + "Transfer-Encoding: chunked\r\n"
	const mode = "Lambda-Runtime-Function-Response-Mode: streaming\r\n\r\n"
	const get = "GET /next HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, test := range map[string]struct{ writes, want []string }{
		"a body":               {[]string{head, "2\r\nok\r\n", "0\r\n\r\n"}, []string{head + "2\r\nok\r\n", "0\r\n\r\n"}},
		"a stream":             {[]string{streams + "\r\n", "2\r\nok\r\n"}, []string{streams + mode + "2\r\nok\r\n"}},
		"no body":              {[]string{head, "0\r\n\r\n"}, []string{head + "0\r\n\r\n"}},
		"headers with a body":  {[]string{head + "2\r\nok\r\n"}, []string{head + "2\r\nok\r\n"}},
		"half the headers":     {[]string{head[:30], head[30:], "0\r\n\r\n"}, []string{head[:30], head[30:], "0\r\n\r\n"}},
		"a length":             {[]string{known, "a"}, []string{known, "a"}},
		"a GET":                {[]string{get}, []string{get}},
		"two requests":         {[]string{head, "0\r\n\r\n", get, head, "1"}, []string{head + "0\r\n\r\n", get, head + "1"}},
		"headers as the body":  {[]string{head, head, "0\r\n\r\n"}, []string{head + head, "0\r\n\r\n"}},
		"a long piece of body": {[]string{head, strings.Repeat("a", 9999)}, []string{head + strings.Repeat("a", 9999)}},
	} {
		p := &pieces{room: 1 << 20}
		c := &joined{Conn: p}
		for _, text := range test.writes {
			if n, err := c.Write([]byte(text)); n != len(text) || err != nil {
				t.Errorf("%s: %d, %v", name, n, err)
			}
		}
		if fmt.Sprintf("%q", p.all) != fmt.Sprintf("%q", test.want) {
			t.Errorf("%s: %q", name, p.all)
		}
	}
	for room, want := range map[int]int{0: 0, 10: 0, len(head): 0, len(head) + 3: 3} {
		c := &joined{Conn: &pieces{room: room}}
		_, _ = c.Write([]byte(head))
		if n, err := c.Write([]byte("12345")); n != want || !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%d bytes of room: %d, %v", room, n, err)
		}
	}
}

// unknown is a body whose length net/http does not know.
type unknown struct{ io.Reader }

// TestRuntimeAPI: requests with bodies of any kind and size arrive complete, one
// after another on one connection, and several at once.
func TestRuntimeAPI(t *testing.T) {
	var mu sync.Mutex
	connections := map[string]bool{}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		connections[r.RemoteAddr] = true
		mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = fmt.Fprintf(w, "%s %d %s", r.Method, len(body), r.Trailer.Get("Failed"))
	}))
	defer api.Close()
	client := runtimeClient(t, api.Listener.Addr().String())
	bodies := []func(n int) io.Reader{
		func(n int) io.Reader { return unknown{bytes.NewReader(make([]byte, n))} },
		func(n int) io.Reader { return bytes.NewReader(make([]byte, n)) },
	}
	for _, size := range []int{0, 1, 5000, responseBuffer - 1, responseBuffer, responseBuffer + 1, 6 << 20} {
		for i, body := range bodies {
			if got, want := send(t, client, api.URL, body(size)), fmt.Sprintf("POST %d yes", size); i == 0 && got != want {
				t.Errorf("%d bytes: %s", size, got)
			}
		}
		if got := send(t, client, api.URL, nil); got != "GET 0 " {
			t.Error(got)
		}
	}
	if len(connections) != 1 {
		t.Errorf("%d connections", len(connections))
	}
	var group sync.WaitGroup
	for n := range 16 {
		group.Go(func() {
			for range 20 {
				if got := send(t, client, api.URL, bodies[0](n)); got != fmt.Sprintf("POST %d yes", n) {
					t.Error(got)
				}
			}
		})
	}
	group.Wait()
}

// runtimeClient returns a client as aws-lambda-go makes it. It restores Go's
// default transport.
func runtimeClient(t *testing.T, address string) *http.Client {
	t.Helper()
	was := http.DefaultTransport
	http.DefaultTransport = was.(*http.Transport).Clone()
	useRuntimeAPI(address, 16)
	client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	http.DefaultTransport = was
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// send posts the body with a trailer, or sends a GET without a body.
func send(t *testing.T, client *http.Client, url string, body io.Reader) string {
	t.Helper()
	method := http.MethodPost
	if body == nil {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Error(err)
		return ""
	}
	if _, ok := body.(unknown); ok {
		req.Trailer = http.Header{"Failed": {"yes"}}
	}
	res, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// TestRuntimeAPIStream: the pieces of a streamed response arrive as they are
// sent. The headers arrive with the first piece.
func TestRuntimeAPIStream(t *testing.T) {
	arrived := make(chan string)
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		in := bufio.NewReader(r.Body)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			arrived <- line
		}
	}))
	defer api.Close()
	client := runtimeClient(t, api.Listener.Addr().String())
	body, made := io.Pipe()
	var group sync.WaitGroup
	group.Go(func() { send(t, client, api.URL, body) })
	for _, line := range []string{"one\n", "two\n"} {
		if _, err := io.WriteString(made, line); err != nil {
			t.Fatal(err)
		}
		if got := <-arrived; got != line {
			t.Errorf("%q", got)
		}
	}
	_ = made.Close()
	group.Wait()
}

// TestRuntimeAPIBrokenBody: a body that fails before its first piece ends the
// request, and the next one uses another connection.
func TestRuntimeAPIBrokenBody(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%d %s", len(body), r.Trailer.Get("Failed"))
	}))
	defer api.Close()
	client := runtimeClient(t, api.Listener.Addr().String())
	broken, made := io.Pipe()
	_ = made.CloseWithError(io.ErrClosedPipe)
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, api.URL, broken)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := client.Do(req); err == nil {
		_ = res.Body.Close()
		t.Error("it was sent")
	}
	if got := send(t, client, api.URL, unknown{strings.NewReader("text")}); got != "4 yes" {
		t.Error(got)
	}
}
