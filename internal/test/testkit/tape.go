package testkit

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Tape stands in front of a table. It records the responses to requests and later replays
// them, byte for byte. While it replays, it still forwards a read whose response it has
// not recorded, but fails such a write. It knows nothing of the requests except which of
// them write.
type Tape struct {
	mu     sync.Mutex
	replay bool
	kept   map[question][]reply // of a read, the last one counts
	given  map[question]int     // writes since Rewind
	err    error                // of the last write whose response was not kept
}

// question identifies a request. Two reads are the same if their bodies have the same
// bytes in any order, because the order of JSON members varies. A write has new ids and
// times each time, so only its target counts: the nth write of a target gets the nth
// recorded response.
type question struct {
	target string
	bytes  [256]uint16 // number of occurrences of each byte value in a read's body
}

// reply is a recorded response.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// Record keeps the responses to the following requests.
func (t *Tape) Record() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.replay, t.kept, t.given = false, map[question][]reply{}, map[question]int{}
}

// Replay sends the kept responses from now on.
func (t *Tape) Replay() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.replay = true
}

// Rewind starts the replay of writes again from the first one. It returns an error if an
// earlier write had no recorded response.
func (t *Tape) Rewind() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.given)
	return t.err
}

// Send replays the response to the request, or forwards the request to next.
func (t *Tape) Send(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	body, err := Body(&r.Body)
	if err != nil {
		return nil, err
	}
	q := question{target: r.Header.Get("X-Amz-Target")}
	if !Writes(q.target) {
		for _, b := range body {
			q.bytes[b]++
		}
	}
	if kept, found, err := t.find(q); found || err != nil {
		return &http.Response{StatusCode: kept.status, Header: kept.header.Clone(), Request: r,
			Body: io.NopCloser(bytes.NewReader(kept.body)), ContentLength: int64(len(kept.body))}, err
	}
	res, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	text, err := Body(&res.Body)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.replay && t.kept != nil {
		t.kept[q] = append(t.kept[q], reply{res.StatusCode, res.Header, text})
	}
	return res, err
}

// find returns the recorded response, if the tape replays. found is false if the request
// must be forwarded.
func (t *Tape) find(q question) (kept reply, found bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.kept[q]
	switch n, asks := t.given[q], !Writes(q.target); {
	case !t.replay || asks && len(all) == 0:
		return kept, false, nil
	case asks:
		return all[len(all)-1], true, nil
	case n < len(all):
		t.given[q]++
		return all[n], true, nil
	default:
		t.err = fmt.Errorf("write %d (%s) is not in the recording", n+1, q.target)
		return kept, false, t.err
	}
}

// Writes reports whether a request of the target writes.
func Writes(target string) bool {
	return strings.HasSuffix(target, "Write") || strings.HasSuffix(target, "WriteItems") ||
		strings.HasSuffix(target, ".PutItem") || strings.HasSuffix(target, ".UpdateItem") ||
		strings.HasSuffix(target, ".DeleteItem")
}

// Body reads a body and puts it back, so that it can be read again.
func Body(body *io.ReadCloser) ([]byte, error) {
	text, err := io.ReadAll(*body)
	_ = (*body).Close()
	*body = io.NopCloser(bytes.NewReader(text))
	return text, err
}
