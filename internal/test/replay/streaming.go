package replay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Streaming is a response that a process streams to Lambda. Read from Body what
// follows the head.
type Streaming struct {
	StatusCode int
	Headers    map[string]string
	Cookies    []string
	Body       *bufio.Reader
	// Sent are the headers of the process's request to the runtime API.
	Sent http.Header

	request *http.Request
	close   func()
}

// Close ends the request to the runtime API, as Lambda does after the end of the
// body. It returns what the process reports in the trailers.
func (s *Streaming) Close() error {
	defer s.close()
	if kind := s.request.Trailer.Get("Lambda-Runtime-Function-Error-Type"); kind != "" {
		return errors.New("the stream failed: " + kind)
	}
	return nil
}

// Stream sends the process an event, with the time that Lambda gives it, and returns
// the response when its head has arrived. The caller must Close it.
func (p *Process) Stream(ctx context.Context, event json.RawMessage, limit time.Duration) (*Streaming, error) {
	open := make(chan *Streaming)
	p.mu.Lock()
	p.count++
	id := fmt.Sprintf("00000000-0000-4000-8000-%012d", p.count)
	p.opens[id] = open
	p.mu.Unlock()
	select {
	case p.next <- invocation{id, event, limit}:
	case <-p.ended:
		return nil, fmt.Errorf("%s has ended: %s", p.name, p.cmd.ProcessState)
	case <-ctx.Done():
		return nil, fmt.Errorf("%s does not ask for work: %w", p.name, ctx.Err())
	}
	select {
	case s := <-open:
		return s, s.head()
	case <-p.ended:
		return nil, fmt.Errorf("%s ended with the event: %s", p.name, p.cmd.ProcessState)
	case <-ctx.Done():
		return nil, fmt.Errorf("%s does not answer: %w", p.name, ctx.Err())
	}
}

// Kill ends the process at once.
func (p *Process) Kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.ended
	_ = p.server.Close()
}

// stream passes a response on to Stream, and waits until it is read. It returns false
// if nobody waits for one.
func (p *Process) stream(r *http.Request) bool {
	p.mu.Lock()
	open := p.opens[r.PathValue("id")]
	p.mu.Unlock()
	if open == nil {
		return false
	}
	read := make(chan struct{})
	open <- &Streaming{Sent: r.Header, Body: bufio.NewReader(r.Body), request: r,
		close: sync.OnceFunc(func() { close(read) })}
	<-read
	return true
}

// head reads the JSON before the body, which ends with eight zero bytes.
func (s *Streaming) head() error {
	var text []byte
	for !bytes.HasSuffix(text, make([]byte, 8)) {
		b, err := s.Body.ReadByte()
		if err != nil {
			return fmt.Errorf("no head, but %q: %w", text, err)
		}
		text = append(text, b)
	}
	if mode := s.Sent.Get("Lambda-Runtime-Function-Response-Mode"); mode != "streaming" ||
		!strings.HasPrefix(s.Sent.Get("Content-Type"), "application/vnd.awslambda.http-integration-response") {
		return fmt.Errorf("the headers are %v", s.Sent)
	}
	return json.Unmarshal(bytes.TrimRight(text, "\x00"), s)
}
