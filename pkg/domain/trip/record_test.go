package trip_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/base/money"
	"svc/pkg/domain/trip"
)

// full returns a trip with every field set.
func full() trip.Trip {
	t := at(trip.Completed, driver1)
	t.ServiceTypeID, t.CommissionRate = ptr("svt_01JT7M4C6Q8V2N5X9B3D1F7H0K"), ptr(money.Amount("0.175"))
	t.Prices = "3|1.2|0.3|5|0.45|5|0.05"
	t.DestAddress, t.DestLat, t.DestLng = ptr("1 Station Square"), ptr(json.Number("40.7306")),
		ptr(json.Number("-73.9866"))
	t.EstimatedFare, t.FinalFare = ptr(money.Amount("18")), ptr(money.Amount("18.5"))
	t.AcceptedAt, t.ArrivedAt = ptr("2026-03-01T12:01:00.000Z"), ptr("2026-03-01T12:05:00.000Z")
	t.StartedAt, t.CompletedAt = ptr("2026-03-01T12:06:00.000Z"), ptr("2026-03-01T12:26:00.000Z")
	t.ActualDistance, t.ActualDuration, t.Notes, t.CancelReason = ptr(money.Amount("6.4")), ptr(money.Amount("1200")),
		ptr("Bell twice"), ptr("none")
	return t
}

func TestItemRoundTrip(t *testing.T) {
	db := testkit.Table(t)
	tenant := db.Tenant("ten_01JT7M4C6Q8V2N5X9B3D1F7H0K")
	moved := full()
	moved.Before = map[trip.Event]trip.Status{trip.EventAccepted: trip.Searching}
	moved.Operators = map[trip.Event]string{trip.EventStarted: "svc:ada"}
	handed := full().Note(trip.EventRated, trip.ByRider(rider), trip.LogData{Rating: ptr(5), Comment: ptr("kind")}, later)
	handed.ScheduledFor = ptr("2026-03-02T12:00:00.000Z")
	for name, want := range map[string]trip.Trip{"everything known": full(), "moved by an operator": moved,
		"with a history": handed,
		"as created":     at(trip.Pending, "")} {
		t.Run(name, func(t *testing.T) {
			if err := tenant.Load(context.Background(), want.Item(tenant, 4)); err != nil {
				t.Fatal(err)
			}
			it, err := tenant.Get(context.Background(), trip.Key(tenant, want.ID))
			if err != nil {
				t.Fatal(err)
			}
			got, err := trip.FromItem(it)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for i, g := range it.G {
				if g != "" && !strings.HasPrefix(g, "T#"+tenant.ID()+"#") {
					t.Errorf("index key g%d %q is not led by the tenant", i+1, g)
				}
			}
		})
	}
}

func TestCommissionIsNeverShown(t *testing.T) {
	shown, err := json.Marshal(full())
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.ToLower(string(shown)); strings.Contains(text, "commission") || strings.Contains(text, "0.175") {
		t.Errorf("shown: %s", shown)
	}
}

func TestUnknownIsNull(t *testing.T) {
	shown, err := json.Marshal(at(trip.Pending, ""))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(shown, &got); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"driverId", "destAddress", "destLat", "destLng", "serviceTypeId", "notes",
		"estimatedFare", "finalFare", "acceptedAt",
		"arrivedAt", "startedAt", "completedAt", "actualDistance", "actualDuration", "cancelReason"} {
		if value, there := got[field]; !there || value != nil {
			t.Errorf("%s: got %v (there: %v), want null", field, value, there)
		}
	}
}
