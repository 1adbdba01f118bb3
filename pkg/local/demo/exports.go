package demo

import (
	"context"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/export"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/privacy"
)

// Export is the id of the demo's export.
var Export = id(ids.Export, "metro", 1)

// exports writes an export of ten days ago, whose file was deleted after a week, and the
// imports that imported returns.
func (l *loader) exports(ctx context.Context, t table.Tenant) error {
	created := l.now.AddDate(0, 0, -10)
	job, err := export.New("trips", "csv", []string{"id", "requestedAt", "status", "finalFare", "currency"}, "", "",
		time.UTC, created)
	if err != nil {
		return err
	}
	ready := created.Add(40 * time.Second)
	job.ID, job.Status, job.Rows, job.Bytes = Export, export.Ready, 31, 3204
	job.UpdatedAt, job.ExpiresAt = timestamp.Format(ready), timestamp.Ptr(ready.Add(export.FileLife))
	by := authz.Standing{Actor: id(ids.Person, "metro", 1), Audience: string(authz.Dashboard)}
	it := export.Kind.Item(t, "", export.Record{Job: job, By: by, Version: 1})
	it.Expires = time.Time{} // the demo's data stays
	return t.Load(ctx, append(l.imported(t, created, by), it)...)
}

// Import is the id of the demo's import of customers.
var Import = id(ids.Import, "metro", 1)

// imported returns the items of two imports at the time created: an import of customers,
// with a fault in one row of its file, and an import of trips that was undone.
func (l *loader) imported(t table.Tenant, created time.Time, by authz.Standing) []table.Item {
	job, _ := imports.New(imports.Options{Kind: "customers"}, created) // no error, because the kind is known
	job.ID, job.Status, job.Rows, job.Bytes, job.Created, job.Unchanged = Import, imports.Done, 6, 430, 2, 3
	job.Failed = 1
	job.UpdatedAt, job.Ignored = timestamp.Format(created.Add(time.Minute)), []string{"Notes"}
	rec := imports.Record{Import: job, By: by, Place: imports.Place{At: 430, Line: 7, Row: 6}, Version: 1}
	row := imports.Row{N: 4, Line: 5, From: 300, To: 330}
	former, _ := imports.New(imports.Options{Kind: "trips"}, created)
	former.ID, former.Status, former.Rows, former.Bytes = id(ids.Import, "metro", 2), imports.Done, 3, 310
	former.Created = 3
	former.UpdatedAt, former.Ignored = timestamp.Format(created.Add(2*time.Minute)), []string{}
	former.Undo = &imports.ImportUndo{Status: imports.Undone, RequestedAt: timestamp.Format(created.Add(time.Minute)),
		Removed: 3}
	undone := imports.Record{Import: former, By: by, Version: 1}
	items := []table.Item{imports.Kind.Item(t, "", rec), imports.Kind.Item(t, "", undone),
		rec.FaultItem(t, row, imports.Fault{Column: "email", Code: "invalid", Message: "expected a mail address"})}
	for i := range items {
		items[i].Expires = time.Time{}
	}
	return items
}

// The ids of the demo's privacy requests: one of an operator, which is ready, and one of
// a rider about the rider's own data.
var (
	Privacy    = id(ids.Privacy, "metro", 1)
	OwnPrivacy = id(ids.Privacy, "metro", 2)
)

// privacy writes two requests to erase the data of a rider.
func (l *loader) privacy(ctx context.Context, t table.Tenant) error {
	at := timestamp.Format(l.now.AddDate(0, 0, -1))
	request := func(name string, customer int, kind string, status privacy.Status) privacy.PrivacyRequest {
		of := id(ids.Customer, "metro", customer)
		return privacy.PrivacyRequest{ID: name, Kind: kind, CustomerID: &of, Status: status, CreatedAt: at, UpdatedAt: at,
			Reasons: []privacy.PrivacyReason{}}
	}
	by := authz.Standing{Actor: id(ids.Person, "metro", 1), Audience: string(authz.Dashboard)}
	return t.Load(ctx,
		privacy.Kind.Item(t, "", privacy.Record{PrivacyRequest: request(Privacy, 5, privacy.Erase, privacy.Ready), By: by,
			Version: 1}),
		privacy.Kind.Item(t, "", privacy.Record{PrivacyRequest: request(OwnPrivacy, 1, privacy.Erase, privacy.Withdrawn),
			Self: true, Version: 1}))
}
