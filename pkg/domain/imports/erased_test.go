package imports_test

import (
	"fmt"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/data/audit"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/imports"
)

// TestRowsOfErasedPeople: a row whose id is that of an erased person has a fault, and the
// import goes on.
func TestRowsOfErasedPeople(t *testing.T) {
	t.Parallel()
	c := newCompany(t, testkit.Table(t), "US", "USD", "UTC")
	gone, err := customer.Store.Create(t.Context(), c.Tenant, audit.By{Who: "svc:test", At: time.Now()},
		customer.Record{Customer: customer.Customer{FirstName: "Ana", Email: "ana@metro.example"}}, "")
	testkit.Must(t, err)
	it, err := c.Get(t.Context(), customer.Key(c.Tenant, gone.ID))
	testkit.Must(t, err)
	blank, err := customer.Erased(c.Tenant, it, gone.CreatedAt)
	testkit.Must(t, err)
	testkit.Must(t, c.Load(t.Context(), blank))

	file := fmt.Sprintf("id,email,firstName\n%s,,Ana\n,iris@metro.example,Iris\n", gone.ID)
	rec, faults := c.imports(t, imports.Options{Kind: "customers"}, []byte(file))
	if tally(rec) != "1/0/0/1" || fmt.Sprint(faults) != "[2 id unknown]" {
		t.Errorf("%s, %v", tally(rec), faults)
	}
}
