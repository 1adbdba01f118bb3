package engine

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"svc/pkg/local/tape"
)

const (
	// lines is how many connections a sealed engine has.
	lines = 32
	// fewFiles and manyFiles bound the search for the number of files that dynoxide
	// opens until it listens. With one less it ends at once.
	fewFiles, manyFiles = 8, 64
	// maxRequest is above DynamoDB's limit of 16 MB.
	maxRequest = 32 << 20
)

// startSealed starts an engine that has no network namespace, and lets it accept
// the door's connections only. Other users reach its port, but no connection of
// theirs is ever accepted.
//
// An accepted connection needs a file descriptor. The engine gets exactly as many
// as it needs to listen. The door connects, sees that nobody is before it in the
// queue, and raises the limit for its own connections. Then the limit is 0.
func (o order) startSealed(stderr io.Writer) (*backend, error) {
	for files := fewFiles; files <= manyFiles; files++ {
		b, err := o.run(stderr, files)
		if !errors.Is(err, errFewFiles) {
			return b, err
		}
	}
	return nil, errOpen
}

// seal connects to the engine and closes its port for everybody else.
func seal(ctx context.Context, c *child, at *url.URL, files int) (http.RoundTripper, error) {
	s := &sealed{child: c, free: make(chan *line, lines)}
	if err := s.connect(ctx, at.Host); err != nil {
		return nil, err
	}
	err := await(ctx, c, at.Host, s.own, func(q queue) bool { return q.waiting == lines && q.ours == lines })
	if err == nil {
		err = limitFiles(c, uint64(files+lines))
	}
	if err == nil {
		err = await(ctx, c, at.Host, s.own, func(q queue) bool { return q.accepted == lines })
	}
	if err == nil {
		err = limitFiles(c, 0)
	}
	return s, err
}

// connect makes the door's connections.
func (s *sealed) connect(ctx context.Context, at string) error {
	s.own = map[string]bool{}
	for len(s.own) < lines {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", at)
		if err == nil {
			s.own[hexAddress(conn.LocalAddr())] = true
			s.free <- &line{conn, bufio.NewReader(conn)}
			continue
		}
		if err := pause(ctx, s.child); err != nil {
			return err
		}
	}
	return nil
}

// pause waits a moment. It returns an error if the engine has ended or the time is over.
func pause(ctx context.Context, c *child) error {
	select {
	case <-c.done:
		return errFewFiles
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(2 * time.Millisecond):
		return nil
	}
}

// limitFiles sets how many descriptors the engine may have. It keeps those above the limit.
func limitFiles(c *child, n uint64) error {
	pid := c.cmd.Process.Pid
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit); err != nil || limit.Max < n {
		return errOpen
	}
	if limit.Cur = n; n == 0 {
		limit.Max = 0 // for ever
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
		return errOpen
	}
	return nil
}

// queue is who is connected to the engine.
type queue struct {
	waiting  int // connections that the engine has not accepted
	ours     int // the door's, accepted or not
	accepted int // the door's accepted ones
	others   int // a stranger's, accepted or not
	taken    int // a stranger's accepted ones
}

// await waits until done. Before the engine accepts, nobody else may be in the queue;
// later, no connection of somebody else may be accepted.
func await(ctx context.Context, c *child, at string, own map[string]bool, done func(queue) bool) error {
	for {
		q, err := connected(at, own)
		if err != nil {
			return err
		}
		switch {
		case q.taken > 0, q.accepted == 0 && (q.others > 0 || q.waiting > lines):
			return errPort
		case done(q):
			return nil
		}
		if err := pause(ctx, c); err != nil {
			return err
		}
	}
}

// connected reads the kernel's list of connections.
func connected(at string, own map[string]bool) (q queue, err error) {
	text, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return q, errOpen
	}
	local, err := net.ResolveTCPAddr("tcp", at)
	if err != nil {
		return q, fmt.Errorf("engine: %w", err)
	}
	listens := false
	for row := range strings.Lines(string(text)) {
		// number, local address, remote address, state, queues, timer, retransmissions, user, timeout, inode
		field := strings.Fields(row)
		if len(field) < 10 || field[1] != hexAddress(local) {
			continue
		}
		accepted := field[9] != "0"
		switch {
		case field[3] == "0A": // it listens, and its queue holds what it has not accepted
			listens = true
			if _, err := fmt.Sscanf(field[4], "00000000:%X", &q.waiting); err != nil {
				return q, errOpen
			}
		case own[field[2]]:
			q.ours++
			if accepted {
				q.accepted++
			}
		default:
			q.others++
			if accepted {
				q.taken++
			}
		}
	}
	if !listens {
		return q, errOpen
	}
	return q, nil
}

// hexAddress returns an IPv4 address as /proc/net/tcp shows it on a little-endian machine.
func hexAddress(a net.Addr) string {
	tcp, _ := a.(*net.TCPAddr)
	ip := tcp.IP.To4()
	return fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], tcp.Port)
}

// sealed sends requests on the only connections that the engine has. A client that
// goes away costs no connection: requests and responses are read whole.
type sealed struct {
	child *child
	free  chan *line
	own   map[string]bool
	lost  atomic.Int32
}

type line struct {
	net.Conn
	in *bufio.Reader
}

// RoundTrip implements http.RoundTripper.
func (s *sealed) RoundTrip(r *http.Request) (*http.Response, error) {
	out := r.Clone(context.Background())
	out.Header.Del("Expect")
	if r.Body != nil {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
		if err != nil {
			return nil, err
		}
		_ = r.Body.Close()
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	l := <-s.free
	res, err := l.exchange(out)
	if err == nil && !res.Close {
		s.free <- l
		return res, nil
	}
	_ = l.Close()
	if s.lost.Add(1) == lines {
		_ = s.child.cmd.Process.Signal(syscall.SIGKILL) // nothing reaches it any more
	}
	return res, err
}

// exchange sends a request and reads the whole response.
func (l *line) exchange(r *http.Request) (*http.Response, error) {
	if err := r.Write(l); err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(l.in, r)
	if err != nil {
		return nil, err
	}
	_, err = tape.Body(&res.Body)
	return res, err
}
