package table_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/data/table"
)

// The guard rejects every way to name another tenant's key through a handle,
// before anything is sent.
func TestGuardRefusesWhatTheHandleDoesNotCover(t *testing.T) {
	wire := &testkit.Wire{}
	db := testkit.TableOnWire(t, wire)
	calls := readsNotCovered(db)
	maps.Copy(calls, writesNotCovered(db))
	if len(calls) != 20 {
		t.Fatalf("%d calls; two have the same name", len(calls))
	}
	for name, do := range calls {
		t.Run(name, func(t *testing.T) {
			err := do()
			if err == nil || !strings.Contains(err.Error(), "table guard") {
				t.Errorf("got %v, want the guard's refusal", err)
			}
		})
	}
	if wire.Sent() != 0 {
		t.Errorf("%d requests were sent", wire.Sent())
	}
}

// readsNotCovered are calls that read keys that their handle does not permit.
func readsNotCovered(db *table.DB) map[string]func() error {
	mine, theirs, ctx := db.Tenant("ten_1"), db.Tenant("ten_2"), context.Background()
	clients := db.Platform("CLIENT")
	key := theirs.Key("THING", "1", "THING")
	return map[string]func() error{
		"get":   func() error { _, err := mine.Get(ctx, key); return err },
		"batch": func() error { _, err := mine.Batch(ctx, mine.Key("A", "A"), key); return err },
		"query": func() error { _, err := mine.Query(ctx, theirs.Partition("X"), table.Query{Limit: 1}); return err },
		"index": func() error {
			_, err := mine.Query(ctx, theirs.Partition("X"), table.Query{Index: 2, Limit: 1})
			return err
		},
		"merge": func() error {
			_, err := mine.Merge(ctx, []string{theirs.Partition("X"), theirs.Partition("Y")}, table.Query{Index: 2, Limit: 1})
			return err
		},
		"platform":           func() error { _, err := mine.Get(ctx, clients.Key("CLIENT", "1", "CLIENT")); return err },
		"tenant by platform": func() error { _, err := clients.Get(ctx, key); return err },
		"other kind": func() error {
			_, err := clients.Get(ctx,
				db.Platform("CODE").Key("CODE", "1", "CODE"))
			return err
		},
		"prefix of an id": func() error { _, err := db.Tenant("ten_").Get(ctx, key); return err },
		"empty tenant": func() error {
			_, err := db.Tenant("").Get(ctx,
				table.Key{PK: "T##X", SK: "X"})
			return err
		},
		"tenant with a separator": func() error { _, err := db.Tenant("ten_2#THING").Get(ctx, key); return err },
		"zero handle":             func() error { _, err := table.Join(mine.Handle).Get(ctx, key); return err },
	}
}

// writesNotCovered are calls that write keys that their handle does not permit,
// most of them in a transaction with a permitted key.
func writesNotCovered(db *table.DB) map[string]func() error {
	mine, theirs, ctx := db.Tenant("ten_1"), db.Tenant("ten_2"), context.Background()
	key := theirs.Key("THING", "1", "THING")
	commit := func(do func(tx *table.Tx)) error {
		tx := mine.Write()
		tx.Create(item(mine, "own"))
		do(tx)
		return tx.Commit(ctx)
	}
	indexed := item(mine, "1")
	indexed.G[2] = theirs.Partition("THINGS")
	return map[string]func() error{
		"put":            func() error { return commit(func(tx *table.Tx) { tx.Create(item(theirs, "1")) }) },
		"index position": func() error { return commit(func(tx *table.Tx) { tx.Put(indexed) }) },
		"update": func() error {
			return commit(func(tx *table.Tx) { tx.Update(key, table.Change{Set: map[string]any{"a": 1}}) })
		},
		"update of index": func() error {
			return commit(func(tx *table.Tx) {
				tx.Update(mine.Key("A", "A"), table.Change{Set: map[string]any{"g1": theirs.Partition("X")}})
			})
		},
		"delete": func() error { return commit(func(tx *table.Tx) { tx.Delete(key) }) },
		"check": func() error {
			return commit(func(tx *table.Tx) { tx.Check(key).If("attribute_exists(pk)") })
		},
		"remove": func() error { return mine.Footprint().Remove(ctx, []table.Key{mine.Key("A", "A"), key}) },
		"load":   func() error { return mine.Load(ctx, item(mine, "1"), item(theirs, "1")) },
	}
}
