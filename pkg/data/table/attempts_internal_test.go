package table

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc/pkg/base/fault"
)

// played responds to each request with the result of a function.
type played struct {
	respond func(r *http.Request, body string) (status int, text string, err error)
	bodies  []string

	checksum func() string // of the next response; nil for none
}

// RoundTrip implements http.RoundTripper.
func (p *played) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	p.bodies = append(p.bodies, string(sent))
	status, text := http.StatusOK, "{}"
	if p.respond != nil {
		if status, text, err = p.respond(r, string(sent)); err != nil {
			return nil, err
		}
	}
	header := http.Header{"Content-Type": {"application/x-amz-json-1.0"}}
	if p.checksum != nil {
		header.Set("X-Amz-Crc32", p.checksum())
	}
	return &http.Response{StatusCode: status, Header: header,
		Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)), Request: r}, nil
}

// openPlayed returns the table "t", whose responses are played.
func openPlayed(t *testing.T) (*DB, *played) {
	t.Helper()
	p := &played{}
	db, err := Open(t.Context(), Options{Table: "t", Endpoint: "http://table.example",
		Transport: func(http.RoundTripper) http.RoundTripper { return p }})
	if err != nil {
		t.Fatal(err)
	}
	p.respond = func(r *http.Request, _ string) (int, string, error) {
		switch {
		case strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query"):
			return http.StatusOK, `{"Items":[],"Count":0,"ScannedCount":0}`, nil
		case strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".BatchGetItem"):
			return http.StatusOK, `{"Responses":{},"UnprocessedKeys":{}}`, nil
		}
		return http.StatusOK, "{}", nil
	}
	return db, p
}

// increment adds one to a number of the tenant, in a transaction.
func increment(ctx context.Context, tn Tenant) error {
	tx := tn.Write()
	tx.Update(tn.Key("A", "A"), Change{Add: map[string]any{"n": 1}})
	return tx.Commit(ctx)
}

// TestGuardOfRequests: a request is sent only if its handle permits its keys, and
// if it names the right table.
func TestGuardOfRequests(t *testing.T) {
	db, wire := openPlayed(t)
	own, other := db.Tenant("x"), db.Tenant("y").Key("A", "A").encode()
	within := own.within(t.Context())
	get := func(ctx context.Context, table string, key map[string]types.AttributeValue) error {
		_, err := db.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key})
		return err
	}
	batch := func(ctx context.Context, table string, key map[string]types.AttributeValue) error {
		_, err := db.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{table: {
				Keys: []map[string]types.AttributeValue{own.Key("A", "A").encode(), key}}}})
		return err
	}
	query := func(ctx context.Context, table string, key map[string]types.AttributeValue) error {
		_, err := db.client.Query(ctx, &dynamodb.QueryInput{TableName: &table, KeyConditionExpression: aws.String(keyIs),
			ExpressionAttributeNames:  map[string]string{"#h": "pk"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":h": key["pk"]}})
		return err
	}
	write := func(ctx context.Context, table string, key map[string]types.AttributeValue) error {
		puts := []types.TransactWriteItem{{Put: &types.Put{TableName: &table, Item: own.Key("A", "A").encode()}},
			{Put: &types.Put{TableName: &table, Item: key}}}
		_, err := db.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: puts})
		return err
	}
	for name, do := range map[string]func(context.Context, string, map[string]types.AttributeValue) error{
		"get": get, "batch": batch, "query": query, "transaction": write} {
		if do(within, "t", other) == nil || do(t.Context(), "t", own.Key("A", "A").encode()) == nil ||
			do(within, "other", own.Key("A", "A").encode()) == nil {
			t.Errorf("%s: it passes the guard", name)
		}
		if len(wire.bodies) > 0 {
			t.Fatalf("%s: sent %s", name, wire.bodies)
		}
	}
}

// TestOutcomeOfAttempts: a transaction whose outcome is unknown after any attempt
// is not reported as unwritten. All its attempts have the same client request
// token.
func TestOutcomeOfAttempts(t *testing.T) {
	t.Parallel() // it waits between attempts
	lost := errors.New("lost")
	const throttled = `{"__type":"x#ThrottlingException"}`
	const conflicts = `{"__type":"x#TransactionCanceledException","CancellationReasons":[{"Code":"TransactionConflict"}]}`
	for name, test := range map[string]struct {
		first, then   string // response of the first attempt and the others; "" for none
		status, later int
		want          error
		attempts      int
	}{
		"lost, then carried out":   {"", "{}", 0, 200, nil, 2},
		"failed, then carried out": {"<html>", "{}", 502, 200, nil, 2},
		"lost, then throttled":     {"", throttled, 0, 400, fault.OutcomeUnknown(nil), 4},
		"failed, then throttled":   {"", throttled, 500, 400, fault.OutcomeUnknown(nil), 4},
		"lost, then a conflict":    {"", conflicts, 0, 400, fault.OutcomeUnknown(nil), 2},
		"always throttled":         {throttled, throttled, 400, 400, fault.Unavailable(nil), 4},
		"always lost":              {"", "", 0, 0, fault.OutcomeUnknown(nil), 4},
		"an unreadable success":    {"<html>", "", 200, 0, fault.OutcomeUnknown(nil), 1},
		"a failed condition": {`{"__type":"x#TransactionCanceledException","CancellationReasons":` +
			`[{"Code":"ConditionalCheckFailed"}]}`, "", 400, 0, ErrCondition, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, wire := openPlayed(t)
			wire.respond = func(*http.Request, string) (int, string, error) {
				text, status := test.first, test.status
				if len(wire.bodies) > 1 {
					text, status = test.then, test.later
				}
				if status == 0 {
					return 0, "", lost
				}
				return status, text, nil
			}
			if err := increment(t.Context(), db.Tenant("x")); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			sameTokens(t, wire.bodies, test.attempts)
		})
	}
}

func sameTokens(t *testing.T, bodies []string, attempts int) {
	t.Helper()
	tokens := map[string]bool{}
	for _, body := range bodies {
		_, rest, _ := strings.Cut(body, `"ClientRequestToken":"`)
		token, _, _ := strings.Cut(rest, `"`)
		tokens[token] = true
	}
	if len(bodies) != attempts || len(tokens) != 1 || tokens[""] {
		t.Errorf("%d attempts with the tokens %v", len(bodies), tokens)
	}
}

// TestEndOfTheContext: if the context ends during an attempt, the SDK sends
// no other attempt. The transaction may nevertheless have been written.
func TestEndOfTheContext(t *testing.T) {
	t.Parallel() // it waits for the deadline
	db, wire := openPlayed(t)
	wire.respond = func(r *http.Request, _ string) (int, string, error) {
		<-r.Context().Done()
		return 0, "", r.Context().Err()
	}
	late, end := context.WithTimeout(t.Context(), time.Second)
	defer end()
	if err := increment(late, db.Tenant("x")); !errors.Is(err, fault.OutcomeUnknown(nil)) {
		t.Errorf("out of time: %v", err)
	}
	gone, leave := context.WithCancel(t.Context())
	wire.respond = func(r *http.Request, _ string) (int, string, error) {
		leave()
		<-r.Context().Done()
		return 0, "", r.Context().Err()
	}
	if err := increment(gone, db.Tenant("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who went away: %v", err)
	}
	sameTokens(t, wire.bodies[:1], 1)
	if len(wire.bodies) != 2 {
		t.Errorf("%d attempts", len(wire.bodies))
	}
}

// TestDamagedResponse: after a response that does not match its checksum, the
// request is sent again.
func TestDamagedResponse(t *testing.T) {
	db, wire := openPlayed(t)
	wire.checksum = func() string {
		if len(wire.bodies) == 1 {
			return "7"
		}
		return "2745614147" // of {}
	}
	tn := db.Tenant("x")
	if _, err := tn.Get(t.Context(), tn.Key("A", "A")); err != nil || len(wire.bodies) != 2 {
		t.Errorf("%v after %d attempts", err, len(wire.bodies))
	}
	wire.bodies = nil
	if err := increment(t.Context(), tn); err != nil {
		t.Error(err)
	}
	sameTokens(t, wire.bodies, 2)
}

// TestErrorsWithoutSecrets: no error quotes a signature or an item.
func TestErrorsWithoutSecrets(t *testing.T) {
	t.Parallel() // it waits between attempts
	db, wire := openPlayed(t)
	tn := db.Tenant("x")
	for _, respond := range []func(*http.Request, string) (int, string, error){
		func(*http.Request, string) (int, string, error) { return 200, `{"Item":{"secret`, nil },
		func(*http.Request, string) (int, string, error) { return 500, `{"Item":{"secret`, nil },
		func(*http.Request, string) (int, string, error) { return 0, "", io.ErrUnexpectedEOF },
	} {
		wire.respond = respond
		_, err := tn.Get(t.Context(), tn.Key("secret", "secret"))
		if err = errors.Join(err, increment(t.Context(), tn)); err == nil {
			t.Fatal("no error")
		}
		for _, word := range []string{"secret", "AWS4", "Signature"} {
			if bytes.Contains([]byte(err.Error()), []byte(word)) {
				t.Errorf("it quotes %s: %v", word, err)
			}
		}
	}
}
