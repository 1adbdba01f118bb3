package customer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
)

// The read units per page do not grow with the number of customers.
func TestSearchUnits(t *testing.T) {
	testkit.Long(t)
	wire := &testkit.Wire{}
	stand := apitest.New(t, testkit.TableOnWire(t, wire), customer.Rows()...)
	type asked struct {
		q     string
		limit int
	}
	queries := []asked{{"z", 50}, {"z", 200}, {"zo", 50}, {"z.example", 200}, {"zoltan toth", 50}, {"zq", 50}}
	units, full := map[asked]float64{}, map[asked]bool{} // at the smallest number of customers
	tenant := stand.Tenant("USD", 1)
	operator := stand.Token(tenant, authz.Dashboard, "usr_1", "VIEW_CUSTOMERS")
	have := 0
	for _, size := range tenantSizes {
		loadCustomers(t, tenant, have, size, 'z')
		have = size
		for _, ask := range queries {
			cursor := ""
			for page := range 3 {
				q := url.Values{"q": {ask.q}, "limit": {fmt.Sprint(ask.limit)}}
				if cursor != "" {
					q.Set("cursor", cursor)
				}
				wire.Rounds(true)
				var got found
				stand.Want(200, &got, "GET", "/api/v1/customers?"+q.Encode(), operator, "")
				wire.Rounds(false)
				u := stand.Last().Usage
				if size == tenantSizes[0] {
					units[ask], full[ask] = max(units[ask], u.ReadUnits), full[ask] || len(got.Items) == ask.limit
				}
				if page == 0 {
					t.Logf("%d customers, %q by %d: %d shown, %v units in %d requests, %d in sequence", size, ask.q, ask.limit,
						len(got.Items), u.ReadUnits, u.Requests, u.Sequential)
				}
				// 5 units for the checks; a row has at most 200 bytes; a customer costs half a unit
				bound := 5 + float64(4*ask.limit)*200/8192 + float64(ask.limit)/2 + 1
				if u.Sequential > 2 || u.ReadUnits > bound || (full[ask] && u.ReadUnits > units[ask]+3) {
					t.Errorf("%d customers, %q by %d, page %d: %+v, want at most 2 in sequence and %v units (%v at %d customers)",
						size, ask.q, ask.limit, page, u, bound, units[ask], tenantSizes[0])
				}
				if got.Next == nil {
					break
				}
				cursor = *got.Next
			}
		}
	}
}

// loadCustomers adds customers to a tenant, from one number to another. Of
// their suffix rows it writes only those that begin with the letter.
func loadCustomers(t *testing.T, tenant table.Tenant, from, to int, letter rune) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(uint64(to), 1))
	firsts, lasts := []string{"Anna", "Otto", "Maria", "Zoltan", "Ulla"}, []string{"Maria", "Kuhn", "Lang", "Toth"}
	partition := tenant.Partition("SUFFIX", string(letter))
	var items []table.Item
	for i := from; i < to; i++ {
		p := person(firsts[rnd.IntN(len(firsts))], fmt.Sprint(lasts[rnd.IntN(len(lasts))], " ", rnd.IntN(1000)),
			fmt.Sprintf("%d@z.example", i), "")
		items = append(items, customer.Item(tenant, p, 1))
		for _, row := range (customer.RowSet{Words: p.Words(), N: 1, Since: timestamp.Format(apitest.Start)}).Rows(tenant,
			p.ID) {
			if row.PK == partition {
				items = append(items, row)
			}
		}
	}
	group, ctx := errgroup.WithContext(context.Background())
	group.SetLimit(4)
	for chunk := range slices.Chunk(items, 500) {
		group.Go(func() error { return tenant.Load(ctx, chunk...) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}
