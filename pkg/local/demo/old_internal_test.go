package demo

import (
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/domain/sandbox"
	"svc/pkg/domain/tenant"
)

// TestOlderDemoGetsTheSandbox: a demo that was loaded before it had a sandbox gets one
// at the next start, once.
func TestOlderDemoGetsTheSandbox(t *testing.T) {
	db, all, now := testkit.Table(t), demo.Tenants, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	t.Cleanup(func() { demo.Tenants = all })
	demo.Tenants = nil
	for _, p := range all {
		if !p.Tenant.Sandbox {
			demo.Tenants = append(demo.Tenants, p)
		}
	}
	_, err := Load(t.Context(), db, now)
	testkit.Must(t, err)
	demo.Tenants = all
	first, toys := db.Tenant(all[0].Tenant.ID), db.Tenant(demo.bySlug("sandbox").Tenant.ID)
	tx := first.Write()
	tx.Delete(sandboxMarker(first))
	testkit.Must(t, tx.Commit(t.Context()))
	for _, fill := range []bool{true, false} {
		_, err := Load(t.Context(), db, now)
		testkit.Must(t, err)
		it, err := toys.Get(t.Context(), sandbox.Key(toys))
		testkit.Must(t, err)
		if it.Found() != fill {
			t.Errorf("the roster is there: %v, want %v", it.Found(), fill)
		}
		tx := toys.Write()
		tx.Delete(it.Key) // what somebody deletes stays deleted
		testkit.Must(t, tx.Commit(t.Context()))
	}
	if _, err := (tenant.Store{DB: db}).BySlug(t.Context(), "sandbox"); err != nil {
		t.Error(err)
	}
}

// TestOmittedSettingsAreDefaults: what demo.json does not set is as in a new company.
func TestOmittedSettingsAreDefaults(t *testing.T) {
	for _, p := range demo.Tenants {
		if got := p.Settings.Dispatch.EarlyArrival; got != tenant.DefaultEarlyMinutes {
			t.Errorf("%s: drivers may arrive %d minutes before the time", p.Tenant.Slug, got)
		}
	}
	if demo.bySlug("harbor").Settings.Payments.Wallet {
		t.Error("harbor takes wallets")
	}
}
