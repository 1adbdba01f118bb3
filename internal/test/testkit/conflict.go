package testkit

import (
	"bytes"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// conflicts says which transactions of a wire meet a conflict. The local engines
// report a conflict only if two transactions really overlap.
type conflicts struct {
	late   bool           // see Wire.Late
	row    int            // how many in a row, see Wire.Conflicts
	except []string       // see Wire.Conflicts
	seen   map[string]int // transactions by what they write
}

// Conflicts cancels transactions from now on because of a conflict. Of those that
// write the same kinds of partitions, it cancels so many in a row and executes the
// next, whatever others write meanwhile. It does not count a transaction whose request
// contains one of the texts in except. Restore undoes it.
func (w *Wire) Conflicts(row int, except ...string) {
	w.set(func() { w.conflicts = &conflicts{row: row, except: except, seen: map[string]int{}} })
}

// Late responds to the next transaction with a 500, and to its retry with a
// conflict. Then it executes the transaction: it arrived late.
func (w *Wire) Late() { w.set(func() { w.conflicts = &conflicts{late: true, seen: map[string]int{}} }) }

// conflict returns the response to a transaction that does not get the engine's.
func (w *Wire) conflict(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
		return nil, nil
	}
	body, err := Body(&r.Body)
	if err != nil {
		return nil, err
	}
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
	of := ""
	if !c.late {
		of = partitions(body)
	}
	c.seen[of]++
	switch {
	case c.late && c.seen[of] == 1:
		return refusal(r, http.StatusInternalServerError, "InternalServerError"), nil
	case c.late:
		w.conflicts = nil
		res, err := w.next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		_ = res.Body.Close()
		return cancelled(r), nil
	case c.seen[of]%(c.row+1) != 0:
		return cancelled(r), nil
	}
	return nil, nil
}

// partitions returns the partition keys of a transaction, sorted, without random
// parts: another attempt may have other identifiers.
func partitions(body []byte) string {
	var keys []string
	for _, found := range partitionKey.FindAllSubmatch(body, -1) {
		keys = append(keys, string(randomPart.ReplaceAll(found[1], nil)))
	}
	slices.Sort(keys)
	return strings.Join(slices.Compact(keys), " ")
}

var (
	partitionKey = regexp.MustCompile(`"pk":\{"S":"([^"]*)"\}`)
	randomPart   = regexp.MustCompile(`[0-9A-Za-z-]{16,}`)
)

// cancelled is DynamoDB's response to a transaction that meets a conflict.
func cancelled(r *http.Request) *http.Response {
	return failure(r, http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",`+
		`"message":"for the service only","CancellationReasons":[{"Code":"TransactionConflict"}]}`)
}
