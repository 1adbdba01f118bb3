package tenant_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
)

func setCurrency(ctx context.Context, s tenant.Store, id, currency string) error {
	_, err := s.Change(ctx, id, by(0), func(n *tenant.Tenant) error {
		n.Currency = currency
		return nil
	})
	return err
}

// price writes an item that represents a tenant's first trip. flags is a copy
// of the flags that the caller read before.
func price(ctx context.Context, h table.Tenant, id string, flags table.Item) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		tx := h.Write()
		tx.Create(table.Item{Key: h.Key("THING", id, "THING"), Type: "thing",
			Attrs: map[string]any{"currency": flags.Text("currency")}})
		tenant.Price(tx, flags)
		return tx.Commit(ctx)
	})
}

// copyOf reads a copy of the tenant's flags.
func copyOf(t *testing.T, h table.Tenant, n int) table.Item {
	t.Helper()
	it, err := h.Get(t.Context(), authz.FlagsKey(h, n))
	if err != nil || !it.Found() {
		t.Fatalf("copy %d: %v, %v", n, it.Found(), err)
	}
	return it
}

// The currency can change until an amount exists in it, whichever copy of the
// flags the writer read. Every other field of the tenant can still change, and
// such a change does not unlock the currency.
func TestCurrencyStays(t *testing.T) {
	db := testkit.Table(t)
	s := tenant.Store{DB: db}
	for n, slug := range map[int]string{0: "metro", authz.Copies - 1: "harbor"} {
		made := create(t, s, tenant.Tenant{Slug: slug, Name: "Metro"})
		h := db.Tenant(made.ID)
		if err := setCurrency(t.Context(), s, made.ID, "EUR"); err != nil {
			t.Fatal(err)
		}
		stale := copyOf(t, h, n)
		if err := setCurrency(t.Context(), s, made.ID, "GBP"); err != nil {
			t.Fatal(err)
		}
		if err := price(t.Context(), h, "stale", stale); err == nil {
			t.Error("an amount was written in a currency that had changed")
		}
		if err := price(t.Context(), h, "first", copyOf(t, h, n)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := setCurrency(t.Context(), s, made.ID, "USD"); !errors.Is(err, tenant.ErrPriced) {
				t.Errorf("copy %d: %v", n, err)
			}
			if _, err := s.Change(t.Context(), made.ID, by(0),
				func(n *tenant.Tenant) error { n.DeliveryEnabled = !n.DeliveryEnabled; return nil }); err != nil {
				t.Error(err)
			}
		}
		now, err := s.ByID(t.Context(), made.ID)
		if err != nil || now.Currency != "GBP" {
			t.Errorf("currency %q, %v", now.Currency, err)
		}
	}
}

// If a copy is already marked, Price adds no operation to the transaction of a
// further amount.
func TestPriceCostsNothingLater(t *testing.T) {
	db := testkit.Table(t)
	made := create(t, tenant.Store{DB: db}, tenant.Tenant{Slug: "metro", Name: "Metro"})
	h := db.Tenant(made.ID)
	for i, want := range []int{1, 0} {
		tx := h.Write()
		if tenant.Price(tx, copyOf(t, h, 0)); tx.Len() != want {
			t.Errorf("amount %d: %d operations, want %d", i, tx.Len(), want)
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := tenant.KeepCurrency(t.Context(), h); err != nil {
		t.Error(err)
	}
}

// If writes of the first amounts and a change of the currency compete, all
// written amounts are in the tenant's final currency.
func TestCurrencyRace(t *testing.T) {
	db := testkit.Table(t)
	s := tenant.Store{DB: db}
	made := create(t, s, tenant.Tenant{Slug: "metro", Name: "Metro"})
	h := db.Tenant(made.ID)
	var wg sync.WaitGroup
	var written atomic.Int32
	for i := range 6 {
		flags := copyOf(t, h, i)
		wg.Go(func() {
			switch err := price(context.Background(), h, string(rune('a'+i)), flags); {
			case err == nil:
				written.Add(1)
			case !errors.Is(err, table.ErrConflict):
				t.Error(err)
			}
		})
	}
	wg.Go(func() {
		if err := setCurrency(context.Background(), s, made.ID, "EUR"); err != nil && !errors.Is(err, tenant.ErrPriced) &&
			!errors.Is(err, table.ErrConflict) {
			t.Error(err)
		}
	})
	wg.Wait()
	now, err := s.ByID(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	if now.Currency != "USD" && written.Load() > 0 {
		t.Errorf("%d amounts in USD, the tenant has %s", written.Load(), now.Currency)
	}
}
