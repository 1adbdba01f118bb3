package dev

import (
	"encoding/json"
	"testing"
	"time"

	"svc/cmd/svc/cli"
	"svc/internal/test/testkit"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/domain/trip"
)

// The audit entry of an intervention names the status from which the trip was
// changed, also if somebody changed the trip after svc had read it.
func TestInterventionNamesTheStatusBeforeIt(t *testing.T) {
	t.Parallel()
	n := testkit.Table(t).Tenant(ids.New(ids.Tenant, time.Now()))
	at := timestamp.Format(time.Now())
	one := trip.Trip{ID: ids.New(ids.Trip, time.Now()), Status: trip.Pending, CustomerID: "cus_1", Currency: "USD",
		PaymentType: "CASH", OriginLat: "1", OriginLng: "1", RequestedAt: at, UpdatedAt: at, Version: 1}
	testkit.Must(t, n.Load(t.Context(), one.Item(n, 1)))
	stale, was, err := cli.ReadTrip(t.Context(), n, one.ID)
	testkit.Must(t, err)
	before := was.Status
	_, err = intervene(n, 1, &before).Assign(t.Context(), stale, trip.ByOperator("svc:test"), "drv_1")
	testkit.Must(t, err)
	reason := "lost"
	_, err = intervene(n, 1, &before).Cancel(t.Context(), stale, trip.ByOperator("svc:test"), &reason)
	testkit.Must(t, err)
	if before != trip.Assigned {
		t.Errorf("svc says that the trip was %s", before)
	}
	entries, _, err := audit.List(t.Context(), n, "", 10)
	testkit.Must(t, err)
	got := map[string]bool{}
	for _, e := range entries {
		var before, after struct{ Status string }
		if json.Unmarshal(e.Before, &before) != nil || json.Unmarshal(e.After, &after) != nil {
			t.Errorf("entry %s to %s", e.Before, e.After)
		}
		got[before.Status+" to "+after.Status] = true
	}
	if len(got) != 2 || !got["PENDING to ASSIGNED"] || !got["ASSIGNED to CANCELLED"] {
		t.Errorf("the audit log has %v", got)
	}
}
