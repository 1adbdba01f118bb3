package imports

import (
	"context"
	"fmt"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// The states of an undo.
const (
	Undoing = "RUNNING"
	Undone  = "DONE"
	Refused = "REFUSED"
)

// ImportUndo says how far the undo of an import is.
type ImportUndo struct {
	Status      string  `json:"status" enum:"RUNNING,DONE,REFUSED" doc:"REFUSED: something else changed a ride of the import, so all stay."`
	RequestedAt string  `json:"requestedAt" format:"date-time" doc:"When the undo was asked for."`
	Removed     int     `json:"removed" doc:"Rides that were removed so far."`
	Kept        int     `json:"kept" doc:"Rides that something else changed while the undo ran. They stay."`
	Reason      *string `json:"reason" doc:"Why it was refused; null otherwise."`
}

// undo is an undo as it is stored.
type undo struct {
	By      authz.Standing `json:"by,omitzero"`       // the operator; none if svc asked
	Checked bool           `json:"checked,omitempty"` // no ride has changed, so the rides are being removed
	After   string         `json:"after,omitempty"`   // key of the last part that is done; a part is one importMade item
}

// undoLife is how long after its request an import can be undone.
const undoLife = 7 * 24 * time.Hour

// undoPolicy is the access that an undo needs besides Policy.
var undoPolicy = authz.Operators("tenant.trips:delete", "DELETE_TRIPS")

// UndoNeeds returns the policies that the operator must satisfy until the undo has ended.
func (j Import) UndoNeeds() []authz.Policy { return []authz.Policy{Policy, undoPolicy} }

// made is the stored form of the trips that one transaction of an import created.
type made struct {
	Trips []MadeTrip `json:"trips"`
}

// MadeTrip is a trip that an import created. If a later import creates the trip again, it
// has the same ID and another code.
type MadeTrip struct {
	ID   string `json:"id"`
	Code string `json:"code"`
}

// madePrefix is the prefix of the sort keys of importMade items.
const madePrefix = "MADE#"

var _ = table.Kind[any]{Type: "importMade", Personal: "nothing", Once: "the trips that a part of an import created"}

// MadeItem returns the importMade item of a step, from which an undo finds the trips. ok
// is false if the step created none.
func (r Record) MadeItem(t table.Tenant, s Step) (it table.Item, ok bool) {
	return table.Item{Key: table.Key{PK: Key(t, r.ID).PK, SK: fmt.Sprintf("%s%06d", madePrefix, s.Next.Row)},
		Type: "importMade", Doc: made{s.Made}, Expires: r.expires()}, len(s.Made) > 0
}

// Made reads the next importMade items of an import, at most limit. parts has their sort
// keys, and trips the trips of each. after is the last sort key that was read, "" to
// begin.
//
// Access pattern: T#t#IMPORT#id MADE#.
func Made(ctx context.Context, t table.Tenant, id, after string, limit int) (parts []string,
	trips [][]MadeTrip, more bool, err error) {
	page, err := t.Query(ctx, Key(t, id).PK, table.Query{Prefix: madePrefix, After: after, Limit: limit, Consistent: true})
	if err != nil {
		return nil, nil, false, err
	}
	for _, it := range page.Items {
		m, err := table.DecodeDoc[made](it)
		if err != nil {
			return nil, nil, false, err
		}
		parts, trips = append(parts, it.SK), append(trips, m.Trips)
	}
	return parts, trips, page.More, nil
}

// BeginUndo marks the undo of an import as running. begun is false, and nothing changes,
// if the import is undone already or its undo makes progress. Errors: a 409 if the import
// cannot be undone.
func (r *Record) BeginUndo(by authz.Standing, now time.Time) (begun bool, err error) {
	created, err := timestamp.Parse(r.CreatedAt)
	switch {
	case err != nil:
		return false, err
	case r.Mode != "run":
		return false, fault.InvalidState("The import validated its file only. It changed nothing that could be undone.")
	case r.Kind == "addresses":
		return false, fault.InvalidState("An import of addresses cannot be undone, because it keeps no earlier values. " +
			"Import the right ones, or ask the customers to delete theirs.")
	case r.Kind != "trips":
		return false, fault.InvalidState("An import of %s cannot be undone, because it keeps no earlier values and people "+
			"are erased, not deleted. Import a file with the right values. To remove a person, request an erasure: "+
			"POST /api/v1/privacy/requests.", r.Kind)
	case !r.Done():
		return false, fault.InvalidState("The import is %s. It can be undone when it has ended.", r.Status)
	case r.Undo != nil && r.Undo.Status == Undone:
		return false, nil
	case now.Sub(created) > undoLife:
		return false, fault.InvalidState("The import is older than 7 days. It can no longer be undone.")
	}
	if r.Undo == nil || r.Undo.Status == Refused {
		r.Undo, r.Undoing = &ImportUndo{Status: Undoing, RequestedAt: timestamp.Format(now)}, &undo{By: by}
		return true, nil
	}
	// An older build may have removed the undo from the list of jobs, so a stalled undo is
	// put there again.
	last, err := timestamp.Parse(r.UpdatedAt)
	return now.Sub(last) > stalled, err
}

// stalled is how long a running undo may make no progress. After that, a request puts it
// in the list of jobs again.
const stalled = 5 * time.Minute

// Undoes adds to the transaction what an undo begins with: the changed record, the job
// and an audit entry.
func (r Record) Undoes(tx *table.Tx, t table.Tenant, p table.Platform, by audit.By) {
	tx.Covers(p.Handle).Replace(Kind.Item(t, "", r)).Else(table.ErrConflict)
	tx.Put(table.Item{Key: due.JobKey(p, t, r.ID), Type: "job"})
	audit.Append(tx, t, by, "import.undo", r.ID, nil, map[string]any{"trips": r.Created})
}

// undoes handles a request to undo an import. Repeating it is safe.
func undoes(ctx context.Context, c *api.Caller, in *getInput) (*Job, error) {
	if err := c.May(ctx, undoPolicy); err != nil {
		return nil, err
	}
	by, err := c.Standing(ctx)
	if err != nil {
		return nil, err
	}
	if !ids.Valid(ids.Import, in.ID) {
		return nil, fault.NotFound()
	}
	r, first := Record{}, true
	defer c.Begun()
	err = table.Retry(ctx, func(ctx context.Context) error {
		if r, err = read(ctx, c, in.ID); err == nil && !first {
			var it table.Item
			if it, err = c.Tenant.Get(ctx, Key(c.Tenant, in.ID)); err == nil {
				r, err = Kind.FromItem(it)
			}
		}
		if first = false; err != nil {
			return err
		}
		tx := c.Tenant.Write()
		begun, err := r.BeginUndo(by, c.Now)
		if err != nil {
			return err
		}
		if begun {
			r.Undoes(tx, c.Tenant, c.Platform, c.By())
		}
		return c.Commit(ctx, tx, r.Import)
	})
	return &r.Import, err
}
