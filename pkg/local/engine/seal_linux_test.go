package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestStrangerInTheQueue: if somebody else connected to an engine first, that engine is
// not used. This holds even if that connection has ended since.
func TestStrangerInTheQueue(t *testing.T) {
	for name, first := range map[string]func(net.Conn){
		"": nil, "waits": func(net.Conn) {}, "has gone": func(c net.Conn) { _ = c.Close() },
		"was cut": func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0); _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0") // nothing accepts
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if first != nil {
				c, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				first(c)
			}
			s := &sealed{child: &child{done: make(chan struct{})}, free: make(chan *line, lines)}
			if err := s.connect(t.Context(), l.Addr().String()); err != nil {
				t.Fatal(err)
			}
			err = await(t.Context(), s.child, l.Addr().String(), s.own,
				func(q queue) bool { return q.waiting == lines && q.ours == lines })
			if want := first != nil; errors.Is(err, errPort) != want || err != nil != want {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestSealedEngineLosesNoConnection: clients that go away, large requests and more
// requests at once than there are connections leave the engine as it was.
func TestSealedEngineLosesNoConnection(t *testing.T) {
	o := Options{Kind: Dynoxide, Memory: true}
	o.Expose()
	e, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Stop)
	send := func(ctx context.Context, body io.Reader) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL+"/", body)
		if err != nil {
			return "", err
		}
		req.Header.Set("Content-Type", "application/x-amz-json-1.0")
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
		req.Header.Set("X-Amz-Date", "20260101T000000Z")
		req.Header.Set("Expect", "100-continue")
		req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, "+
			"SignedHeaders=host, Signature=00")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return fmt.Sprint(res.StatusCode, " ", string(text)), err
	}
	var all sync.WaitGroup
	for i := range 10 * lines {
		all.Go(func() {
			switch i % 3 {
			case 0: // gone at some moment
				ctx, cancel := context.WithCancel(t.Context())
				all.Go(cancel)
				_, _ = send(ctx, strings.NewReader("{}"))
			case 1: // gone within its request
				body, half := io.Pipe()
				all.Go(func() { _, _ = io.WriteString(half, `{"Lim`); _ = half.CloseWithError(io.ErrUnexpectedEOF) })
				_, _ = send(t.Context(), body)
			default:
				_, _ = send(t.Context(), strings.NewReader(`{"x":"`+strings.Repeat("x", 1<<20)+`"}`))
			}
		})
	}
	all.Wait()
	for range 2 * lines { // each connection serves
		if text, err := send(t.Context(), strings.NewReader("{}")); err != nil || !strings.HasPrefix(text, "200 ") {
			t.Fatalf("%s, %v", text, err)
		}
	}
	if e.Exposed {
		t.Error("the engine's port is open")
	}
}
