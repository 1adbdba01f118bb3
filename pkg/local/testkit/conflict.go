package testkit

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// conflicts says which transactions of a wire meet a conflict. The local engines
// report a conflict only if two transactions really overlap.
type conflicts struct {
	late   bool     // see Wire.Late
	except []string // see Wire.Conflicts
	seen   int
}

// Conflicts cancels every second transaction from now on, beginning with the
// next one, because of a conflict. It does not count a transaction whose request
// contains one of the texts in except. Restore undoes it.
func (w *Wire) Conflicts(except ...string) {
	w.set(func() { w.conflicts = &conflicts{except: except} })
}

// Late responds to the next transaction with a 500, and to its retry with a
// conflict. Then it executes the transaction: it arrived late.
func (w *Wire) Late() { w.set(func() { w.conflicts = &conflicts{late: true} }) }

// conflict returns the response to a transaction that does not get the engine's.
func (w *Wire) conflict(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.conflicts
	if c == nil {
		return nil, nil
	}
	for _, text := range c.except {
		if bytes.Contains(body, []byte(text)) {
			return nil, nil
		}
	}
	c.seen++
	switch {
	case c.late && c.seen == 1:
		return refusal(r, http.StatusInternalServerError, "InternalServerError"), nil
	case c.late:
		w.conflicts = nil
		res, err := w.next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		_ = res.Body.Close()
		return cancelled(r), nil
	case c.seen%2 == 1:
		return cancelled(r), nil
	}
	return nil, nil
}

// cancelled is DynamoDB's response to a transaction that meets a conflict.
func cancelled(r *http.Request) *http.Response {
	return failure(r, http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",`+
		`"message":"for the service only","CancellationReasons":[{"Code":"TransactionConflict"}]}`)
}
