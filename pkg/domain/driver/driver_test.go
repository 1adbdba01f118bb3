package driver_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
)

func by(after time.Duration) audit.By {
	return audit.By{Who: "svc:test", At: apitest.Start.Add(after)}
}

func add(t *testing.T, tn table.Tenant, name, status string) driver.Record {
	t.Helper()
	r, err := driver.Create(t.Context(), tn, by(0),
		driver.Record{Driver: driver.Driver{FirstName: name, Email: name + "@metro.example", Status: status}}, "hash")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

type page struct {
	Items      []json.RawMessage
	NextCursor *string `json:"next_cursor"`
}

func idsOf(t *testing.T, p page) (out []string) {
	t.Helper()
	for _, item := range p.Items {
		var one struct{ ID string }
		if err := json.Unmarshal(item, &one); err != nil {
			t.Fatal(err)
		}
		out = append(out, one.ID)
	}
	return out
}

func TestList(t *testing.T) {
	s := apitest.New(t, testkit.Table(t), driver.Rows()...)
	tn, other := s.Tenant("USD", 3), s.Tenant("EUR", 1)
	token := s.Token(tn, authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_DRIVERS")
	var every, online []string
	for i, status := range []string{"ONLINE", "OFFLINE", "BUSY", "ONLINE", "ONLINE", "", "ONLINE"} {
		r := add(t, tn, string(rune('a'+i)), status)
		every = append(every, r.ID)
		if status == "ONLINE" {
			online = append(online, r.ID)
		}
	}
	add(t, other, "stranger", "ONLINE")
	for _, want := range [][]string{every, online} {
		slices.Sort(want)
		slices.Reverse(want)
	}
	read := func(query string) (got []string) {
		cursor := ""
		for range 10 {
			var p page
			s.Want(http.StatusOK, &p, "GET", "/api/v1/drivers?limit=2"+query+cursor, token, "")
			got = append(got, idsOf(t, p)...)
			if p.NextCursor == nil {
				break
			}
			cursor = "&cursor=" + *p.NextCursor
		}
		return got
	}
	if diff := cmp.Diff(every, read("")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(online, read("&status=ONLINE")); diff != "" {
		t.Error(diff)
	}
	for _, query := range []string{"status=online", "status=FLYING", "status=", "limit=0", "limit=201", "limit=x",
		"cursor=abc", "q=x", "limit=1&limit=2"} {
		if a := s.Do("GET", "/api/v1/drivers?"+query, token, ""); a.Status != http.StatusBadRequest ||
			a.Code() != "invalid_request" {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
		}
	}
	var p page
	s.Want(http.StatusOK, &p, "GET", "/api/v1/drivers?limit=1", token, "")
	if a := s.Do("GET", "/api/v1/drivers?limit=1&status=BUSY&cursor="+*p.NextCursor, token,
		""); a.Status != http.StatusBadRequest {
		t.Errorf("a cursor under another filter: %d", a.Status)
	}
}

// A listed driver has every specified field; a field without a value is null.
func TestShape(t *testing.T) {
	s := apitest.New(t, testkit.Table(t), driver.Rows()...)
	tn := s.Tenant("USD", 1)
	token := s.Token(tn, authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_DRIVERS")
	r := add(t, tn, "Ana", "")
	var p page
	s.Want(http.StatusOK, &p, "GET", "/api/v1/drivers", token, "")
	want := `{"id":"` + r.ID +
		`","firstName":"Ana","lastName":"","email":"Ana@metro.example","phone":null,"photoUrl":null,"status":"OFFLINE",` +
		`"rating":null,` +
		`"totalTrips":0,"vehiclePlate":null,"vehicleModel":null,"vehicleColor":null,"currentLat":null,"currentLng":null,` +
		`"locationUpdatedAt":null}`
	if diff := cmp.Diff(want, string(p.Items[0])); diff != "" {
		t.Error(diff)
	}
	_, err := driver.Store.Change(t.Context(), tn, by(time.Hour), r.ID, func(r *driver.Record) error {
		lat, lng, rating, plate, at := json.Number("40.71820"), json.Number("-74.0"), money.Amount("4.90"), "MTR-1",
			"2026-03-01T12:30:00.000Z"
		r.CurrentLat, r.CurrentLng, r.Rating, r.VehiclePlate, r.LocationUpdatedAt = &lat, &lng, &rating, &plate, &at
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Want(http.StatusOK, &p, "GET", "/api/v1/drivers", token, "")
	want = strings.NewReplacer(`"currentLat":null,"currentLng":null,"locationUpdatedAt":null`,
		`"currentLat":40.7182,"currentLng":-74,"locationUpdatedAt":"2026-03-01T12:30:00.000Z"`,
		`"rating":null`, `"rating":4.9`, `"vehiclePlate":null`, `"vehiclePlate":"MTR-1"`).Replace(want)
	if diff := cmp.Diff(want, string(p.Items[0])); diff != "" {
		t.Error(diff)
	}
}

func TestStatus(t *testing.T) {
	const path = "/api/v1/me/status"
	s := apitest.New(t, testkit.Table(t), driver.Rows()...)
	tn := s.Tenant("USD", 2)
	r := add(t, tn, "ana", "")
	token := s.Token(tn, authz.Driver, r.ID)
	for _, step := range []struct{ body, want string }{
		{`{"online":true}`, "ONLINE"}, {`{"online":true}`, "ONLINE"}, {`{"status":"BUSY"}`, "BUSY"},
		{`{"online":false}`, "OFFLINE"},
		{`{"status":"ONLINE"}`, "ONLINE"}, {`{"status":"OFFLINE"}`, "OFFLINE"},
	} {
		s.Advance(time.Second)
		want := `{"id":"` + r.ID + `","status":"` + step.want + `","updatedAt":"` +
			s.Now().Format("2006-01-02T15:04:05.000Z") + `"}`
		if a := s.Want(http.StatusOK, nil, "PATCH", path, token, step.body); a.Body != want {
			t.Errorf("%s: %s", step.body, cmp.Diff(want, a.Body))
		}
		for _, status := range []string{"ONLINE", "OFFLINE", "BUSY"} {
			found, _, err := driver.List(t.Context(), tn, status, "", 10)
			if err != nil || (len(found) == 1) != (status == step.want) {
				t.Errorf("%s: %d drivers are listed as %s, %v", step.body, len(found), status, err)
			}
		}
	}
	for _, body := range []string{``, `{}`, `{"online":true,"status":"ONLINE"}`, `{"online":null}`, `{"online":"yes"}`,
		`{"status":"online"}`, `{"status":"AWAY"}`, `{"status":null}`, `{"online":true,"at":1}`, `[]`, `{"online":true`} {
		if a := s.Do("PATCH", path, token, body); a.Status != http.StatusBadRequest || a.Code() != "invalid_request" {
			t.Errorf("%q: %d %s", body, a.Status, a.Body)
		}
	}
	if now, err := driver.Store.ByID(t.Context(), tn, r.ID); err != nil || now.Status != "OFFLINE" ||
		now.Email != r.Email {
		t.Errorf("the record: %+v, %v", now, err)
	}
}

// Concurrent status changes and trip counts are all kept.
func TestStatusRace(t *testing.T) {
	s := apitest.New(t, testkit.Table(t), driver.Rows()...)
	tn := s.Tenant("USD", 1)
	r := add(t, tn, "ana", "")
	token := s.Token(tn, authz.Driver, r.ID)
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			if a := s.Insist("PATCH", "/api/v1/me/status", token,
				`{"status":"`+[]string{"ONLINE", "BUSY"}[i%2]+`"}`); a.Status != http.StatusOK {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
		wg.Go(func() {
			count := func(ctx context.Context) error {
				tx := tn.Write()
				tx.Update(driver.Key(tn, r.ID), table.Change{Add: map[string]any{"totalTrips": 1, "version": 1}})
				return tx.Commit(ctx)
			}
			err := table.Retry(t.Context(), count)
			deadline := time.Now().Add(testkit.Patience)
			for errors.Is(err, fault.Unavailable(nil)) && time.Now().Before(deadline) {
				err = table.Retry(t.Context(), count)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if now, err := driver.Store.ByID(t.Context(), tn, r.ID); err != nil || now.TotalTrips != 10 ||
		now.Status == "OFFLINE" {
		t.Errorf("%+v, %v", now, err)
	}
}

// A driver who keeps changing status cannot prevent being disabled.
func TestDisableWins(t *testing.T) {
	s := apitest.New(t, testkit.Table(t), driver.Rows()...)
	tn := s.Tenant("USD", 1)
	r := add(t, tn, "ann", driver.Online)
	token, answers := s.Token(tn, authz.Driver, r.ID), []int{}
	_, err := driver.Store.Change(t.Context(), tn, by(time.Minute), r.ID, func(r *driver.Record) error {
		r.Disabled = true // and before it is written:
		answers = append(answers, s.Do(http.MethodPatch, "/api/v1/me/status", token, `{"online":true}`).Status)
		return nil
	})
	if err != nil {
		t.Fatalf("%v, while the driver was answered %v", err, answers)
	}
	if diff := cmp.Diff([]int{200, 401}, answers); diff != "" {
		t.Error(diff)
	}
	l, err := login.Find(t.Context(), tn, authz.Driver, r.Email)
	if err != nil || !l.Disabled {
		t.Errorf("sign-in: %+v, %v", l.Disabled, err)
	}
	entries, _, err := audit.List(t.Context(), tn, "", 2)
	if err != nil || !slices.ContainsFunc(entries, func(e audit.Entry) bool {
		return strings.Contains(string(e.Before), `"disabled":false`) && strings.Contains(string(e.After), `"disabled":true`)
	}) {
		t.Errorf("audit log: %+v, %v", entries, err)
	}
	if now, err := driver.Store.ByID(t.Context(), tn, r.ID); err != nil || now.Status != driver.Offline {
		t.Errorf("the disabled driver is %s, %v", now.Status, err)
	}
	if _, err := driver.Store.Change(t.Context(), tn, by(2*time.Minute), r.ID,
		func(r *driver.Record) error { r.Disabled = false; return nil }); err != nil {
		t.Fatal(err)
	}
	s.Want(http.StatusOK, nil, http.MethodPatch, "/api/v1/me/status", token, `{"online":false}`)
}

// If the command that disables a driver is interrupted after a conflict, the
// driver is either enabled or disabled completely: the record, the sign-in row
// and the audit log agree. A second run completes the change.
func TestInterruptedDisable(t *testing.T) {
	s := apitest.New(t, testkit.Table(t), driver.Rows()...)
	tn := s.Tenant("USD", 1)
	r := add(t, tn, "ann", driver.Online)
	token := s.Token(tn, authz.Driver, r.ID)
	disable := func(ctx context.Context, before func()) error {
		_, err := driver.Store.Change(ctx, tn, by(time.Minute), r.ID, func(r *driver.Record) error {
			r.Disabled = true
			before()
			return nil
		})
		return err
	}
	agree := func(disabled bool) {
		t.Helper()
		now, err := driver.Store.ByID(t.Context(), tn, r.ID)
		testkit.Must(t, err)
		l, err := login.Find(t.Context(), tn, authz.Driver, r.Email)
		testkit.Must(t, err)
		entries, _, err := audit.List(t.Context(), tn, "", 10)
		testkit.Must(t, err)
		logged := slices.ContainsFunc(entries, func(e audit.Entry) bool {
			return strings.Contains(string(e.After), `"disabled":true`)
		})
		if now.Disabled != disabled || l.Disabled != disabled || logged != disabled {
			t.Errorf("disabled: record %v, sign-in %v, audit log %v; want %v", now.Disabled, l.Disabled, logged, disabled)
		}
	}
	agree(false)
	ctx, interrupt := context.WithCancel(t.Context())
	attempts := 0
	if err := disable(ctx, func() {
		if attempts++; attempts > 1 {
			interrupt()
		}
		s.Do(http.MethodPatch, "/api/v1/me/status", token, `{"online":true}`)
	}); attempts != 2 {
		t.Fatalf("%d attempts: %v", attempts, err)
	}
	agree(true)
	testkit.Must(t, disable(t.Context(), func() {}))
	agree(true)
}

func TestSignIn(t *testing.T) {
	db := testkit.Table(t)
	s := apitest.New(t, db, driver.Rows()...)
	tn, other := s.Tenant("USD", 1), s.Tenant("EUR", 1)
	ana := add(t, tn, "ana", "")
	bob := add(t, tn, "bob", "")
	if _, err := driver.Create(t.Context(), tn, by(0),
		driver.Record{Driver: driver.Driver{FirstName: "A", Email: " ANA@metro.example"}}, ""); !errors.Is(err,
		login.ErrTaken) {
		t.Errorf("the address again: %v", err)
	}
	add(t, other, "ana", "") // the same address in another tenant is another account
	l, err := login.Find(t.Context(), tn, authz.Driver, "Ana@Metro.example")
	if err != nil || l.Actor != ana.ID || l.Hash != "hash" {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := login.Find(t.Context(), tn, authz.Rider, "ana@metro.example"); !errors.Is(err, fault.NotFound()) {
		t.Errorf("as a rider: %v", err)
	}
	rename := func(id, address string) error {
		_, err := driver.Store.Change(t.Context(), tn, by(time.Second), id, func(r *driver.Record) error {
			r.Email = address
			return nil
		})
		return err
	}
	if err := rename(bob.ID, "ana@metro.example"); !errors.Is(err, login.ErrTaken) {
		t.Errorf("a taken address: %v", err)
	}
	for _, address := range []string{"ANA@metro.example", "anna@metro.example", "ana@metro.example"} {
		if err := rename(ana.ID, address); err != nil {
			t.Fatal(err)
		}
		if l, err := login.Find(t.Context(), tn, authz.Driver, address); err != nil || l.Actor != ana.ID || l.Hash != "hash" {
			t.Errorf("%s: %+v, %v", address, l, err)
		}
	}
	if _, err := login.Find(t.Context(), tn, authz.Driver, "anna@metro.example"); !errors.Is(err, fault.NotFound()) {
		t.Errorf("the old address: %v", err)
	}
	token := s.Token(tn, authz.Driver, ana.ID)
	if err := setPassword(t, tn, ana, "new"); err != nil {
		t.Fatal(err)
	}
	if _, err := driver.Store.Change(t.Context(), tn, by(time.Minute), ana.ID,
		func(r *driver.Record) error { r.Disabled = true; return nil }); err != nil {
		t.Fatal(err)
	}
	if l, err = login.Find(t.Context(), tn, authz.Driver, "ana@metro.example"); err != nil || !l.Disabled ||
		l.Hash != "new" {
		t.Errorf("disabled: %+v, %v", l, err)
	}
	if a := s.Do("PATCH", "/api/v1/me/status", token, `{"online":true}`); a.Status != http.StatusUnauthorized {
		t.Errorf("a disabled driver's token: %d", a.Status)
	}
}

func setPassword(t *testing.T, tn table.Tenant, r driver.Record, hash string) error {
	t.Helper()
	l, err := login.Find(t.Context(), tn, authz.Driver, r.Email)
	if err != nil {
		return err
	}
	tx := tn.Write()
	login.SetPassword(tx, login.Key(tn, authz.Driver, r.Email), r.ID, l.Since, hash, by(time.Minute))
	return tx.Commit(t.Context())
}
