package table_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/local/schema"
)

// changer executes requests and changes the responses to one operation. given
// receives the number of earlier responses, the table's name and the real
// response.
type changer struct {
	next      http.RoundTripper
	operation string
	table     string
	n         int
	given     func(n int, table string, real []byte) (status int, body string)
}

func (c *changer) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := c.next.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+c.operation) {
		return res, err
	}
	real, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	status, text := c.given(c.n, c.table, real)
	c.n++
	body := []byte(text)
	return &http.Response{StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"},
			"X-Amz-Crc32": {strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}, nil
}

// changed opens a table whose responses to an operation are changed.
func changed(t *testing.T, operation string, given func(n int, table string, real []byte) (status int,
	body string)) (table.Tenant, *changer) {
	t.Helper()
	c := &changer{operation: operation, table: testkit.Name(t, schema.Options{StreamOff: true}), given: given}
	db, err := table.Open(context.Background(), table.Options{Table: c.table, Endpoint: testkit.Endpoint(t),
		Transport: func(next http.RoundTripper) http.RoundTripper { c.next = next; return c }})
	if err != nil {
		t.Fatal(err)
	}
	return db.Tenant("ten_1"), c
}

const exception = `{"__type":"com.amazonaws.dynamodb.v20120810#`

// cancelled returns the response to a transaction that has a reason for each item.
func cancelled(reasons ...string) string {
	for i, code := range reasons {
		reasons[i] = `{"Code":"` + code + `"}`
	}
	return exception + `TransactionCanceledException","message":"cancelled","CancellationReasons":[` +
		strings.Join(reasons, ",") + `]}`
}

// TestResponsesOfABusyTable: DynamoDB's throttling errors become a 503, and its
// conflicts become ErrConflict. The local engines never return these errors.
func TestResponsesOfABusyTable(t *testing.T) {
	t.Parallel()
	write := func(ctx context.Context, tn table.Tenant) error {
		tx := tn.Write()
		tx.Create(item(tn, "1"))
		tx.Create(item(tn, "2"))
		return tx.Commit(ctx)
	}
	busy, conflict := fault.Unavailable(nil), table.ErrConflict
	for _, tc := range []struct {
		name, operation, body string
		do                    func(context.Context, table.Tenant) error
		want                  error
	}{
		{"throttled get", "GetItem", exception + `ProvisionedThroughputExceededException","message":"slow down"}`,
			func(ctx context.Context, tn table.Tenant) error {
				_, err := tn.Get(ctx, tn.Key("A", "A"))
				return err
			}, busy},
		{"throttled batch", "BatchGetItem", exception + `ThrottlingException","message":"slow down"}`,
			func(ctx context.Context, tn table.Tenant) error {
				_, err := tn.Batch(ctx, tn.Key("A", "A"))
				return err
			}, busy},
		{"throttled query", "Query", exception + `RequestLimitExceeded","message":"slow down"}`,
			func(ctx context.Context, tn table.Tenant) error {
				_, err := tn.Query(ctx, tn.Partition("A"), table.Query{Limit: 5})
				return err
			}, busy},
		{"throttled transaction", "TransactWriteItems", exception +
			`ProvisionedThroughputExceededException","message":"slow down"}`, write, busy},
		{"transaction cancelled by throttling", "TransactWriteItems", cancelled("None", "ThrottlingError"), write, busy},
		{"transaction cancelled by a conflict", "TransactWriteItems", cancelled("None", "TransactionConflict"), write,
			conflict},
		{"a conflict beside a failed condition", "TransactWriteItems",
			cancelled("ConditionalCheckFailed", "TransactionConflict"), write, conflict},
		{"a conflict beside throttling", "TransactWriteItems", cancelled("ThrottlingError", "TransactionConflict"), write,
			conflict},
		{"a failed condition beside throttling", "TransactWriteItems", cancelled("ConditionalCheckFailed", "ThrottlingError"),
			write, table.ErrCondition},
		{"a write that does not fit its item", "TransactWriteItems", cancelled("None", "ValidationError"), write,
			table.ErrData},
		{"a write that does not fit, of DynamoDB Local", "TransactWriteItems", exception + `ValidationException",` +
			`"message":"An operand in the update expression has an incorrect data type"}`, write, table.ErrData},
		{"one beside throttling", "TransactWriteItems", cancelled("ThrottlingError", "ValidationError"), write, busy},
		{"one beside a failed condition", "TransactWriteItems", cancelled("ConditionalCheckFailed", "ValidationError"),
			write, table.ErrCondition},
		{"a conflict without a transaction", "TransactWriteItems", exception +
			`TransactionConflictException","message":"conflict"}`, write, conflict},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel() // they wait between attempts
			tn, _ := changed(t, tc.operation, func(int, string, []byte) (int, string) { return 400, tc.body })
			if err := tc.do(t.Context(), tn); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

// TestResponsesOfAFailingTable: if the table fails or does not respond, a read
// returns a 503, because nothing was written. A transaction does not, because it
// may have been written. A read whose caller disconnected does not either.
func TestResponsesOfAFailingTable(t *testing.T) {
	t.Parallel()
	busy := fault.Unavailable(nil)
	for _, status := range []int{200, 500, 502} { // 200 with half a response
		for name, test := range map[string]struct {
			operation string
			do        func(context.Context, table.Tenant) error
			want      bool
		}{
			"get": {"GetItem", func(ctx context.Context, tn table.Tenant) error {
				_, err := tn.Get(ctx, tn.Key("A", "A"))
				return err
			}, status >= 500},
			"batch": {"BatchGetItem", func(ctx context.Context, tn table.Tenant) error {
				_, err := tn.Batch(ctx, tn.Key("A", "A"))
				return err
			}, status >= 500},
			"query": {"Query", func(ctx context.Context, tn table.Tenant) error {
				_, err := tn.Query(ctx, tn.Partition("A"), table.Query{Limit: 5})
				return err
			}, status >= 500},
			"transaction": {"TransactWriteItems", func(ctx context.Context, tn table.Tenant) error {
				tx := tn.Write()
				tx.Create(item(tn, "1"))
				return tx.Commit(ctx)
			}, false},
		} {
			t.Run(fmt.Sprintf("%s %d", name, status), func(t *testing.T) {
				t.Parallel() // they wait between attempts
				tn, _ := changed(t, test.operation, func(int, string, []byte) (int, string) { return status, "<html>" })
				if err := test.do(t.Context(), tn); err == nil || errors.Is(err, busy) != test.want {
					t.Errorf("got %v", err)
				}
			})
		}
	}
	tn, _ := changed(t, "none", nil)
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := tn.Get(gone, tn.Key("A", "A")); err == nil || errors.Is(err, busy) {
		t.Errorf("a caller who went away: %v", err)
	}
	late, end := context.WithTimeout(t.Context(), 0)
	defer end()
	if _, err := tn.Get(late, tn.Key("A", "A")); !errors.Is(err, busy) {
		t.Errorf("out of time: %v", err)
	}
}

// failed responds with an error of the engine.
func failed(int, string, []byte) (int, string) {
	return 500, exception + `InternalServerError","message":"x"}`
}

// afterFailure responds to the first attempt with an error of the engine, and later
// ones with the response, or with the engine's own if text is "".
func afterFailure(status int, text string) func(n int, table string, real []byte) (int, string) {
	return func(n int, table string, real []byte) (int, string) {
		if n == 0 {
			return failed(n, table, real)
		}
		return status, cmp.Or(text, string(real))
	}
}

// TestOutcomeOfATransaction: the error shows whether the transaction may have
// been written, also if the last attempt was rejected and an earlier one got
// no response.
func TestOutcomeOfATransaction(t *testing.T) {
	t.Parallel()
	const throttled = exception + `ThrottlingException","message":"slow down"}`
	for name, test := range map[string]struct {
		respond func(n int, table string, real []byte) (int, string)
		want    error
	}{
		"every attempt failed":       {failed, fault.OutcomeUnknown(nil)},
		"one failed, then throttled": {afterFailure(400, throttled), fault.OutcomeUnknown(nil)},
		"one failed, then a conflict": {afterFailure(400, exception+
			`TransactionCanceledException","message":"x","CancellationReasons":[{"Code":"TransactionConflict"}]}`),
			fault.OutcomeUnknown(nil)},
		"one failed, then a conflict without a transaction": {afterFailure(400, exception+
			`TransactionConflictException","message":"x"}`), fault.OutcomeUnknown(nil)},
		"one failed, then a failed condition": {afterFailure(400, exception+
			`TransactionCanceledException","message":"x","CancellationReasons":[{"Code":"ConditionalCheckFailed"}]}`),
			table.ErrCondition},
		"throttled": {func(int, string, []byte) (int, string) { return 400, throttled }, fault.Unavailable(nil)},
		"still being written": {func(int, string, []byte) (int, string) {
			return 400, exception + `TransactionInProgressException","message":"in progress"}`
		}, fault.OutcomeUnknown(nil)},
		"one failed, then carried out": {afterFailure(200, ""), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait between attempts
			tn, _ := changed(t, "TransactWriteItems", test.respond)
			tx := tn.Write()
			tx.Create(item(tn, "1"))
			if err := tx.Commit(t.Context()); !errors.Is(err, test.want) || errors.Is(err, table.ErrConflict) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
	t.Run("no connection", func(t *testing.T) {
		db, err := table.Open(t.Context(), table.Options{Table: "t", Endpoint: "http://127.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		tx := db.Tenant("ten_1").Write()
		tx.Create(item(db.Tenant("ten_1"), "1"))
		if err := tx.Commit(t.Context()); !errors.Is(err, fault.Unavailable(nil)) {
			t.Errorf("got %v", err)
		}
	})
}

// TestUnprocessedKeys: a batch get retries unprocessed keys a bounded number
// of times.
func TestUnprocessedKeys(t *testing.T) {
	for name, times := range map[string]int{"for a while": 3, "for ever": 1000} {
		t.Run(name, func(t *testing.T) {
			tn, c := changed(t, "BatchGetItem", func(n int, table string, real []byte) (int, string) {
				if n >= times {
					return 200, string(real)
				}
				return 200, `{"Responses":{},"UnprocessedKeys":{"` + table +
					`":{"Keys":[{"pk":{"S":"T#ten_1#THING#1"},"sk":{"S":"THING"}}],"ConsistentRead":true}}}`
			})
			if err := tn.Load(t.Context(), item(tn, "1")); err != nil {
				t.Fatal(err)
			}
			items, err := tn.Batch(t.Context(), item(tn, "1").Key)
			switch {
			case times < 1000 && (err != nil || !items[0].Found()):
				t.Errorf("after %d requests: %v", c.n, err)
			case times == 1000 && (!errors.Is(err, fault.Unavailable(nil)) || c.n > 10):
				t.Errorf("after %d requests: %v", c.n, err)
			}
		})
	}
}

// TestTransactionInProgress: the transaction may be written, so it is not a
// conflict. Otherwise the step would run again and fail because of its own
// write.
func TestTransactionInProgress(t *testing.T) {
	tn, _ := changed(t, "TransactWriteItems", func(int, string, []byte) (int, string) {
		return 400, exception + `TransactionInProgressException","message":"in progress"}`
	})
	steps, it := 0, item(tn, "1")
	err := table.Retry(t.Context(), func(ctx context.Context) error {
		steps++
		tx := tn.Write()
		tx.Create(it)
		return tx.Commit(ctx)
	})
	if err == nil || errors.Is(err, table.ErrConflict) || errors.Is(err, table.ErrCondition) || steps != 1 {
		t.Errorf("%d steps: %v", steps, err)
	}
	if got, err := tn.Get(t.Context(), it.Key); err != nil || !got.Found() {
		t.Fatalf("the transaction was not carried out: %v", err)
	}
}
