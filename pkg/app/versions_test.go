package app_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"svc/internal/test/script"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/projection"
	"svc/pkg/data/counter"
	"svc/pkg/data/table"
	"svc/pkg/domain/address"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

const newerLayout = 7

// writeAsNewer adds what a newer build might write: an attribute, a member of
// the document, and a higher v.
func writeAsNewer(t *testing.T, tn table.Tenant, it table.Item) {
	t.Helper()
	set := map[string]any{"newer": "attribute", "v": newerLayout}
	if doc := it.Raw(); doc != "" {
		set["doc"] = strings.Replace(strings.TrimSuffix(doc, "}")+`,"newer":{"a":[1,null]}}`, "{,", "{", 1)
	}
	tx := tn.Write()
	tx.Update(it.Key, table.Change{Set: set})
	testkit.Must(t, tx.Commit(t.Context()))
}

// familyOf returns the family of a refresh token. The token's first part names
// tenant, audience, actor and family.
func familyOf(t *testing.T, refreshToken string) string {
	t.Helper()
	where, _, _ := strings.Cut(refreshToken, ".")
	decoded, err := base64.RawURLEncoding.DecodeString(where)
	testkit.Must(t, err)
	return string(decoded[strings.LastIndexByte(string(decoded), '.')+1:])
}

// TestNewerBuildBesideThisOne: a newer build has written items of every kind.
// Ordinary requests change them, and what it wrote is still there.
func TestNewerBuildBesideThisOne(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	metro, rider, drives := s.Tenant("metro"), s.actors[authz.Rider], s.actors[authz.Driver]
	riding, driving, fleet := s.Token(t, rider), s.Token(t, drives), s.Token(t, s.actors[authz.Dashboard])
	service, tokens := s.ServiceType(t, "metro", "0.2"), s.SignIn(t, rider)
	change := func(color, label string) {
		s.Patch(t, fleet, "/api/v1/branding", `{"primaryColor":"`+color+`"}`).Must(t, 200)
		s.Post(t, riding, "/api/v1/me/addresses", `{"address":"5th Ave","lat":40.5,"lng":-73.5,"label":"`+label+`"}`).Must(t,
			201)
		s.Patch(t, driving, "/api/v1/me/status", `{"status":"`+label+`"}`).Must(t, 200)
		_, err := settings.SetService(t.Context(), metro, s.By(), service,
			func(x *settings.Service) error { x.Name = color; return nil })
		testkit.Must(t, err)
	}
	ride := script.Ride{Asks: `"serviceTypeId":"` + service + `"`, Fare: "12.5"}
	change("#111111", "ONLINE")
	s.Ride(t, riding, driving, ride)
	s.Drain(t)
	ride.ID = s.Ride(t, riding, "", ride, "request")
	s.Drain(t)
	open := trip.Key(metro, ride.ID)
	keys := map[string]table.Key{"trip": open, "counted": projection.CountedKey(open),
		"wallet": wallet.Key(metro, wallet.Driver, drives.ID), "driver": driver.Key(metro, drives.ID),
		"branding": branding.Key(metro),
		"address":  address.Key(metro, rider.ID, "40.5", "-73.5"), "service": settings.ServiceKey(metro, service),
		"counter": {PK: counter.DriverWallets.PartitionOf(metro, 0), SK: "TOTAL"},
		"family":  metro.Key("FAMILY", familyOf(t, tokens.RefreshToken), "FAMILY")}
	before := map[string]table.Item{}
	for kind, key := range keys {
		it, err := metro.Get(t.Context(), key)
		testkit.Must(t, err)
		if !it.Found() {
			t.Fatalf("no %s at %v", kind, key)
		}
		writeAsNewer(t, metro, it)
		before[kind] = it
	}
	change("#222222", "OFFLINE")
	s.Do(t, posted("/oauth/token", "grant_type", "refresh_token", "refresh_token", tokens.RefreshToken, "client_id",
		tokens.ClientID)).Must(t, 200)
	s.Ride(t, riding, driving, ride)
	s.Drain(t)
	for kind, key := range keys {
		it, err := metro.Get(t.Context(), key)
		testkit.Must(t, err)
		doc := it.Raw()
		if it.Layout != newerLayout || it.Text("newer") != "attribute" || doc != "" &&
			!strings.Contains(doc, `"newer":{"a":[1,null]}`) {
			t.Errorf("%s: v %d, attribute %q, document %s", kind, it.Layout, it.Text("newer"), doc)
		}
		if kind != "counter" && it.Version == before[kind].Version {
			t.Errorf("%s was not changed", kind)
		}
	}
}
