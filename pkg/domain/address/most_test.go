package address_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/address"
	"svc/pkg/domain/customer"
)

// TestMost: a rider has at most 200 addresses. A new one replaces the one that
// was not used for the longest time, also for a rider who had more before. Saving
// an address again replaces none. A save takes two round trips, however many there are.
func TestMost(t *testing.T) {
	s, tn := stand(t)
	testkit.InRounds(t, s.DB)
	for name, before := range map[string]int{"few": 3, "the most": address.Most, "more than the most": address.Most + 40} {
		t.Run(name, func(t *testing.T) {
			r := customer.Record{Customer: customer.Customer{ID: ids.New(ids.Customer, apitest.Start), Name: "R",
				CreatedAt: "2026-01-01T00:00:00.000Z"}}
			items := []table.Item{customer.Item(tn, r, 1)}
			for n := range before {
				a := address.Address{ID: ids.New(ids.Address, apitest.Start), Address: "A", Lat: latitude(n), Lng: "0.1",
					UsageCount: 1, LastUsedAt: fmt.Sprintf("2026-01-01T00:00:00.%03dZ", n)}
				items = append(items, address.Kind.Item(tn, r.ID, a))
			}
			if err := tn.Load(t.Context(), items...); err != nil {
				t.Fatal(err)
			}
			token := s.Token(tn, authz.Rider, r.ID)
			saved := func(out any, body string) {
				s.Want(http.StatusCreated, out, "POST", path, token, body)
				if u := s.Last().Usage; u.Sequential > 2 {
					t.Errorf("%d round trips", u.Sequential)
				}
				testkit.Must(t, address.Trim(t.Context(), tn, address.Partition(tn, r.ID), s.Now())) // the stream's reader does
			}
			listed := func() map[string]bool {
				var got list
				s.Want(http.StatusOK, &got, "GET", path, token, "")
				out := map[string]bool{}
				for _, a := range got.Items {
					out[string(a.Lat)] = true
				}
				return out
			}
			s.Advance(time.Minute)
			saved(nil, save(string(latitude(0)), "0.1", "")) // used again
			for n := range 3 {
				s.Advance(time.Minute)
				saved(nil, save(fmt.Sprint(n+50), "0.1", ""))
			}
			got := listed()
			if want := min(before+3, address.Most); len(got) != want {
				t.Errorf("%d addresses, want %d", len(got), want)
			}
			if before >= address.Most && (got[string(latitude(1))] || !got[string(latitude(0))] || !got["52"] ||
				!got[string(latitude(before-1))]) {
				t.Errorf("other addresses than the least recently used ones are gone: %v", got)
			}
			var again address.Address
			s.Advance(time.Minute)
			saved(&again, save(string(latitude(1)), "0.1", ""))
			if before >= address.Most && again.UsageCount != 1 || !listed()[string(latitude(1))] {
				t.Errorf("saved again: %+v", again)
			}
		})
	}
}

// latitude is the latitude of the loaded address n.
func latitude(n int) json.Number { return json.Number(fmt.Sprintf("0.%03d1", n)) }
