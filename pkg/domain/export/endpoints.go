package export

import (
	"context"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/codec"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/report"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// Policy is what every export requires of the operator. Each kind of export also requires
// the policy of the same data in the API (Job.Needs).
var Policy = authz.Operators("tenant.reports:export", "EXPORT_REPORTS")

// Rows returns the endpoints of exports.
func Rows() []api.Row {
	return []api.Row{
		api.Post("/api/v1/exports", "svc_create_export", Policy, create, api.Created(), api.Extension(),
			api.Needs(func(t table.Tenant, _ api.Peek) []table.Key { return []table.Key{tenant.Key(t)} }),
			api.Early(countOpen), api.Tag(tag), api.Summary("Export data as a file"),
			api.Confirm("Whoever has the file's address can download the company's data for 15 minutes."),
			api.Text("Begins an export. Ask `GET /api/v1/exports/{id}` until its `status` is `READY`. The token and the operator "+
				"must also be allowed to read the same data in the API, now and as long as the export runs: for `customers`, "+
				"the scope `tenant.customers:read` and the permission `VIEW_CUSTOMERS`.\n\nA CSV file is UTF-8 as RFC 4180 "+
				"describes it, with a header. Amounts are exact decimals. A text that a spreadsheet would compute begins with "+
				"an apostrophe. An NDJSON file has one JSON object in each line."),
			api.NoEvent("`export.completed` tells when the file is ready")),
		api.Get("/api/v1/exports", "svc_list_exports", Policy, list, api.Extension(), api.Tag(tag),
			api.Summary("List one's exports"), api.Text("The exports that the caller has requested in the last 30 days, "+
				"newest first. `url` is null.")),
		api.Get("/api/v1/exports/{id}", "svc_get_export", Policy, get, api.Extension(),
			api.One(ids.Export, Key), api.Tag(tag), api.Summary("Read an export"),
			api.Text("An export that the caller has requested. When it is `READY`, `url` is an address of the file. Each "+
				"response has a new address, which is recorded in the audit log. The file is kept for 7 days.")),
	}
}

// tag is the group of these endpoints in the OpenAPI document.
const tag = "Exports"

type createInput struct {
	Body struct {
		Kind    string   `json:"kind" enum:"trips,postings,receipts,customers,drivers,orders,report" doc:"What the file contains. report has one row for each day."`
		From    *string  `json:"from,omitempty" format:"iso8601" doc:"Start of the window, included: ISO 8601. A date alone is a day in the company's time zone. Default: no start. report needs it." example:"2026-01-01T00:00:00Z"`
		To      *string  `json:"to,omitempty" format:"iso8601" doc:"End of the window, excluded. A date alone includes that day. Default: now." example:"2026-02-01T00:00:00Z"`
		Format  string   `json:"format,omitempty" enum:"csv,ndjson" default:"csv" doc:"The form of the file."`
		Columns []string `json:"columns,omitempty" minItems:"1" maxItems:"100" doc:"The columns, in this order. Default: all. Their names are the members that the API shows." example:"[\"id\",\"requestedAt\",\"finalFare\"]"`
		BOM     bool     `json:"bom,omitempty" default:"false" doc:"Whether a CSV file begins with a byte order mark, by which Excel knows that it is UTF-8."`
	}
}

// create begins an export. Errors: a 400 with every fault; a 403 without the policy of the
// data; a 409 if the company has maxOpen unfinished exports.
func create(ctx context.Context, c *api.Caller, in *createInput) (*Job, error) {
	it, err := c.Item(ctx, tenant.Key(c.Tenant))
	if err != nil {
		return nil, err
	}
	zone, err := tenant.Zone(it)
	if err != nil {
		return nil, err
	}
	b := in.Body
	job, err := New(b.Kind, b.Format, b.Columns, codec.OrZero(b.From), codec.OrZero(b.To), zone, c.Now)
	if err == nil {
		job, err = job.Marked(b.BOM)
	}
	if err != nil {
		return nil, err
	}
	if err := c.May(ctx, kinds[job.Kind].policy); err != nil {
		return nil, err
	}
	if unfinished, err := api.EarlyOf[int](ctx, c); err != nil || unfinished >= maxOpen {
		if err == nil {
			err = fault.InvalidState("The company has %d unfinished exports. Wait until one is ready.", unfinished)
		}
		return nil, err
	}
	by, err := c.Standing(ctx)
	if err != nil {
		return nil, err
	}
	job.ID = ids.New(ids.Export, c.Now)
	defer c.Begun()
	return &job, table.Retry(ctx, func(ctx context.Context) error {
		tx := c.Tenant.Write().Covers(c.Platform.Handle)
		tx.Create(Kind.Item(c.Tenant, "", Record{Job: job, By: by, Version: 1})).Else(table.ErrConflict)
		due.BeginJob(tx, c.Platform, c.Tenant, job.ID)
		audit.Append(tx, c.Tenant, c.By(), "export.add", job.ID, nil, job.Shown())
		return c.Commit(ctx, tx, job)
	})
}

// countOpen returns how many exports of the tenant are unfinished, at most maxOpen.
//
// Access pattern: by-g2 T#t#EXPORTS.
func countOpen(ctx context.Context, t table.Tenant, _ api.Peek) (int, error) {
	page, err := t.Query(ctx, open(t), table.Query{Index: 2, Limit: maxOpen})
	return len(page.Items), err
}

// New returns a pending job without an id. Without columns, the job has all columns of the
// kind. from and to are the window's bounds in ISO 8601, or "" for no start and for now. A
// date alone is a day in the zone, and to includes that day. Errors: a 400 with every
// fault.
func New(kind, format string, columns []string, from, to string, zone *time.Location, now time.Time) (Job, error) {
	k, known := kinds[kind]
	j := Job{Kind: kind, Format: format, Columns: columns, Status: Pending, CreatedAt: timestamp.Format(now),
		UpdatedAt: timestamp.Format(now), To: timestamp.Format(now)}
	if j.Format == "" {
		j.Format = "csv"
	}
	var wrong fault.Faults
	wrong.Unless(known, "body.kind", "expected one of %s", strings.Join(Kinds(), ", "))
	if len(columns) == 0 {
		j.Columns = k.columns
	}
	for i, name := range columns {
		wrong.Unless(!known || slices.Contains(k.columns, name), "body.columns", "%q is no column of %s; expected some of %s",
			name, kind, strings.Join(k.columns, ", "))
		wrong.Unless(!slices.Contains(columns[:i], name), "body.columns", "%q is there twice", name)
	}
	start, end := time.Time{}, now
	if from != "" {
		at, err := timestamp.ParseInput(from)
		wrong.Unless(err == nil, "body.from", "%v", err)
		start = at.From(zone)
		j.From = timestamp.Ptr(timestamp.Ceil(start))
	}
	if to != "" {
		at, err := timestamp.ParseInput(to)
		wrong.Unless(err == nil, "body.to", "%v", err)
		if end = at.To(zone); end.After(now) {
			end = now
		}
		j.To = timestamp.Format(timestamp.Ceil(end))
	}
	if len(wrong) == 0 {
		wrong.Unless(start.Before(end), "body.from", "must be before to, and before now")
		wrong.Unless(kind != "report" || from != "", "body.from", "is required for a report")
		wrong.Unless(kind != "report" || from == "" || end.Sub(start) <= report.Longest, "body.from",
			"a report has at most 400 days")
	}
	return j, wrong.Err()
}

// Marked returns the job with BOM set to bom. With BOM, the file begins with a byte order
// mark. Many scripts cannot read the mark, so files have none by default. Errors: a 400 for
// a file that is not CSV.
func (j Job) Marked(bom bool) (Job, error) {
	if bom && j.Format != "csv" {
		return j, fault.Field("body.bom", "only a CSV file has a byte order mark")
	}
	j.BOM = bom
	return j, nil
}

// list returns the exports that the caller has requested, newest first.
//
// Access pattern: by-g1 T#t#EXPORTS#actor backward.
func list(ctx context.Context, c *api.Caller, in *api.Paging) (*api.Page[Job], error) {
	return api.ListPage(ctx, c, *in, api.List[Job]{Name: "exports", Filters: []string{c.Actor.Subject},
		Partitions: []string{own(c.Tenant, c.Actor.Subject)}, Query: table.Query{Index: 1, Backward: true},
		Map: func(it table.Item) (Job, error) {
			r, err := Kind.FromItem(it)
			return r.Job, err
		}})
}

type getInput struct {
	ID string `path:"id" doc:"Identifier of the export." example:"exp_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
}

// get returns an export of the caller, with a new address of its file if the file is
// there. Errors: a 404 for the export of another operator; a 403 if the caller may no
// longer read the data.
func get(ctx context.Context, c *api.Caller, in *getInput) (*Job, error) {
	it, err := c.Item(ctx, Key(c.Tenant, in.ID))
	if err != nil {
		return nil, err
	}
	r, err := Kind.FromItem(it)
	if err != nil {
		return nil, err
	}
	if r.By.Actor != c.Actor.Subject || !it.Live(c.Now) {
		return nil, fault.NotFound()
	}
	if !r.available(c.Now) {
		return &r.Job, nil
	}
	if err := c.May(ctx, kinds[r.Kind].policy); err != nil {
		return nil, err
	}
	url, err := c.Link(ctx, r.File(c.Tenant), r.SavedAs())
	if err != nil {
		return nil, err
	}
	r.URL = &url
	c.Audit("export.download", r.ID, map[string]any{"kind": r.Kind})
	return &r.Job, nil
}
