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
	row    int            // conflicts in a row, see Wire.Conflicts
	except []string       // see Wire.Conflicts
	seen   map[string]int // number of transactions, by the partitions that they write
}

// Conflicts answers transactions with a conflict from now on. Of the transactions that
// write the same partitions (apart from random identifiers), it cancels row of them and
// executes the next one, and so on. It always executes a transaction whose request
// contains one of the texts in except. Restore undoes it.
func (w *Wire) Conflicts(row int, except ...string) {
	w.set(func() { w.conflicts = &conflicts{row: row, except: except, seen: map[string]int{}} })
}

// Late simulates a transaction that arrives late: it responds to the next transaction
// with a 500, and to its retry with a conflict, but executes that retry.
func (w *Wire) Late() { w.set(func() { w.conflicts = &conflicts{late: true, seen: map[string]int{}} }) }

// conflict returns the response to a transaction if Conflicts or Late replaces the
// engine's, else nil.
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

// partitions returns the partition keys of a transaction, sorted. It removes random
// identifiers, because another attempt may have other ones.
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
