package projection_test

import (
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/background/projection"
	"svc/pkg/base/ids"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/external"
	"svc/pkg/domain/feedback"
)

// TestRebuildClaims: a rebuild claims the identifiers in other systems that earlier imports
// gave people without a row. It takes none from whoever has it.
func TestRebuildClaims(t *testing.T) {
	w := newWorld(t, testkit.Name(t, streamOff), 1, 2)
	made := map[string]string{}
	for _, name := range []string{"one", "two", "held", "holder", "none"} {
		outside := map[string]string{"held": "same", "holder": "same", "none": ""}[name]
		if name == "one" || name == "two" {
			outside = name
		}
		r := customer.Record{Customer: customer.Customer{ID: ids.New(ids.Customer, start), FirstName: name,
			CreatedAt: "2026-01-01T00:00:00.000Z", Members: external.Members{ExternalID: outside}}}
		made[name] = r.ID
		w.put(customer.Item(w.tenant, r, 2))
	}
	d := driver.Record{Driver: driver.Driver{ID: ids.New(ids.Driver, start), FirstName: "D", Status: driver.Offline,
		Members: external.Members{ExternalID: "one"}}, CreatedAt: "2026-01-01T00:00:00.000Z"}
	w.put(driver.Item(w.tenant, d, 2))
	riders, drivers := customer.Store.External(), driver.Store.External()
	w.put(external.Row(riders.Claim(w.tenant, "same"), made["holder"]))
	step := projection.Step{Now: time.Now, RankRows: feedback.RankRows}
	for range 2 {
		_, err := step.Rebuild(t.Context(), w.tenant, nil)
		testkit.Must(t, err)
		for outside, want := range map[string]string{"one": made["one"], "two": made["two"], "same": made["holder"], "": ""} {
			row, err := w.tenant.Get(t.Context(), riders.Claim(w.tenant, outside))
			if testkit.Must(t, err); row.Text("actor") != want {
				t.Errorf("%q leads to %q, want %q", outside, row.Text("actor"), want)
			}
		}
		row, err := w.tenant.Get(t.Context(), drivers.Claim(w.tenant, "one"))
		if testkit.Must(t, err); !strings.HasPrefix(row.Text("actor"), ids.Driver) {
			t.Errorf("a driver's identifier leads to %q", row.Text("actor"))
		}
	}
}
