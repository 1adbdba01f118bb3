package settlement_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/internal/test/testkit"
	"svc/pkg/background/settlement"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/tenant"
)

// TestSweepOfManyTenants: a sweep reads each tenant once and a bounded number of
// times, finds the lost trips of the first, the middle and the last one, and ends.
// SVC_TENANTS sets the number of tenants (make sweep).
func TestSweepOfManyTenants(t *testing.T) {
	testkit.Long(t)
	many := 400
	if text := os.Getenv("SVC_TENANTS"); text != "" {
		var err error
		many, err = strconv.Atoi(text)
		testkit.Must(t, err)
	}
	wire := &testkit.Wire{}
	db := testkit.Open(t, testkit.Name(t, streamOff), wire)
	lost := map[string]*fixture{}
	for _, slug := range []string{"t00000", "t50000", "t99999"} {
		lost[slug] = town(t, db, slug, 2*24*3600)
	}
	var group errgroup.Group
	group.SetLimit(8)
	for n := range many - len(lost) {
		group.Go(func() error {
			_, err := tenant.Store{DB: db}.CreateAs(t.Context(), audit.By{At: start, Who: "test"}, tenant.Tenant{
				ID: ids.New(ids.Tenant, start), Slug: fmt.Sprintf("t%05d-x", n*99998/many), Name: fmt.Sprint("Company ", n)})
			return err
		})
	}
	testkit.Must(t, group.Wait())
	all, err := tenant.Store{DB: db}.List(t.Context())
	testkit.Must(t, err)
	if len(all) != many {
		t.Fatalf("%d of %d tenants are listed", len(all), many)
	}
	for i := range all[1:] {
		if all[i].Slug >= all[i+1].Slug {
			t.Fatalf("%s comes before %s", all[i].Slug, all[i+1].Slug)
		}
	}

	before := wire.Sent()
	f := settlement.Function{DB: db, Now: func() time.Time { return start.Add(4 * 24 * time.Hour) }}
	testkit.Must(t, f.Sweep(t.Context()))
	sent := wire.Sent() - before
	t.Logf("%d tenants: %d requests", many, sent)
	// Of each tenant: its record, two lists, and its flags before and after them. Of the three with lost trips
	// also 30 settlements each, of a few requests. And the pages of the list of tenants.
	if most := 5*many + 3*30*6 + many/100 + 10; sent > most {
		t.Errorf("%d requests for %d tenants, want at most %d", sent, many, most)
	}
	for slug, p := range lost {
		for _, tr := range p.trips {
			if it, err := p.tenant.Get(t.Context(), receipt.Key(p.tenant, tr.ID)); err != nil || !it.Found() {
				t.Fatalf("%s of %s was not settled: %v", tr.ID, slug, err)
			}
		}
	}
}
