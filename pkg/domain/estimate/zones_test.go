package estimate_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/projection"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/settings"
)

// round returns an area of the given number of positions around a point.
func round(t *testing.T, lat, lng float64, positions int) settings.Area {
	t.Helper()
	at := make([]string, positions)
	for i := range at {
		angle := 2 * math.Pi * float64(i) / float64(positions-1)
		at[i] = fmt.Sprintf("[%.9f,%.9f]", lng+0.05*math.Cos(angle), lat+0.05*math.Sin(angle))
	}
	at[positions-1] = at[0]
	area, err := settings.ParseArea([]byte(`{"type":"Polygon","coordinates":[[` + strings.Join(at, ",") + `]]}`))
	testkit.Must(t, err)
	return area
}

// costs returns what an estimate and a ride at a place read, and whether they were allowed.
func (w *town) costs(lat, lng float64) (estimate, ride table.Usage, allowed bool) {
	w.t.Helper()
	w.Advance(2e9)
	body := fmt.Sprintf(`"originLat":%.4f,"originLng":%.4f,"destLat":%.4f,"destLng":%.4f`, lat, lng, lat, lng)
	a := w.Do("POST", "/api/v1/me/estimates", w.token, "{"+body+"}")
	estimate = w.Last().Usage
	b := w.Do("POST", "/api/v1/me/trips", w.token, `{"originAddress":"A",`+body+"}")
	ride = w.Last().Usage
	if allowed = b.Status == 201; (a.Status == 200) != allowed || !allowed && b.Code() != "outside_service_area" {
		w.t.Fatalf("%v %v: %d %s, %d %s", lat, lng, a.Status, a.Body, b.Status, b.Body)
	}
	return estimate, ride, allowed
}

// TestRidesReadZonesNearby: what a ride in a zone, at its edge or outside of all zones
// costs does not depend on how many zones the company has elsewhere.
func TestRidesReadZonesNearby(t *testing.T) {
	w := newTown(t, nil)
	testkit.InRounds(t, w.DB)
	w.set(func(d *settings.Document) { d.Dispatch.ServiceArea = settings.StrictArea })
	places := [][2]float64{{10, 10}, {10, 10.0499}, {10, 10.0601}, {60, 60}}
	add := func(lat, lng float64) {
		_, err := settings.AddZone(t.Context(), w.tenant, w.by, settings.Zone{Name: "Z", Active: true,
			Area: round(t, lat, lng, 1990)})
		testkit.Must(t, err)
		w.by.At = w.by.At.Add(1e9)
	}
	add(10, 10)
	w.costs(10, 10) // the process reads the settings
	for _, zones := range []int{0, 30} {
		for i := range zones {
			add(10+float64(1+i%6), 10+float64(i/6))
		}
		for i, at := range places {
			e, r, allowed := w.costs(at[0], at[1])
			if allowed != (i < 2) {
				t.Errorf("%v is served: %v", at, allowed)
			}
			if e.ReadUnits > 12 || r.ReadUnits > 11 || e.Requests > 8 || e.Sequential > 2 || r.Sequential > 2 {
				t.Errorf("%v: with %d zones an estimate costs %+v, and a ride %+v", at, zones+1, e, r)
			}
		}
	}
}

// TestZonesOfAnOlderBuild: zones without a cover are found before a sweep, and after it by
// their covers. What an older build then changes, adds or removes is mended by the stream.
func TestZonesOfAnOlderBuild(t *testing.T) {
	w := newTown(t, nil)
	w.Flags(w.tenant, map[string]any{"taxiEnabled": true, "deliveryEnabled": true, "currency": "USD", "readShards": 1,
		"writeShards": 1, "slug": "metro"})
	w.set(func(d *settings.Document) { d.Dispatch.ServiceArea = settings.StrictArea })
	old := func(id string, lat float64, active bool) table.Item {
		it := settings.ZoneKind.Item(w.tenant, "", settings.Zone{ID: id, Name: "Old", Active: active,
			Area: round(t, lat, 10, 100)})
		testkit.Must(t, w.tenant.Load(t.Context(), it))
		return it
	}
	seen := func(it table.Item) {
		t.Helper()
		image := map[string]events.DynamoDBAttributeValue{"pk": events.NewStringAttribute(it.PK),
			"sk": events.NewStringAttribute(it.SK), "type": events.NewStringAttribute("zone")}
		failed := projection.Zones{DB: w.DB}.Process(t.Context(), events.DynamoDBEvent{
			Records: []events.DynamoDBEventRecord{{EventName: "MODIFY", Change: events.DynamoDBStreamRecord{
				SequenceNumber: "1", Keys: image, NewImage: image}}}})
		if len(failed) > 0 {
			t.Fatalf("%+v", failed)
		}
	}
	want := func(step string, lat float64, served bool) {
		t.Helper()
		if _, _, allowed := w.costs(lat, 10); allowed != served {
			t.Errorf("%s: latitude %v is served: %v", step, lat, allowed)
		}
	}
	first, second := ids.New(ids.Zone, apitest.Start), ids.New(ids.Zone, apitest.Start)
	one := old(first, 10, true)
	want("before the sweep", 10, true)
	want("before the sweep", 11, false)
	testkit.Must(t, settings.CoverZones(t.Context(), w.tenant))
	flags, err := w.tenant.Get(t.Context(), authz.FlagsKey(w.tenant, 3))
	testkit.Must(t, err)
	if !flags.Flag(authz.ZonesCovered) || flags.Text("slug") != "metro" {
		t.Errorf("the flags after the sweep: %v", flags.Raw())
	}
	want("after the sweep", 10, true)
	seen(old(second, 20, true))
	want("added", 20, true)
	seen(old(first, 30, true))
	want("moved", 10, false)
	want("moved", 30, true)
	seen(old(second, 20, false))
	want("switched off", 20, false)
	tx := w.tenant.Write()
	tx.Delete(one.Key)
	testkit.Must(t, tx.Commit(t.Context()))
	seen(one)
	want("removed", 30, false)
}
