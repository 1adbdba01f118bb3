package apptest

import (
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
)

// Unprice removes the mark priced from all copies of the tenant's flags. The mark says
// that the tenant has amounts, and the demo data set it. The next ride sets it again, on
// the copy that the rider's token reads.
func Unprice(t *testing.T, db *table.DB, slug string) {
	t.Helper()
	n, err := tenant.Store{DB: db}.BySlug(t.Context(), slug)
	testkit.Must(t, err)
	tx := db.Tenant(n.ID).Write()
	for i := range authz.Copies {
		tx.Update(authz.FlagsKey(db.Tenant(n.ID), i), table.Change{Remove: []string{"priced"}})
	}
	testkit.Must(t, tx.Commit(t.Context()))
}
