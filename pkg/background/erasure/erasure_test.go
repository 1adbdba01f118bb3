package erasure_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/background/erasure"
	"svc/pkg/background/projection"
	"svc/pkg/background/reconcile"
	"svc/pkg/background/settlement"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/address"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/feedback"
	"svc/pkg/domain/privacy"
)

func request(t *testing.T, s *apptest.Service, token, body string) privacy.PrivacyRequest {
	t.Helper()
	return apptest.JSON[privacy.PrivacyRequest](t, s.Post(t, token, "/api/v1/privacy/requests", body).Must(t, 201))
}

// became waits until the request has the status.
func became(t *testing.T, s *apptest.Service, token, id string, want privacy.Status) privacy.PrivacyRequest {
	t.Helper()
	for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(20 * time.Millisecond) {
		r := apptest.JSON[privacy.PrivacyRequest](t, s.Get(t, token, "/api/v1/privacy/requests/"+id).Must(t, 200))
		if r.Status == want {
			return r
		}
		if time.Now().After(deadline) {
			t.Fatalf("the request is %+v, want %s", r, want)
		}
	}
}

// TestErasedRider: everything that the table ever had of a rider is in the export,
// and nothing of it is in the table after the erasure.
func TestErasedRider(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	boss, anna := s.Token(t, s.Operator(t, "metro", "boss")), s.Rider(t, "metro", "anna")
	token := s.Token(t, anna)
	s.Patch(t, boss, "/api/v1/customers/"+anna.ID, `{"firstName": "Zwenda", "lastName": "Quillfeather",
		"phone": "+12125550181"}`).Must(t, 200)
	s.Drain(t)
	s.Patch(t, boss, "/api/v1/customers/"+anna.ID, `{"lastName": "Ormsbury"}`).Must(t, 200)
	s.Post(t, token, "/api/v1/me/addresses", `{"address": "7 Wyvern Mews", "lat": 40.71281, "lng": -74.00612,
		"label": "Granny", "notes": "the blue gate"}`).Must(t, 201)
	trip := apptest.JSON[struct{ ID string }](t, s.Post(t, token, "/api/v1/me/trips", `{"originAddress": "9 Basilisk Row",
		"originLat": 40.712345, "originLng": -74.006789, "destAddress": "3 Gorgon Wharf", "destLat": 40.71, "destLng": -74.01,
		"paymentType": "CASH", "notes": "bring an umbrella"}`).Must(t, 201))
	const members = `{"externalId": "zq-outside", "metadata": {"zq-key": "zq-value"}}`
	for _, path := range []string{"customers/" + anna.ID, "trips/" + trip.ID} {
		s.Patch(t, boss, "/api/v1/"+path, members).Must(t, 200)
	}
	signsUp(t, s, anna.Email)
	values := []string{"Zwenda", "Quillfeather", "Ormsbury", "12125550181", anna.Email, "audience=rider", "7 Wyvern Mews",
		"Granny", "the blue gate", "9 Basilisk Row", "3 Gorgon Wharf", "bring an umbrella", "40.712345", "-74.006789",
		"changed my mind entirely"}
	erase := fmt.Sprintf(`{"kind": "erase", "customerId": %q}`, anna.ID)
	blocked := became(t, s, boss, request(t, s, boss, erase).ID, privacy.Blocked)
	if len(blocked.Reasons) != 1 || blocked.Reasons[0].Code != privacy.OpenTrip {
		t.Errorf("reasons: %+v", blocked.Reasons)
	}
	s.Post(t, token, "/api/v1/me/trips/"+trip.ID+"/cancel", `{"reason": "changed my mind entirely"}`).Must(t, 200)
	s.Drain(t)
	lettered(t, s, append([]string{"40.71281", "-74.00612"}, values...))
	before := scan(t, s, values)
	copied := copyOf(t, s, boss, fmt.Sprintf(`{"kind": "export", "customerId": %q}`, anna.ID))
	for _, value := range values {
		if len(before[value]) == 0 {
			t.Errorf("the table never had %q", value)
		}
		if !strings.Contains(copied, value) {
			t.Errorf("the copy lacks %q, which is in %v", value, before[value])
		}
	}
	if strings.Contains(copied, "zq-") {
		t.Errorf("the copy has what belongs to the company's other systems: %s", copied)
	}
	ready := became(t, s, boss, request(t, s, boss, erase).ID, privacy.Ready)
	s.Clock.Advance(6 * time.Minute)
	s.Post(t, boss, "/api/v1/privacy/requests/"+ready.ID+"/run", "").Must(t, 409)
	boss = s.SignIn(t, s.Operator(t, "metro", "boss")).AccessToken
	s.Post(t, boss, "/api/v1/privacy/requests/"+ready.ID+"/run", "").Must(t, 200)
	became(t, s, boss, ready.ID, privacy.Done)
	s.Drain(t)
	s.Get(t, token, "/api/v1/me").Must(t, 401)
	s.Get(t, boss, "/api/v1/trips/external/zq-outside").Must(t, 404)
	s.Post(t, boss, "/api/v1/customers", `{"email": "next@metro.example", "firstName": "Next", "externalId": "zq-outside"}`).
		Must(t, 201)
	for value, where := range scan(t, s, values) {
		t.Errorf("after the erasure %q is in\n%s", value, strings.Join(where, "\n"))
	}
	shown := s.Get(t, boss, "/api/v1/customers/"+anna.ID).Must(t, 200)
	c := apptest.JSON[map[string]any](t, shown)
	if c["id"] != anna.ID || c["erasedAt"] == nil || c["email"] != "" || c["name"] != "" {
		t.Errorf("the customer is %s", shown.Body)
	}
	s.Patch(t, boss, "/api/v1/customers/"+anna.ID, `{"firstName": "Back"}`).Must(t, 409)
	s.Post(t, boss, "/api/v1/privacy/requests", fmt.Sprintf(`{"kind": "export", "customerId": %q}`, anna.ID)).Must(t, 409)
	events := string(s.Get(t, boss, "/api/v1/events?type=customer.erased").Must(t, 200).Body)
	if strings.Count(events, `"customer.erased"`) != 1 {
		t.Errorf("events: %s", events)
	}
	s.Clock.Advance(3 * time.Minute)
	testkit.Must(t, s.Runtime.Scheduled()["JobsFunction"](t.Context())) // the second run
	s.Drain(t)
	verify(t, s)
}

// signsUp stores the sign-up link of a person who asked for an account before the
// address had one.
func signsUp(t *testing.T, s *apptest.Service, email string) {
	t.Helper()
	p := s.DB.Platform("LINK")
	tx := p.Write()
	login.AddLink(tx, p, login.Link{Audience: authz.Rider, TenantID: s.Tenant("metro").ID(), Email: email,
		SignUp: &login.SignUp{Query: "audience=rider&tenant_hint=metro"}}, url.Values{}, s.Clock.Now().Add(login.LinkLife))
	testkit.Must(t, tx.Commit(t.Context()))
}

// verify compares everything that is counted, as svc verify does.
func verify(t *testing.T, s *apptest.Service) {
	t.Helper()
	run := &reconcile.Run{Compared: func(string, int) {}, Found: func(d reconcile.Difference) {
		t.Errorf("svc verify: %+v", d)
	}}
	counts := projection.Check{Run: run, Step: projection.Step{Now: s.Clock.Now, RankRows: feedback.RankRows}}
	testkit.Must(t, counts.Tenant(t.Context(), s.Tenant("metro")))
	ledger := settlement.Check{Run: run, Now: s.Clock.Now}
	testkit.Must(t, ledger.Tenant(t.Context(), s.Tenant("metro")))
}

// copyOf returns the file of an export.
func copyOf(t *testing.T, s *apptest.Service, token, body string) string {
	t.Helper()
	r := became(t, s, token, request(t, s, token, body).ID, privacy.Done)
	if r.URL == nil {
		t.Fatalf("the export is %+v", r)
	}
	res, err := http.Get(*r.URL)
	testkit.Must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	testkit.Must(t, err)
	return string(text)
}

// TestErasedDriver: nothing of a driver is in the table after the erasure, whoever
// runs which part of it and however often.
func TestErasedDriver(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	boss, dan := s.Token(t, s.Operator(t, "metro", "boss")), s.Driver(t, "metro", "dan")
	token := s.Token(t, dan)
	s.Patch(t, boss, "/api/v1/drivers/"+dan.ID, `{"firstName": "Ulfric", "lastName": "Penhaligon", "phone": "+12125550199",
		"vehiclePlate": "QX-77412", "vehicleModel": "Vostok"}`).Must(t, 200)
	s.Post(t, boss, "/api/v1/drivers/"+dan.ID+"/documents", `{"kind": "DRIVING_LICENCE", "numberLast4": "Q9Z7",
		"expiresOn": "2041-04-30"}`).Must(t, 201)
	s.Patch(t, token, "/api/v1/me/status", `{"online": true}`).Must(t, 200)
	s.Do(t, apptest.Request{Method: http.MethodPut, Path: "/api/v1/me/location", Token: token,
		Body: fmt.Sprintf(`{"lat": 40.712399, "lng": -74.006166, "recordedAt": %q}`,
			s.Clock.Now().UTC().Format(time.RFC3339))}).Must(t, 200)
	s.Post(t, boss, "/api/v1/wallets/postings", fmt.Sprintf(`{"driverId": %q, "type": "TOP_UP", "amount": 7,
		"description": "for Ulfric's broken mirror"}`, dan.ID)).Must(t, 201)
	s.Drain(t)
	values := []string{"Ulfric", "Penhaligon", "12125550199", "QX-77412", "Vostok", "Q9Z7", "40.712399", dan.Email}
	before := scan(t, s, values)
	copied := copyOf(t, s, boss, fmt.Sprintf(`{"kind": "export", "driverId": %q}`, dan.ID))
	for _, value := range values {
		if len(before[value]) == 0 || !strings.Contains(copied, value) {
			t.Errorf("%q is not in the copy; it was in %v", value, before[value])
		}
	}
	erase := fmt.Sprintf(`{"kind": "erase", "driverId": %q}`, dan.ID)
	blocked := became(t, s, boss, request(t, s, boss, erase).ID, privacy.Blocked)
	if len(blocked.Reasons) != 1 || blocked.Reasons[0].Code != privacy.Balance {
		t.Errorf("reasons: %+v", blocked.Reasons)
	}
	s.Post(t, boss, "/api/v1/wallets/postings", fmt.Sprintf(`{"driverId": %q, "type": "PAYOUT", "amount": 7,
		"description": "all of it"}`, dan.ID)).Must(t, 201)
	s.Post(t, boss, "/api/v1/privacy/requests/"+blocked.ID+"/run", "").Must(t, 200)
	r := erasure.Runner{DB: s.DB, Files: s.Runtime.Files, Now: s.Clock.Now, AtOnce: 1}
	var all sync.WaitGroup
	for range 4 { // beside the service's own
		all.Go(func() {
			for more := true; more; {
				more, _ = r.Slice(t.Context(), s.Tenant("metro"), blocked.ID)
			}
		})
	}
	all.Wait()
	became(t, s, boss, blocked.ID, privacy.Done)
	s.Drain(t)
	for value, where := range scan(t, s, values) {
		t.Errorf("after the erasure %q is in\n%s", value, strings.Join(where, "\n"))
	}
	verify(t, s)
}

// TestErasedAgainAfterRestore: the journal of one table erases the person in another
// that is older.
func TestErasedAgainAfterRestore(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	anna := s.Rider(t, "metro", "anna")
	token := s.Token(t, anna)
	s.Post(t, token, "/api/v1/me/trips", `{"originAddress": "9 Basilisk Row", "originLat": 40.7, "originLng": -74}`).
		Must(t, 201) // it was over when the person was erased
	s.Drain(t)
	values := []string{"9 Basilisk Row", anna.Email}
	if before := scan(t, s, values); len(before) != len(values) {
		t.Fatalf("the table has %v", before)
	}
	r := erasure.Runner{DB: s.DB, Now: s.Clock.Now}
	entry := erasure.Erased{Tenant: s.Metro.ID, Request: ids.New(ids.Privacy, s.Clock.Now()), Person: anna.ID,
		At: "2026-05-04T03:00:00.000Z"}
	for range 2 {
		testkit.Must(t, r.Repeat(t.Context(), entry))
	}
	s.Drain(t)
	for value, where := range scan(t, s, values) {
		t.Errorf("after the erasure %q is in\n%s", value, strings.Join(where, "\n"))
	}
	var journal []string
	testkit.Must(t, erasure.Journal(t.Context(), s.Tenant("metro"), func(e erasure.Erased) error {
		journal = append(journal, e.Person)
		return nil
	}))
	if len(journal) != 1 || journal[0] != anna.ID {
		t.Errorf("the journal has %v", journal)
	}
}

// TestErasureOfAnotherTenant: another company's operator gets the same bytes as for a
// request or person that does not exist, and an unknown person is a 400 on the field.
func TestErasureOfAnotherTenant(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	boss, other := s.Token(t, s.Operator(t, "metro", "boss")), s.Token(t, s.Operator(t, "harbor", "boss"))
	anna := s.Rider(t, "metro", "anna")
	erase := request(t, s, boss, fmt.Sprintf(`{"kind": "erase", "customerId": %q}`, anna.ID))
	answers := map[string][]byte{}
	for _, call := range []struct{ method, path, body string }{
		{"GET", "/" + erase.ID, ""}, {"GET", "/prv_" + strings.Repeat("0", 26), ""}, {"POST", "/" + erase.ID + "/run", ""},
		{"POST", "/prv_" + strings.Repeat("0", 26) + "/run", ""},
		{"POST", "", fmt.Sprintf(`{"kind": "erase", "customerId": %q}`, anna.ID)},
		{"POST", "", `{"kind": "export", "customerId": "cus_00000000000000000000000000"}`},
		{"POST", "", `{"kind": "erase", "customerId": "anna"}`}} {
		kind, status := "unknown id", 404
		if call.path == "" {
			kind, status = "unknown person", 400
		}
		got := s.Do(t, apptest.Request{Method: call.method, Token: other, Path: "/api/v1/privacy/requests" + call.path,
			Body: call.body}).Must(t, status)
		if was := answers[kind]; was != nil && !bytes.Equal(was, got.Body) {
			t.Errorf("%+v: %s, and %s", call, got.Body, was)
		}
		answers[kind] = got.Body
	}
	for field, body := range map[string]string{"body.customerId": `{"kind": "erase", "customerId": "drv_1"}`,
		"body.driverId": fmt.Sprintf(`{"kind": "export", "driverId": %q}`, anna.ID)} {
		got := s.Post(t, boss, "/api/v1/privacy/requests", body).Must(t, 400)
		if !strings.Contains(string(got.Body), `"`+field+`"`) {
			t.Errorf("%s: %s", body, got.Body)
		}
	}
}

// TestSignInEndsOwnErasure: a person who asked to be erased is erased after 7 days,
// unless the person signs in before.
func TestSignInEndsOwnErasure(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	boss := s.Operator(t, "metro", "boss")
	gone, stays, ids := s.Rider(t, "metro", "gone"), s.Rider(t, "metro", "stays"), map[string]string{}
	for _, one := range []apptest.Actor{gone, stays} {
		made := apptest.JSON[privacy.PrivacyRequest](t,
			s.Post(t, s.Token(t, one), "/api/v1/me/privacy/requests", `{"kind": "erase"}`).Must(t, 201))
		became(t, s, s.Token(t, boss), made.ID, privacy.Ready)
		ids[one.ID] = made.ID
		s.Get(t, s.Token(t, gone), "/api/v1/me/privacy/requests/"+made.ID).
			Must(t, map[bool]int{true: 200, false: 404}[one == gone])
	}
	s.Clock.Advance(24 * time.Hour)
	s.SignIn(t, stays)
	s.Clock.Advance(privacy.Grace)
	testkit.Must(t, s.Runtime.Scheduled()["JobsFunction"](t.Context()))
	fresh := s.SignIn(t, boss).AccessToken
	became(t, s, fresh, ids[stays.ID], privacy.Withdrawn)
	became(t, s, fresh, ids[gone.ID], privacy.Done)
	for _, one := range []apptest.Actor{gone, stays} {
		shown := string(s.Get(t, fresh, "/api/v1/customers/"+one.ID).Must(t, 200).Body)
		if strings.Contains(shown, "erasedAt") != (one == gone) {
			t.Errorf("%s is %s", one.Email, shown)
		}
	}
}

// TestInterruptedErasure: a process may end before or after any request of an
// erasure. The next one goes on.
func TestInterruptedErasure(t *testing.T) {
	testkit.LongHere(t)
	t.Parallel()
	wire := &testkit.Wire{}
	db, now := testkit.TableOnWire(t, wire), time.Now()
	tn, ctx := db.Tenant(ids.New(ids.Tenant, now)), t.Context()
	for n := range authz.Copies {
		testkit.Must(t, tn.Load(ctx, table.Item{Key: authz.FlagsKey(tn, n), Type: "flags",
			Attrs: map[string]any{"readShards": 1, "writeShards": 1}}))
	}
	r := erasure.Runner{DB: db, Now: time.Now}
	for p := range testkit.CrashPoints(t, 200) {
		now := time.Now()
		by := audit.By{Who: "svc:test", At: now}
		c, err := customer.Store.Create(ctx, tn, by, customer.Record{Customer: customer.Customer{FirstName: "Zwenda",
			LastName: "Quill", Email: fmt.Sprintf("z%d-%v@metro.example", p.N, p.Lost)}}, "hash")
		testkit.Must(t, err)
		for i := range 2 {
			testkit.Must(t, tn.Load(ctx, address.Kind.Item(tn, c.ID, address.Address{ID: ids.New(ids.Address, now),
				Address: "7 Wyvern Mews", Lat: "40.7", Lng: json.Number(fmt.Sprint(i)), LastUsedAt: c.CreatedAt})))
		}
		id := ids.New(ids.Privacy, now)
		testkit.Must(t, tn.Load(ctx, privacy.Kind.Item(tn, "", privacy.Record{Version: 1,
			PrivacyRequest: privacy.PrivacyRequest{ID: id, Kind: privacy.Erase, CustomerID: &c.ID,
				Status: privacy.Running, CreatedAt: c.CreatedAt}})))
		dying := wire.CrashAt(ctx, p.N, p.Lost)
		for more := true; more && dying.Err() == nil; {
			more, _ = r.Slice(dying, tn, id)
		}
		p.Reached(wire.Revive())
		for range 100 {
			more, err := r.Slice(ctx, tn, id)
			testkit.Must(t, err)
			if !more {
				break
			}
		}
		done, err := tn.Get(ctx, privacy.Key(tn, id))
		testkit.Must(t, err)
		if got, err := privacy.Kind.FromItem(done); err != nil || got.Status != privacy.Done {
			t.Fatalf("crash at %v: the request is %+v, %v", p, got, err)
		}
		left, err := customer.Store.ByID(ctx, tn, c.ID)
		testkit.Must(t, err)
		if left.ErasedAt == nil || left.Name+left.Email != "" {
			t.Errorf("crash at %v: the rider is %+v", p, left)
		}
		page, err := tn.Query(ctx, address.Partition(tn, c.ID), table.Query{Limit: 10})
		testkit.Must(t, err)
		if _, err := customer.Store.Find(ctx, tn, c.Email); err == nil || len(page.Items) > 0 {
			t.Errorf("crash at %v: the account is found, or %d addresses", p, len(page.Items))
		}
		log, _, err := audit.List(ctx, tn, "", 1000)
		testkit.Must(t, err)
		for _, e := range log {
			if strings.Contains(string(e.Before)+string(e.After), "Quill") {
				t.Errorf("crash at %v: the audit log has %s", p, e.After)
			}
		}
	}
}
