package settings_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

var by = audit.By{Who: "svc:test", At: apitest.Start}

func stand(t *testing.T) (*apitest.Stand, table.Tenant, string) {
	t.Helper()
	return standOver(t, testkit.Table(t))
}

func standOver(t *testing.T, db *table.DB) (*apitest.Stand, table.Tenant, string) {
	t.Helper()
	s := apitest.New(t, db, settings.Rows()...)
	made, err := tenant.Store{DB: db}.Create(t.Context(), by, tenant.Tenant{Slug: "metro", Name: "Metro Rides",
		CustomDomain: "ride.metro.example", TaxiEnabled: true})
	if err != nil {
		t.Fatal(err)
	}
	tn := db.Tenant(made.ID)
	return s, tn, s.Token(tn, authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_SETTINGS")
}

func TestOverview(t *testing.T) {
	wire := &testkit.Wire{}
	s, tn, token := standOver(t, testkit.TableOnWire(t, wire))
	wire.Rounds(true)
	const look = `"appName":null,"primaryColor":null,"secondaryColor":null,"iconBackgroundColor":null,"themeMode":null,` +
		`"logoUrl":null,"faviconUrl":null,"supportUrl":null,"termsUrl":null,"privacyUrl":null`
	want := `{"company":{"id":"` + tn.ID() +
		`","slug":"metro","name":"Metro Rides","currency":"USD","timezone":"UTC","customDomain":"ride.metro.example",` +
		look + `},` +
		`"settings":{"taxiEnabled":true,"deliveryEnabled":false,"pricing":{"taxRate":0,"cancellationFee":0,` +
		`"noShowFee":null,"freeWaitingMinutes":5,"waitingPerMinute":0,"roundFareToMultiple":0,"chargeCancellation":false},` +
		`"payments":{"cash":true,"card":true,"wallet":true},"dispatch":{"mode":"manual","autoAssign":false,"searchRadiusKm":5,` +
		`"offerTimeoutSeconds":30,"waveSize":1,"maxWaves":10,"scheduledLeadMinutes":15,"scheduledRides":true,"earlyArrivalMinutes":120,"driverStatus":"free","driverLicence":"any","serviceArea":"off"},"routing":{"url":null,"engine":"osrm","detourFactor":1.3,"averageSpeedKmh":30},"map":{"tiles":null,"credit":null}}}`
	if diff := cmp.Diff(want, s.Want(http.StatusOK, nil, "GET", "/api/v1/settings", token, "").Body); diff != "" {
		t.Error(diff)
	}
	if used := s.Last().Usage; used.Sequential != 1 {
		t.Errorf("%d round trips in sequence", used.Sequential)
	}
	patch, err := branding.ParsePatch(map[string]string{"appName": "Metro"})
	if err != nil {
		t.Fatal(err)
	}
	commit := func(ctx context.Context, tx *table.Tx, _ branding.Branding) error { return tx.Commit(ctx) }
	if _, err := branding.Change(t.Context(), tn, by, patch, commit); err != nil {
		t.Fatal(err)
	}
	if _, err := settings.Set(t.Context(), tn, by,
		func(d *settings.Document) error { d.Payments.Cash = false; return nil }); err != nil {
		t.Fatal(err)
	}
	want = strings.NewReplacer(`"appName":null`, `"appName":"Metro"`, `"cash":true`, `"cash":false`).Replace(want)
	if diff := cmp.Diff(want, s.Want(http.StatusOK, nil, "GET", "/api/v1/settings", token, "").Body); diff != "" {
		t.Error(diff)
	}
	for name, change := range map[string]func(*settings.Document){
		"tax": func(d *settings.Document) { d.Pricing.TaxRate = "1.5" },
		"fee": func(d *settings.Document) { d.Pricing.CancellationFee = "-1" },
	} {
		if _, err := settings.Set(t.Context(), tn, by,
			func(d *settings.Document) error { change(d); return nil }); err == nil {
			t.Errorf("accepted a wrong %s", name)
		}
	}
}

// A change of the settings keeps what a newer build has stored, also within the
// groups.
func TestNewerBuildsSettingsSurvive(t *testing.T) {
	_, tn, _ := stand(t)
	change := func(set func(*settings.Document)) {
		t.Helper()
		_, err := settings.Set(t.Context(), tn, by, func(d *settings.Document) error { set(d); return nil })
		testkit.Must(t, err)
	}
	change(func(d *settings.Document) { d.Pricing.TaxRate = "0.1" })
	it, err := tn.Get(t.Context(), settings.Key(tn))
	testkit.Must(t, err)
	newer := strings.NewReplacer(`"taxRate":0.1`, `"taxRate":0.1,"surge":{"most":2.50}`, `"cash":true`,
		`"cash":true,"voucher":true`).Replace(strings.TrimSuffix(it.Raw(), "}")) + `,"group":[1,null]}`
	tx := tn.Write()
	tx.Update(it.Key, table.Change{Set: map[string]any{"doc": newer, "attribute": "newer", "v": 7}})
	testkit.Must(t, tx.Commit(t.Context()))
	change(func(d *settings.Document) { d.Payments.Cash = false })
	it, err = tn.Get(t.Context(), settings.Key(tn))
	testkit.Must(t, err)
	for _, part := range []string{`"taxRate":0.1`, `"surge":{"most":2.50}`, `"cash":false`, `"voucher":true`,
		`"group":[1,null]`} {
		if !strings.Contains(it.Raw(), part) {
			t.Errorf("%s is not in %s", part, it.Raw())
		}
	}
	if it.Text("attribute") != "newer" || it.Layout != 7 {
		t.Errorf("attribute %q, layout %d", it.Text("attribute"), it.Layout)
	}
	d, err := settings.Read(t.Context(), tn)
	if err != nil || d.Payments.Cash || !d.Payments.Card || d.Pricing.TaxRate != "0.1" {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestServices(t *testing.T) {
	s, tn, token := stand(t)
	standard, err := settings.AddService(t.Context(), tn, by, settings.Service{CommissionRate: "0.20",
		ServiceType: settings.ServiceType{Name: "Standard", BaseFare: "3.50", PerKm: "1.455", Currency: "USD", Capacity: 4,
			Active: true}})
	if err != nil {
		t.Fatal(err)
	}
	van, err := settings.AddService(t.Context(), tn, by,
		settings.Service{ServiceType: settings.ServiceType{Name: "Van", MinimumFare: "12", Currency: "USD", Capacity: 6,
			Active: true}})
	if err != nil {
		t.Fatal(err)
	}
	it, err := tn.Get(t.Context(), settings.ServiceKey(tn, standard.ID))
	if err != nil || !it.Flag("active") || it.Number("commissionRate") != "0.2" {
		t.Errorf("what a ride request reads: %+v, %v", it, err)
	}
	want := `{"items":[{"id":"` + standard.ID +
		`","name":"Standard","description":null,"baseFare":3.5,"perKm":1.455,"perMinute":0,"minimumFare":0,` +
		`"currency":"USD","capacity":4,"iconUrl":null,"active":true}]}`
	if _, err := settings.SetService(t.Context(), tn, by, van.ID,
		func(s *settings.Service) error { s.Active = false; return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, s.Want(http.StatusOK, nil, "GET", "/api/v1/services", token, "").Body); diff != "" {
		t.Error(diff)
	}
	if all, err := settings.Services(t.Context(), tn); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
	for name, change := range map[string]func(*settings.Service){
		"commission":     func(s *settings.Service) { s.CommissionRate = "1.01" },
		"negative fare":  func(s *settings.Service) { s.BaseFare = "-1" },
		"no name":        func(s *settings.Service) { s.Name = " " },
		"long name":      func(s *settings.Service) { s.Name = strings.Repeat("ä", 101) },
		"icon":           func(s *settings.Service) { u := "http://x.example"; s.IconURL = &u },
		"capacity":       func(s *settings.Service) { s.Capacity = 0 },
		"free of charge": func(s *settings.Service) { s.MinimumFare = "0.00" },
		"id":             func(s *settings.Service) { s.ID = ids.New(ids.Service, apitest.Start) },
	} {
		if _, err := settings.SetService(t.Context(), tn, by, van.ID,
			func(s *settings.Service) error { change(s); return nil }); err == nil {
			t.Errorf("accepted: %s", name)
		}
	}
	if _, err := settings.SetService(t.Context(), s.Tenant("EUR", 1), by, van.ID,
		func(*settings.Service) error { return nil }); !errors.Is(err, fault.NotFound()) {
		t.Errorf("from another tenant: %v", err)
	}
}

func TestZones(t *testing.T) {
	s, tn, token := stand(t)
	if a := s.Want(http.StatusOK, nil, "GET", "/api/v1/zones", token, ""); a.Body != `{"items":[]}` {
		t.Errorf("none: %s", a.Body)
	}
	east, err := settings.Box("179", "-17.50", "-179", "-16")
	if err != nil {
		t.Fatal(err)
	}
	z, err := settings.AddZone(t.Context(), tn, by, settings.Zone{Name: "Taveuni", Priority: 5, Area: east})
	if err != nil {
		t.Fatal(err)
	}
	shown := func(area string) string {
		return `{"items":[{"id":"` + z.ID + `","name":"Taveuni","active":false,"priority":5,"area":` + area + `}]}`
	}
	if diff := cmp.Diff(shown(`{"type":"MultiPolygon","coordinates":[`+
		`[[[179,-17.5],[180,-17.5],[180,-16],[179,-16],[179,-17.5]]],`+
		`[[[-180,-17.5],[-179,-17.5],[-179,-16],[-180,-16],[-180,-17.5]]]]}`),
		s.Want(http.StatusOK, nil, "GET", "/api/v1/zones", token, "").Body); diff != "" {
		t.Error(diff)
	}
	if _, err = settings.SetZone(t.Context(), tn, by, z.ID, func(z *settings.Zone) (err error) {
		z.Area, err = settings.Box("179", "-17.5", "180", "-16")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(shown(`{"type":"Polygon","coordinates":[[[179,-17.5],[180,-17.5],[180,-16],[179,-16],`+
		`[179,-17.5]]]}`), s.Want(http.StatusOK, nil, "GET", "/api/v1/zones", token, "").Body); diff != "" {
		t.Error(diff)
	}
	if _, err := settings.AddZone(t.Context(), tn, by, settings.Zone{Name: "Z"}); err == nil {
		t.Error("a zone without an area is accepted")
	}
}

// A zone that an older build stored is shown as it is. An older build shows the
// largest part of a zone with several.
func TestZoneOfAnotherBuild(t *testing.T) {
	_, tn, _ := stand(t)
	type older struct {
		Name string `json:"name"`
		Area struct {
			Type        string            `json:"type"`
			Coordinates [][][]json.Number `json:"coordinates"`
		} `json:"area"`
	}
	id := ids.New(ids.Zone, apitest.Start)
	var was older
	was.Name, was.Area.Type = "Bow", "Polygon"
	was.Area.Coordinates = [][][]json.Number{{{"0", "0"}, {"1", "1"}, {"1", "0"}, {"0", "1"}, {"0", "0"}}}
	it := table.Item{Key: settings.ZoneKey(tn, id), Type: "zone", Version: 1, Doc: was}
	if err := tn.Load(t.Context(), it); err != nil {
		t.Fatal(err)
	}
	all, err := settings.Zones(t.Context(), tn)
	if err != nil || len(all) != 1 || len(all[0].Area) != 1 || all[0].Area[0][0][1][0] != "1" {
		t.Fatalf("%+v, %v", all, err)
	}
	area, err := settings.Box("170", "-2", "-179", "2")
	if err != nil {
		t.Fatal(err)
	}
	z, err := settings.AddZone(t.Context(), tn, by, settings.Zone{Name: "Two parts", Area: area})
	if err != nil {
		t.Fatal(err)
	}
	it, err = tn.Get(t.Context(), settings.ZoneKey(tn, z.ID))
	if err != nil {
		t.Fatal(err)
	}
	if err := it.Decode(&was); err != nil || was.Area.Type != "Polygon" || was.Area.Coordinates[0][0][0] != "170" {
		t.Errorf("an older build reads %+v, %v", was, err)
	}
}

// Service types that do not all fit into the function's response are cut. The
// inactive ones take no space from the active ones.
func TestLargestServices(t *testing.T) {
	testkit.LongHere(t)
	s, tn, token := stand(t)
	text, icon := strings.Repeat("\U0001f695", 1000), "https://x.example/"+strings.Repeat("i", 1900)
	var items []table.Item
	for i := range 1000 {
		items = append(items, settings.ServiceKind.Item(tn, "", settings.Service{CommissionRate: "0",
			ServiceType: settings.ServiceType{ID: ids.New(ids.Service, apitest.Start.Add(time.Duration(i)*time.Second)),
				Name: fmt.Sprint(i), Description: &text, IconURL: &icon, BaseFare: "1", PerKm: "0", PerMinute: "0",
				MinimumFare: "0", Currency: "USD", Capacity: 4, Active: i >= 20}}))
	}
	if err := tn.Load(t.Context(), items...); err != nil {
		t.Fatal(err)
	}
	var got struct{ Items []settings.ServiceType }
	a := s.Want(http.StatusOK, &got, "GET", "/api/v1/services", token, "")
	if len(a.Body) > 5_500_000 || len(got.Items) < 800 || got.Items[0].Name != "20" {
		t.Errorf("%d service types in %d bytes, the first is %s", len(got.Items), len(a.Body), got.Items[0].Name)
	}
}

// Zones that do not all fit into the function's response are cut, not a 5xx. The
// request does not read the zones that it cannot show.
func TestLargestZones(t *testing.T) {
	testkit.LongHere(t)
	s, tn, token := stand(t)
	area := settings.Area{{slices.Repeat([][]json.Number{{"-100.123456789", "-10.123456789"}}, 2000)}}
	var items []table.Item
	for i := range 150 {
		items = append(items, settings.ZoneKind.Item(tn, "", settings.Zone{ID: ids.New(ids.Zone, apitest.Start),
			Name: fmt.Sprint(i), Area: area}))
	}
	if err := tn.Load(t.Context(), items...); err != nil {
		t.Fatal(err)
	}
	var got struct{ Items []settings.Zone }
	a := s.Want(http.StatusOK, &got, "GET", "/api/v1/zones", token, "")
	if len(a.Body) > 5_500_000 || len(got.Items) < 50 {
		t.Errorf("%d zones in %d bytes", len(got.Items), len(a.Body))
	}
	seen := len(got.Items)
	for query := "?cursor="; seen < 150; {
		var rest api.Cut[settings.Zone]
		_ = json.Unmarshal([]byte(a.Body), &rest)
		if rest.NextCursor == nil {
			t.Fatalf("the list ends after %d of 150 zones", seen)
		}
		a = s.Want(http.StatusOK, &rest, "GET", "/api/v1/zones"+query+*rest.NextCursor, token, "")
		seen += len(rest.Items)
	}
	if strings.Contains(a.Body, "next_cursor") || seen != 150 {
		t.Errorf("%d zones, and the last page has a cursor: %v", seen, strings.Contains(a.Body, "next_cursor"))
	}
	if used := s.Last().Usage; used.Requests > 1+7 {
		t.Errorf("%d requests for %d zones", used.Requests, len(got.Items))
	}
}

// TestManyLargeZones checks that all zones are listed, even if they exceed the
// megabyte that DynamoDB returns per query.
func TestManyLargeZones(t *testing.T) {
	s, tn, token := stand(t)
	area := settings.Area{{slices.Repeat([][]json.Number{{"-0.123456789", "0.123456789"}}, 1994)}}
	for range 40 {
		if err := tn.Load(t.Context(),
			settings.ZoneKind.Item(tn, "", settings.Zone{ID: ids.New(ids.Zone, by.At), Name: "Z", Area: area})); err != nil {
			t.Fatal(err)
		}
	}
	var got struct{ Items []json.RawMessage }
	s.Want(http.StatusOK, &got, "GET", "/api/v1/zones", token, "")
	if len(got.Items) != 40 {
		t.Errorf("%d of 40 zones", len(got.Items))
	}
}

// Prices are in the tenant's currency, which may still change before its first
// trip.
func TestServicesFollowTheCurrency(t *testing.T) {
	s, tn, token := stand(t)
	if _, err := settings.AddService(t.Context(), tn, by, settings.Service{
		ServiceType: settings.ServiceType{Name: "Standard", BaseFare: "3", Currency: "USD", Capacity: 4,
			Active: true}}); err != nil {
		t.Fatal(err)
	}
	if _, err := (tenant.Store{DB: s.DB}).Change(t.Context(), tn.ID(), by,
		func(n *tenant.Tenant) error { n.Currency = "EUR"; return nil }); err != nil {
		t.Fatal(err)
	}
	var got struct{ Items []settings.ServiceType }
	s.Want(http.StatusOK, &got, "GET", "/api/v1/services", token, "")
	if len(got.Items) != 1 || got.Items[0].Currency != "EUR" {
		t.Errorf("%+v", got.Items)
	}
}
