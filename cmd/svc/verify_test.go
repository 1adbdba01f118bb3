package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"svc/internal/test/testkit"
	"svc/pkg/data/counter"
	"svc/pkg/domain/tenant"
)

// svc verify reports a damaged total with exit code 1, and svc rebuild corrects
// it. In the demo's own data svc verify finds no difference.
func TestVerifyAndRebuild(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := start(t)
	out, errs, code := w.run("verify")
	if code != 0 || !regexp.MustCompile(`^No differences. Compared: [1-9]\d+ counters, [1-9]\d* customers, [1-9]\d* drivers, `+
		`[1-9]\d* events, [1-9]\d* mean ratings, `+
		`[1-9]\d* posts, [1-9]\d+ rank rows, [1-9]\d+ search rows, [1-9]\d* trips, [1-9]\d* wallets, `+
		`[1-9]\d* wallet names\.\n$`).MatchString(out) {
		t.Fatalf("verify of the demo: %d %s %s", code, out, errs)
	}
	db := w.opened()
	n, err := tenant.Store{DB: db}.BySlug(t.Context(), "metro")
	if err != nil {
		t.Fatal(err)
	}
	changes := counter.Changes{}
	changes.Add(counter.Customers, "count", decimal.NewFromInt(13625-1280))
	tx := db.Tenant(n.ID).Write()
	changes.Write(tx, db.Tenant(n.ID), 0)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, errs, code = w.run("verify", "metro")
	if code != 1 || !strings.Contains(out, "TOTALS#CUSTOMERS TOTAL count") || !strings.Contains(errs, "svc rebuild") {
		t.Errorf("verify of damage: %d %s %s", code, out, errs)
	}
	if out := w.ok("rebuild", "metro"); !strings.Contains(out, "sums and rows") {
		t.Errorf("rebuild: %s", out)
	}
	if out, errs, code := w.run("verify", "metro"); code != 0 {
		t.Errorf("verify after the rebuild: %d %s %s", code, out, errs)
	}
}
