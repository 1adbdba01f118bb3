package due

import "svc/pkg/data/table"

// Jobs is the name of the platform's list of unfinished jobs. A job goes on now, in
// slices, until it ends. A change begins a job by adding its row to the list, and the
// row is deleted with the change that ends it.
const Jobs = "JOBS"

// JobKey returns the key of a tenant's job in the list.
func JobKey(p table.Platform, t table.Tenant, id string) table.Key {
	return p.Key(Jobs, t.ID()+"#"+id)
}

var _ = table.Kind[any]{Type: "job", Personal: "nothing", Once: "lists an unfinished job; deleted when it ends"}

// BeginJob adds a job to the list. The row must not exist.
func BeginJob(tx *table.Tx, p table.Platform, t table.Tenant, id string) {
	tx.Create(table.Item{Key: JobKey(p, t, id), Type: "job"}).Else(table.ErrConflict)
}
