package testkit

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc"
	"svc/pkg/local"
	"svc/pkg/local/engine"
	"svc/pkg/table"
)

var (
	once    sync.Once
	running *engine.Engine
	failed  error
	tables  atomic.Int64
)

// Endpoint gives the URL of the test process's own engine, which keeps nothing.
// SVC_ENGINE picks which engine it is.
func Endpoint(t testing.TB) string {
	t.Helper()
	once.Do(func() {
		running, failed = engine.Start(context.Background(), engine.Options{Memory: true})
	})
	if failed != nil {
		t.Fatalf("the tests need a DynamoDB engine (make build fetches it): %v", failed)
	}
	return running.URL
}

// OnDynamoDBLocal says that the tests run on DynamoDB Local.
func OnDynamoDBLocal() bool { return strings.EqualFold(os.Getenv("SVC_ENGINE"), "dynamodb-local") }

// WriteUnits gives the write units of a usage as far as the engine counts them:
// DynamoDB Local counts only some operations of a transaction, and those twice.
// Budgets of writes are exact on dynoxide.
func WriteUnits(u table.Usage) float64 {
	if OnDynamoDBLocal() {
		return u.WriteUnits / 2
	}
	return u.WriteUnits
}

// Fresh gives a table name that no other test uses.
func Fresh() string { return fmt.Sprintf("t%d-%d", os.Getpid(), tables.Add(1)) }

// Name makes a fresh table on the test's engine and gives its name. Nothing in
// it is deleted behind the test's back, whatever its clock says.
func Name(t testing.TB, o local.TableOptions) string {
	t.Helper()
	o.Name, o.KeepExpired = Fresh(), true
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if _, err := local.EnsureTable(ctx, Endpoint(t), svc.Template, o); err != nil {
		t.Fatalf("making a table: %v", err)
	}
	return o.Name
}

// Table gives a fresh table without a stream.
func Table(t testing.TB) *table.DB {
	t.Helper()
	return TableOnWire(t, nil)
}

// TableOnWire gives a fresh table without a stream, reached over the wire.
func TableOnWire(t testing.TB, w *Wire) *table.DB {
	t.Helper()
	return Open(t, Name(t, local.TableOptions{StreamOff: true}), w)
}

// Open opens a table of the test's engine over a wire of its own.
func Open(t testing.TB, name string, w *Wire) *table.DB {
	t.Helper()
	o := table.Options{Table: name, Endpoint: Endpoint(t)}
	if w != nil {
		o.Wire = func(next http.RoundTripper) http.RoundTripper { return w.Over(next) }
	}
	db, err := table.Open(context.Background(), o)
	if err != nil {
		t.Fatalf("opening the table: %v", err)
	}
	return db
}
