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

// every is the index of all requests of a tenant.
const every = 2

func all(t table.Tenant) string { return t.Partition("PRIVACY", "ALL") }

// List reads up to limit requests of a tenant, newest first.
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

// Get reads a request. It returns fault.NotFound if there is none.
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

// Begin stores a request of the platform's operator about a rider or driver.
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

// Run lets the erasure of a request of the platform's operator begin.
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

// begin sets what a new request about the person with the record begins with. It
// returns the person's mail address. A person who was erased may be erased again: a
// driver or an operator may have written of the person's trips since.
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

// add adds a new request to the transaction.
func (r Record) add(tx *table.Tx, t table.Tenant, p table.Platform, by audit.By) {
	tx.Covers(p.Handle).Create(Kind.Item(t, "", r)).Else(table.ErrConflict)
	due.BeginJob(tx, p, t, r.ID)
	audit.Append(tx, t, by, "privacy."+r.Kind, r.ID, nil, map[string]any{"of": r.Subject()})
}

// run lets the erasure begin. Errors: a 409 unless it may.
func (r *Record) run(by authz.Standing, now time.Time) error {
	if r.Kind != Erase || !slices.Contains([]Status{Ready, Blocked}, r.Status) {
		return fault.InvalidState("The request is an %s and %s. Only an erase that is READY or BLOCKED can run.", r.Kind,
			r.Status)
	}
	r.By, r.Status, r.Reasons, r.Step, r.Position = by, Running, []PrivacyReason{}, 0, ""
	r.RunsAt, r.UpdatedAt = nil, timestamp.Format(now)
	return nil
}

// runs adds a request whose erasure begins to the transaction.
func (r Record) runs(tx *table.Tx, t table.Tenant, p table.Platform, by audit.By) {
	tx.Covers(p.Handle).Replace(Kind.Item(t, "", r)).Else(table.ErrConflict)
	due.BeginJob(tx, p, t, r.ID)
	audit.Append(tx, t, by, "privacy.run", r.ID, nil, map[string]any{"of": r.Subject()})
}
