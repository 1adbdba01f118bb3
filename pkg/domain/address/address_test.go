package address_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/address"
	"svc/pkg/domain/customer"
)

const path = "/api/v1/me/addresses"

type list struct{ Items []address.Address }

func stand(t *testing.T) (*apitest.Stand, table.Tenant) {
	t.Helper()
	s := apitest.New(t, testkit.Table(t), address.Rows()...)
	return s, s.Tenant("USD", 1)
}

func rider(t *testing.T, s *apitest.Stand, tn table.Tenant) string {
	t.Helper()
	r := customer.Record{Customer: customer.Customer{ID: ids.New(ids.Customer, apitest.Start), Name: "R",
		CreatedAt: "2026-01-01T00:00:00.000Z"}}
	if err := tn.Load(t.Context(), customer.Item(tn, r, 1)); err != nil {
		t.Fatal(err)
	}
	return s.Token(tn, authz.Rider, r.ID)
}

func save(lat, lng, rest string) string {
	return fmt.Sprintf(`{"address":"12 Harbour Street","lat":%s,"lng":%s%s}`, lat, lng, rest)
}

// The same pair of exact decimals is the same address, however it is written.
func TestSameAddress(t *testing.T) {
	s, tn := stand(t)
	tests := []struct {
		name     string
		lat, lng [2]string
		same     bool
	}{
		{"trailing zero", [2]string{"1.10", "1.1"}, [2]string{"2", "2.0"}, true},
		{"minus zero", [2]string{"-0", "0"}, [2]string{"0.0", "-0.000"}, true},
		{"exponent", [2]string{"1e1", "10"}, [2]string{"1.5E-1", "0.15"}, true},
		{"beyond a float", [2]string{"40.712800001", "40.7128"}, [2]string{"7", "7"}, false},
		{"latitude", [2]string{"3", "4"}, [2]string{"5", "5"}, false},
		{"longitude", [2]string{"6", "6"}, [2]string{"7", "8"}, false},
		{"the other way round", [2]string{"8", "9"}, [2]string{"9", "8"}, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			token := rider(t, s, tn)
			var first, second address.Address
			s.Want(http.StatusCreated, &first, "POST", path, token, save(tc.lat[0], tc.lng[0], ""))
			s.Want(http.StatusCreated, &second, "POST", path, token, save(tc.lat[1], tc.lng[1], ""))
			var got list
			s.Want(http.StatusOK, &got, "GET", path, token, "")
			if (first.ID == second.ID) != tc.same || (len(got.Items) == 1) != tc.same || (second.UsageCount == 2) != tc.same {
				t.Errorf("%+v, %+v, %d listed", first, second, len(got.Items))
			}
		})
	}
}

func TestSaveAgain(t *testing.T) {
	s, tn := stand(t)
	token := rider(t, s, tn)
	a := s.Want(http.StatusCreated, nil, "POST", path, token,
		save("40.71280", "-74.006", `,"label":"Home","notes":"Ring twice"`))
	var first address.Address
	a.Decode(t, &first)
	want := `{"id":"` + first.ID +
		`","address":"12 Harbour Street","lat":40.7128,"lng":-74.006,"label":"Home","notes":"Ring twice","usageCount":1,` +
		`"lastUsedAt":"2026-03-01T12:00:00.000Z"}`
	if diff := cmp.Diff(want, a.Body); diff != "" {
		t.Error(diff)
	}
	s.Want(http.StatusCreated, nil, "POST", path, token, save("1", "1", ""))
	s.Advance(time.Minute)
	again := strings.Replace(save("40.7128", "-74.0060", `,"notes":"Back door"`), "12 Harbour Street", "Elsewhere", 1)
	a = s.Want(http.StatusCreated, nil, "POST", path, token, again)
	want = `{"id":"` + first.ID +
		`","address":"Elsewhere","lat":40.7128,"lng":-74.006,"label":"Home","notes":"Back door","usageCount":2,` +
		`"lastUsedAt":"2026-03-01T12:01:00.000Z"}`
	if diff := cmp.Diff(want, a.Body); diff != "" {
		t.Error(diff)
	}
	var got list
	s.Want(http.StatusOK, &got, "GET", path, token, "")
	if len(got.Items) != 2 || got.Items[0].ID != first.ID {
		t.Errorf("the last used is not first: %+v", got)
	}
	var others list
	s.Want(http.StatusOK, &others, "GET", path, rider(t, s, tn), "")
	s.Want(http.StatusOK, &others, "GET", path, rider(t, s, s.Tenant("EUR", 1)), "")
	if len(others.Items) != 0 {
		t.Errorf("somebody else sees %+v", others)
	}
}

func TestWrongSave(t *testing.T) {
	s, tn := stand(t)
	token := rider(t, s, tn)
	tests := []struct{ name, body, field string }{
		{"no body", ``, "body"},
		{"nothing", `{}`, "body.address"},
		{"no coordinates", `{"address":"x"}`, "body.lat"},
		{"latitude", save("90.0001", "0", ""), "body.lat"},
		{"latitude that a float takes for 90", save("90.000000000000000000001", "0", ""), "body.lat"},
		{"longitude", save("0", "-180.5", ""), "body.lng"},
		{"text", save(`"1"`, "0", ""), "body.lat"},
		{"too many digits", save("1."+strings.Repeat("1", 1100), "0", ""), "body.lat"},
		{"huge exponent", save("1e-1999", "0", ""), "body.lat"},
		{"null", save("null", "0", ""), "body.lat"},
		{"empty address", `{"address":"","lat":0,"lng":0}`, "body.address"},
		{"long address", `{"address":"` + strings.Repeat("ä", 301) + `","lat":0,"lng":0}`, "body.address"},
		{"long label", save("0", "0", `,"label":"`+strings.Repeat("ä", 101)+`"`), "body.label"},
		{"long notes", save("0", "0", `,"notes":"`+strings.Repeat("ä", 1001)+`"`), "body.notes"},
		{"unknown", save("0", "0", `,"usageCount":7`), "body.usageCount"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			a := s.Do("POST", path, token, tc.body)
			if a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `"field":"`+tc.field) {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	for _, body := range []string{save("90", "180", ""), save("-90", "-180", ""), `{"address":"` +
		strings.Repeat("ä", 300) + `","lat":0,"lng":0}`,
		save("0", "1", `,"label":"`+strings.Repeat("ä", 100)+`","notes":"`+strings.Repeat("ä", 1000)+`"`)} {
		s.Want(http.StatusCreated, nil, "POST", path, token, body)
	}
}

// Fifty concurrent saves of one address count as fifty uses.
func TestSaveRace(t *testing.T) {
	s, tn := stand(t)
	token := rider(t, s, tn)
	const saves = 50
	var wg sync.WaitGroup
	for i := range saves {
		wg.Go(func() {
			lat := []string{"1.10", "1.1", "1.100"}[i%3]
			if a := s.Insist("POST", path, token, save(lat, "2", "")); a.Status != http.StatusCreated {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	wg.Wait()
	var got list
	s.Want(http.StatusOK, &got, "GET", path, token, "")
	if len(got.Items) != 1 || got.Items[0].UsageCount != saves {
		t.Errorf("%+v", got)
	}
}

// A repeated Idempotency-Key saves only once.
func TestIdempotencyKey(t *testing.T) {
	s, tn := stand(t)
	token := rider(t, s, tn)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if a := s.Insist("POST", path, token, save("1", "2", ""), "Idempotency-Key", "k"); a.Status != http.StatusCreated ||
				!strings.Contains(a.Body, `"usageCount":1,`) {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	wg.Wait()
}

// TestRemove: a removed address is gone at once, and may be saved again.
func TestRemove(t *testing.T) {
	s := apitest.New(t, testkit.Table(t), address.Rows()...)
	tn := s.Tenant("USD", 1)
	person := func() string {
		id := ids.New(ids.Customer, apitest.Start)
		testkit.Must(t, tn.Load(t.Context(), table.Item{Key: authz.ActorKey(tn, authz.Rider, id), Type: "customer"}))
		return s.Token(tn, authz.Rider, id)
	}
	testkit.InRounds(t, s.DB)
	token, stranger := person(), person()
	const path, home = "/api/v1/me/addresses", `{"address":"Home","lat":1,"lng":2,"label":"Home"}`
	var made, again address.Address
	s.Want(http.StatusCreated, &made, "POST", path, token, home)
	s.Want(http.StatusNotFound, nil, "DELETE", path+"/"+made.ID, stranger, "")
	trips := 0
	for range 3 { // one of them may read again what an instance reads once a second
		s.Want(http.StatusOK, nil, "DELETE", path+"/"+made.ID, token, "")
		if trips = s.Last().Usage.Sequential; trips == 2 {
			break
		}
		s.Want(http.StatusCreated, &made, "POST", path, token, home)
	}
	if trips != 2 {
		t.Errorf("%d round trips in sequence", trips)
	}
	if a := s.Want(http.StatusOK, nil, "GET", path, token, ""); a.Body != `{"items":[]}` {
		t.Errorf("listed: %s", a.Body)
	}
	s.Want(http.StatusNotFound, nil, "DELETE", path+"/"+made.ID, token, "")
	s.Want(http.StatusCreated, &again, "POST", path, token, home)
	if again.ID == made.ID || again.UsageCount != 1 {
		t.Errorf("saved again: %+v", again)
	}
}
