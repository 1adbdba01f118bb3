package erasure

import (
	"context"
	"errors"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/privacy"
)

// Erased is an entry of the journal of erasures: which person a request has erased.
type Erased struct {
	Tenant  string `json:"tenant"` // identifier
	Request string `json:"request"`
	Person  string `json:"person"`
	At      string `json:"at"`
}

// Journal calls the function one with each erasure of a tenant that has begun, oldest
// first.
//
// Access pattern: by-g1 T#t#ERASURES.
func Journal(ctx context.Context, t table.Tenant, one func(Erased) error) error {
	for items, err := range t.Pages(ctx, privacy.Journal(t), table.Query{Index: 1, Limit: 500}) {
		if err != nil {
			return err
		}
		for _, it := range items {
			r, err := privacy.Kind.FromItem(it)
			if err == nil {
				err = one(Erased{Tenant: t.ID(), Request: r.ID, Person: r.Subject(), At: r.UpdatedAt})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Repeat erases a person of the journal again, in a table that was restored from a
// backup. It does not check for open trips or a balance, because the person was erased
// before. Repeat may be called again after an error.
func (r Runner) Repeat(ctx context.Context, e Erased) error {
	t := r.DB.Tenant(e.Tenant)
	rec, err := r.read(ctx, t, e.Request)
	if errors.Is(err, fault.NotFound()) {
		rec = privacy.Record{PrivacyRequest: privacy.PrivacyRequest{ID: e.Request, Kind: privacy.Erase,
			Reasons: []privacy.PrivacyReason{}, CreatedAt: e.At}, Version: 1}
		if rec.CustomerID = &e.Person; !ids.Valid(ids.Customer, e.Person) {
			rec.CustomerID, rec.DriverID = nil, &e.Person
		}
	} else if err != nil {
		return err
	}
	rec.Status, rec.Again, rec.Step, rec.Position, rec.UpdatedAt = privacy.Running, true, 0, "", timestamp.Format(r.Now())
	if err := t.Load(ctx, privacy.Kind.Item(t, "", rec)); err != nil {
		return err
	}
	for more := true; more; {
		if more, err = r.Slice(ctx, t, e.Request); err != nil {
			return err
		}
	}
	return nil
}
