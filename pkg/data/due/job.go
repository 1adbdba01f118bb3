package due

import "svc/pkg/data/table"

// Jobs is the name of the platform's list of unfinished jobs. A job, unlike a Task, does
// not wait for a time: it runs in slices, one after the other, until it ends. A change
// begins a job by adding its row to the list. The change that ends the job deletes it.
const Jobs = "JOBS"

// JobKey returns the key of a tenant's job in the list.
func JobKey(p table.Platform, t table.Tenant, id string) table.Key {
	return p.Key(Jobs, t.ID()+"#"+id)
}

// The declaration of the rows of the list of jobs (table.Kind).
var _ = table.Kind[any]{Type: "job", Personal: "nothing", Once: "lists an unfinished job; deleted when it ends"}

// BeginJob adds a job to the list. If the job is listed already, the transaction fails
// with table.ErrConflict.
func BeginJob(tx *table.Tx, p table.Platform, t table.Tenant, id string) {
	tx.Create(table.Item{Key: JobKey(p, t, id), Type: "job"}).Else(table.ErrConflict)
}
