package testkit

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc"
	"svc/pkg/data/table"
	"svc/pkg/local/engine"
	"svc/pkg/local/schema"
)

var (
	once    sync.Once
	running *engine.Engine
	failed  error
	tables  atomic.Int64
)

// Endpoint returns the URL of the test process's own in-memory engine, or of the
// engine that AWS_ENDPOINT_URL_DYNAMODB names. SVC_ENGINE selects the engine to
// start.
func Endpoint(t testing.TB) string {
	t.Helper()
	once.Do(func() {
		running, failed = engine.Start(context.Background(), engine.Options{Memory: true, Direct: true})
	})
	if failed != nil {
		t.Fatalf("the tests need a DynamoDB engine (make build fetches it): %v", failed)
	}
	return running.URL
}

// OnDynamoDBLocal reports whether SVC_ENGINE selects DynamoDB Local.
func OnDynamoDBLocal() bool { return strings.EqualFold(os.Getenv("SVC_ENGINE"), "dynamodb-local") }

// WriteUnits returns the write units of a usage, as far as the engine counts
// them. DynamoDB Local counts only some operations of a transaction, and
// counts them twice. Write budgets are exact on dynoxide.
func WriteUnits(u table.Usage) float64 {
	if OnDynamoDBLocal() {
		return u.WriteUnits / 2
	}
	return u.WriteUnits
}

// Fresh returns a table name that no other test uses.
func Fresh() string { return fmt.Sprintf("t%d-%d", os.Getpid(), tables.Add(1)) }

// Name creates a new table on the test's engine and returns its name. The
// engine does not delete expired items in it, because the test may use another
// clock.
func Name(t testing.TB, o schema.Options) string {
	t.Helper()
	o.Name, o.KeepExpired = Fresh(), true
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if _, err := schema.EnsureTable(ctx, Endpoint(t), svc.Template, o); err != nil {
		t.Fatalf("creating a table: %v", err)
	}
	return o.Name
}

// timeouts matches the functions' default timeout in the template's Globals.
var timeouts = regexp.MustCompile(`(?m)^    Timeout: \d+$`)

// Template returns the template with another default timeout of the functions, in
// seconds. A function with a timeout of its own keeps it. The template's timeouts
// assume an idle machine.
func Template(seconds int) []byte {
	return timeouts.ReplaceAll(svc.Template, fmt.Appendf(nil, "    Timeout: %d", seconds))
}

// Table returns a new table without a stream.
func Table(t testing.TB) *table.DB {
	t.Helper()
	return TableOnWire(t, nil)
}

// TableOnWire returns a new table without a stream, accessed over the wire.
func TableOnWire(t testing.TB, w *Wire) *table.DB {
	t.Helper()
	return Open(t, Name(t, schema.Options{StreamOff: true}), w)
}

// Open opens a table of the test's engine over the wire. A nil wire means a new
// one.
func Open(t testing.TB, name string, w *Wire) *table.DB {
	t.Helper()
	if w == nil {
		w = &Wire{}
	}
	db, err := table.Open(context.Background(), table.Options{Table: name, Endpoint: Endpoint(t), Transport: w.Over})
	if err != nil {
		t.Fatalf("opening the table: %v", err)
	}
	wires.Store(db, w)
	t.Cleanup(func() { wires.Delete(db) })
	return db
}

// wires are the wires of the open tables.
var wires sync.Map // of *Wire by *table.DB

// InRounds sends the requests of an open table in rounds from now on (Wire.Rounds).
func InRounds(t testing.TB, db *table.DB) {
	t.Helper()
	w, ok := wires.Load(db)
	if !ok {
		t.Fatal("no table of this test")
	}
	w.(*Wire).Rounds(true)
}
