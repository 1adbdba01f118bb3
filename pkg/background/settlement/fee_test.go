package settlement_test

import (
	"testing"
	"time"

	"svc/internal/test/streamtest"
	"svc/internal/test/testkit"
	"svc/pkg/background/settlement"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/trip"
)

// TestCancellationFees: the fee of a cancelled trip is posted once, however often the
// stream repeats. If the stream loses it, the sweep, the check and a rebuild find it.
func TestCancellationFees(t *testing.T) {
	p := newFixture(t, streamtest.Table(t), 2)
	now := start.Add(30 * 24 * time.Hour) // long after the requests
	s := trip.Store{Tenant: p.tenant, WriteShards: 2, Now: now, Commit: commit}
	cancel := func(i int) trip.Trip {
		t.Helper()
		tr := p.ride(i)
		p.trips, tr.Status, tr.AcceptedAt, tr.CompletedAt, tr.FinalFare = nil, trip.Assigned, tr.CompletedAt, nil, nil
		tr.CommissionRate, tr.CancellationFee = ptr(money.Amount("0.2")), ptr(money.Amount("5"))
		p.load(tr.Item(p.tenant, 2))
		it, err := p.tenant.Get(t.Context(), trip.Key(p.tenant, tr.ID))
		testkit.Must(t, err)
		_, err = s.Cancel(t.Context(), it, trip.ByRider(tr.CustomerID), nil)
		testkit.Must(t, err)
		return tr
	}
	f := settlement.Function{DB: p.db, Now: func() time.Time { return now }}
	free := p.ride(9)
	p.trips, free.Status, free.CompletedAt = nil, trip.Cancelled, nil
	p.load(free.Item(p.tenant, 2))
	heard := cancel(0)
	for range 2 {
		streamtest.Deliver(t, f.Handle, streamtest.Records(t, p.name), 1, nil)
	}
	swept := cancel(1)
	out, err := settlement.Sweep(t.Context(), p.tenant, now.Add(-time.Hour), f.Now)
	if err != nil || len(out.Settled) != 1 || out.Settled[0] != swept.ID {
		t.Errorf("swept %+v, %v", out, err)
	}
	rebuilt := cancel(2)
	out, err = settlement.Sweep(t.Context(), p.tenant, time.Time{}, f.Now)
	if err != nil || len(out.Settled) != 1 || out.Settled[0] != rebuilt.ID || out.Examined != 3 {
		t.Errorf("rebuilt %+v, %v", out, err)
	}
	checked := cancel(3)
	if found := p.checked(false); len(found) != 1 || found[0].What != "receipt" {
		t.Errorf("found %+v", found)
	}
	p.checked(true)
	for _, tr := range []trip.Trip{heard, swept, rebuilt, checked} {
		if err := f.Redo(t.Context(), trip.Key(p.tenant, tr.ID)); err != nil {
			t.Error(err)
		}
		it, err := p.tenant.Get(t.Context(), receipt.Key(p.tenant, tr.ID))
		testkit.Must(t, err)
		r, err := receipt.FromItem(it)
		if err != nil || text(r.Total) != "5" || text(r.DriverAmount) != "4" || text(r.RiderAmount) != "-5" ||
			r.CompletedAt == nil || *r.CompletedAt != timestamp.Format(now) {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if it, err := p.tenant.Get(t.Context(), receipt.Key(p.tenant, free.ID)); err != nil || it.Found() {
		t.Errorf("a receipt for nothing: %v, %v", it, err)
	}
	if found := p.checked(false); len(found) > 0 {
		t.Errorf("left: %+v", found)
	}
	// A receipt of a trip that owes nothing is for a person to judge.
	p.load(table.Item{Key: receipt.Key(p.tenant, free.ID), Type: "receipt", Version: 1, Doc: receipt.Receipt{ID: "r"}})
	if found := p.checked(true); len(found) != 1 || found[0].What != "receipt" {
		t.Errorf("found %+v", found)
	}
}
