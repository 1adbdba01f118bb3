package privacy

import (
	"context"
	"slices"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
)

// every is the number of the index with all requests of a tenant: by-g2.
const every = 2

// all returns the partition of the index every.
func all(t table.Tenant) string { return t.Partition("PRIVACY", "ALL") }

// List reads up to limit requests of a tenant, newest first. It also returns the position
// to continue after, "" at the end.
//
// Access pattern: by-g2 T#t#PRIVACY#ALL.
func List(ctx context.Context, t table.Tenant, after string, limit int) ([]PrivacyRequest, string, error) {
	page, err := t.Query(ctx, all(t), table.Query{Index: every, Backward: true, After: after, Limit: limit})
	if err != nil || !page.More {
		page.Last = ""
	}
	out := []PrivacyRequest{}
	for _, it := range page.Items {
		r, err := Kind.FromItem(it)
		if err != nil {
			return nil, "", err
		}
		out = append(out, r.PrivacyRequest)
	}
	return out, page.Last, err
}

// Get reads the request with the id. It returns fault.NotFound if there is none or if it has
// expired at the time now.
func Get(ctx context.Context, t table.Tenant, id string, now time.Time) (Record, error) {
	if !ids.Valid(ids.Privacy, id) {
		return Record{}, fault.NotFound()
	}
	it, err := t.Get(ctx, Key(t, id))
	if err == nil && !it.Live(now) {
		err = fault.NotFound()
	}
	if err != nil {
		return Record{}, err
	}
	return Kind.FromItem(it)
}

// Begin stores a request that the platform's operator makes for the rider or driver with the
// id. kind is Export or Erase. Errors: fault.NotFound if there is no such person, a 409 for
// the Export of a person who was erased.
func Begin(ctx context.Context, t table.Tenant, p table.Platform, by audit.By, kind string, audience authz.Audience,
	id string) (PrivacyRequest, error) {
	r := Record{PrivacyRequest: PrivacyRequest{Kind: kind, CustomerID: &id}}
	if audience == authz.Driver {
		r.CustomerID, r.DriverID = nil, &id
	}
	it, err := t.Get(ctx, r.subjectKey(t))
	if err == nil && !it.Found() {
		err = fault.NotFound()
	}
	if err == nil {
		_, err = r.begin(it, by.At)
	}
	if err != nil {
		return r.PrivacyRequest, err
	}
	return r.PrivacyRequest, table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		r.add(tx, t, p, by)
		return tx.Commit(ctx)
	})
}

// Run starts the erasure of a request, for the platform's operator. Errors:
// fault.NotFound, and a 409 if the status of the request does not allow it.
func Run(ctx context.Context, t table.Tenant, p table.Platform, by audit.By, id string) (r Record, err error) {
	return r, table.Retry(ctx, func(ctx context.Context) error {
		if r, err = Get(ctx, t, id, by.At); err != nil {
			return err
		}
		if err := r.run(authz.Standing{}, by.At); err != nil {
			return err
		}
		tx := t.Write()
		r.runs(tx, t, p, by)
		return tx.Commit(ctx)
	})
}

// begin sets the first values of a new request, and returns the person's mail address.
// person is the item of the rider or driver. A person who was erased may be erased again,
// because a driver or an operator may have written about the person's trips since. Errors: a
// 409 for the Export of a person who was erased.
func (r *Record) begin(person table.Item, now time.Time) (address string, err error) {
	var p struct {
		Email    string  `json:"email"`
		ErasedAt *string `json:"erasedAt"`
	}
	if err := person.Decode(&p); err != nil {
		return "", err
	}
	if p.ErasedAt != nil && r.Kind == Export {
		return "", fault.InvalidState("This person was erased at %s. Nothing is stored of the person any more.", *p.ErasedAt)
	}
	r.ID, r.Status, r.Reasons, r.Version = ids.New(ids.Privacy, now), Validating, []PrivacyReason{}, 1
	r.CreatedAt, r.UpdatedAt = timestamp.Format(now), timestamp.Format(now)
	switch {
	case r.Kind == Export:
		r.Status = Running
	case r.Self:
		r.RunsAt = timestamp.Ptr(now.Add(Grace))
	}
	return p.Email, nil
}

// add writes a new request, its job and an audit entry in the transaction.
func (r Record) add(tx *table.Tx, t table.Tenant, p table.Platform, by audit.By) {
	tx.Covers(p.Handle).Create(Kind.Item(t, "", r)).Else(table.ErrConflict)
	due.BeginJob(tx, p, t, r.ID)
	audit.Append(tx, t, by, "privacy."+r.Kind, r.ID, nil, map[string]any{"of": r.Subject()})
}

// run sets the status of an erasure to Running. by is the operator, empty for the
// platform's operator. Errors: a 409 unless the request is an erasure and Ready or Blocked.
func (r *Record) run(by authz.Standing, now time.Time) error {
	if r.Kind != Erase || !slices.Contains([]Status{Ready, Blocked}, r.Status) {
		return fault.InvalidState("The request is an %s and %s. Only an erase that is READY or BLOCKED can run.", r.Kind,
			r.Status)
	}
	r.By, r.Status, r.Reasons, r.Step, r.Position = by, Running, []PrivacyReason{}, 0, ""
	r.RunsAt, r.UpdatedAt = nil, timestamp.Format(now)
	return nil
}

// runs writes the request that run has changed, its job and an audit entry in the
// transaction.
func (r Record) runs(tx *table.Tx, t table.Tenant, p table.Platform, by audit.By) {
	tx.Covers(p.Handle).Replace(Kind.Item(t, "", r)).Else(table.ErrConflict)
	due.BeginJob(tx, p, t, r.ID)
	audit.Append(tx, t, by, "privacy.run", r.ID, nil, map[string]any{"of": r.Subject()})
}
