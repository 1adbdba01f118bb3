package imports

import (
	"bytes"
	"context"
	"io"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// Policy is what every import requires of the operator. Each kind of import also requires
// the policy of its own.
var Policy = authz.Operators("tenant.imports:write", "IMPORT_DATA")

// Rows returns the endpoints of imports.
func Rows() []api.Row {
	own := api.Needs(func(t table.Tenant, p api.Peek) []table.Key {
		if id := p.Path("id"); ids.Valid(ids.Import, id) {
			return []table.Key{Key(t, id)}
		}
		return nil
	})
	return []api.Row{
		api.Post("/api/v1/imports", "svc_create_import", Policy, create, api.Created(), api.Extension(),
			api.Early(countOpen), api.Tag(tag), api.Summary("Import people, addresses and past rides from a file"),
			api.Confirm("The rows of the file that is uploaded create and change people, or add past rides."),
			api.Text("Begins an import. Send the file to `upload.url` as `multipart/form-data`: every member of "+
				"`upload.fields`, then the file as `file`. Then ask `GET /api/v1/imports/{id}` until its `status` is `DONE`. "+
				"The whole file is validated first. Rows with a fault are left out; at 1,000 faults the import stops. The "+
				"same file again changes nothing.\n\nA CSV file has a header. Commas, semicolons or tabs separate its cells. "+
				"An empty cell changes nothing. The token and the operator must also be allowed to create such people: "+
				"`tenant.customers:write` and `CREATE_CUSTOMERS`, `tenant.drivers:write` and `CREATE_DRIVERS`, or "+
				"`tenant.trips:write` and `CREATE_TRIPS`. Imported people have no password.\n\n`trips` are rides of another "+
				"system that have ended. `tripId` names a ride there. They count in reports, move no money and get no receipt. "+
				"A time without an offset is one of the company's time zone."),
			api.NoEvent("`import.completed` tells when it ended; people of its rows have events, past trips have none, because "+
				"they are history")),
		api.Get("/api/v1/imports", "svc_list_imports", Policy, list, api.Extension(), api.Tag(tag),
			api.Summary("List one's imports"), api.Text("The imports that the caller has requested in the last 30 days, "+
				"newest first. Addresses are null.")),
		api.Get("/api/v1/imports/{id}", "svc_get_import", Policy, get, api.Extension(), own, api.Tag(tag),
			api.Summary("Read an import"), api.Text("An import that the caller has requested. While it waits for the file, "+
				"each response has a new address for the upload.")),
		api.Get("/api/v1/imports/{id}/errors", "svc_list_import_errors", Policy, faults, api.Extension(), own, api.Tag(tag),
			api.Summary("List the faults of an import"), api.Text("The faults of the rows, one of each row, in the file's "+
				"order.")),
		api.Post("/api/v1/imports/{id}/undo", "svc_undo_import", Policy, undoes, api.Extension(), own, api.Tag(tag),
			api.Summary("Undo an import of rides"),
			api.Confirm("Every ride that the import made is removed, and reports of past months change."),
			api.Text("Removes all rides that an import of `trips` made, or none: within 7 days of its request and only while "+
				"nothing else has changed one of them. Else `undo.status` becomes `REFUSED`, `undo.reason` names the ride, and "+
				"all stay. An import of people or addresses is a 409 that says what to do instead. It also needs "+
				"`tenant.trips:delete` and `DELETE_TRIPS`. Ask `GET /api/v1/imports/{id}` until `undo.status` is not `RUNNING`. "+
				"It may be repeated."),
			api.NoEvent("each ride that it removes has `trip.deleted`")),
	}
}

// tag is the group of these endpoints in the OpenAPI document.
const tag = "Imports"

type createInput struct {
	Body struct {
		Kind     string   `json:"kind" enum:"customers,drivers,addresses,trips" doc:"What the rows are."`
		Format   string   `json:"format,omitempty" enum:"csv,ndjson" default:"csv" doc:"The form of the file."`
		Key      string   `json:"key,omitempty" enum:"email,phone,externalId" default:"email" doc:"The column by which a person is found."`
		Mode     string   `json:"mode,omitempty" enum:"validate,run" default:"run" doc:"validate counts what run would do, and changes nothing."`
		Encoding string   `json:"encoding,omitempty" enum:"utf-8,latin1" default:"utf-8" doc:"The characters of the file; latin1 is Windows-1252."`
		Decimal  string   `json:"decimal,omitempty" enum:"point,comma" default:"point" doc:"What separates the decimals of a number."`
		Dates    string   `json:"dates,omitempty" enum:"iso,dmy,mdy" default:"iso" doc:"The order of day, month and year in dates such as 31/01/2026."`
		Map      []string `json:"map,omitempty" minItems:"1" maxItems:"50" doc:"What columns are made from, where their headings do not say it: COLUMN=HEADING, COLUMN=TEMPLATE with {HEADING} in it, {HEADING|VALUE=TEXT} to replace values, or COLUMN:=TEXT for the same text in each row." example:"[\"tripId={Vendor} {Pickup time}\",\"paymentType={Payment|1=CARD|2=CASH}\",\"email:=street@metro.example\"]"`
	}
}

// create stores a new import, which waits for its file. Errors: a 409 if the tenant has
// maxOpen unfinished imports.
func create(ctx context.Context, c *api.Caller, in *createInput) (*Job, error) {
	b := in.Body
	job, err := New(Options{b.Kind, b.Format, b.Key, b.Mode, b.Encoding, b.Decimal, b.Dates, b.Map}, c.Now)
	if err != nil {
		return nil, err
	}
	if err := c.May(ctx, kinds[job.Kind].policy); err != nil {
		return nil, err
	}
	if unfinished, err := api.EarlyOf[int](ctx, c); err != nil || unfinished >= maxOpen {
		if err == nil {
			err = fault.InvalidState("The company has %d unfinished imports. Wait until one is done.", unfinished)
		}
		return nil, err
	}
	by, err := c.Standing(ctx)
	if err != nil {
		return nil, err
	}
	job.ID = ids.New(ids.Import, c.Now)
	rec := Record{Import: job, By: by, Version: 1}
	if job.Upload, err = c.Upload(ctx, rec.File(c.Tenant), MaxBytes); err != nil {
		return nil, err
	}
	defer c.Begun()
	return &job, table.Retry(ctx, func(ctx context.Context) error {
		tx := c.Tenant.Write().Covers(c.Platform.Handle)
		tx.Create(Kind.Item(c.Tenant, "", rec)).Else(table.ErrConflict)
		due.BeginJob(tx, c.Platform, c.Tenant, job.ID)
		audit.Append(tx, c.Tenant, c.By(), "import.add", job.ID, nil, job.Shown())
		return c.Commit(ctx, tx, job)
	})
}

// list returns the imports that the caller has requested, newest first.
//
// Access pattern: by-g1 T#t#IMPORTS#actor backward.
func list(ctx context.Context, c *api.Caller, in *api.Paging) (*api.Page[Job], error) {
	return api.ListPage(ctx, c, *in, api.List[Job]{Name: "imports", Filters: []string{c.Actor.Subject},
		Partitions: []string{own(c.Tenant, c.Actor.Subject)}, Query: table.Query{Index: 1, Backward: true},
		Map: func(it table.Item) (Job, error) {
			r, err := Kind.FromItem(it)
			return r.Import, err
		}})
}

type getInput struct {
	ID string `path:"id" doc:"Identifier of the import." example:"imp_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
}

// read returns the import with the id, which the caller must have requested. The import was
// read together with the access checks. Errors: a 404 for another operator's import, or one
// that has expired.
func read(ctx context.Context, c *api.Caller, id string) (Record, error) {
	if !ids.Valid(ids.Import, id) {
		return Record{}, fault.NotFound()
	}
	it, err := c.Item(ctx, Key(c.Tenant, id))
	if err != nil {
		return Record{}, err
	}
	r, err := Kind.FromItem(it)
	if err == nil && (r.By.Actor != c.Actor.Subject || !it.Live(c.Now)) {
		err = fault.NotFound()
	}
	return r, err
}

// get returns an import that the caller has requested. An import that waits for its file has
// an address for the upload. One that has ended has an address of the failed rows.
func get(ctx context.Context, c *api.Caller, in *getInput) (*Job, error) {
	r, err := read(ctx, c, in.ID)
	switch {
	case err != nil:
	case r.Status == Waiting:
		r.Upload, err = c.Upload(ctx, r.File(c.Tenant), MaxBytes)
	case r.Done() && r.Failed > 0 && !r.Gone:
		var url string
		url, err = c.Link(ctx, r.FailedFile(c.Tenant), "failed-"+r.Kind+"."+r.Format)
		r.FailedURL = &url
	}
	return &r.Import, err
}

type faultsInput struct {
	ID string `path:"id" doc:"Identifier of the import." example:"imp_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	api.Paging
}

// faults returns the faults of an import's rows.
//
// Access pattern: T#t#IMPORT#id, FAULT#….
func faults(ctx context.Context, c *api.Caller, in *faultsInput) (*api.Page[Fault], error) {
	r, err := read(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	return api.ListPage(ctx, c, in.Paging, api.List[Fault]{Name: "import errors", Filters: []string{r.ID},
		Partitions: []string{Key(c.Tenant, r.ID).PK}, Query: table.Query{Prefix: "FAULT#"},
		Map: table.DecodeDoc[Fault]})
}

// Faults reads the rows with a fault of the import with the id, in the file's order. Each
// Row has its number and its place in the file, but no cells.
func Faults(ctx context.Context, t table.Tenant, id string) (rows []Row, err error) {
	for items, err := range t.Pages(ctx, Key(t, id).PK, table.Query{Prefix: "FAULT#", Limit: 500, Consistent: true}) {
		if err != nil {
			return nil, err
		}
		for _, it := range items {
			row, _, err := BadRow(it)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// BadRow decodes a stored fault, and the row that it is about. The item may come from
// FaultItem and need not be stored yet.
func BadRow(it table.Item) (Row, Fault, error) {
	s, ok := it.Doc.(stored) // true if the item was not stored yet
	if !ok {
		var err error
		if s, err = table.DecodeDoc[stored](it); err != nil {
			return Row{}, Fault{}, err
		}
	}
	return Row{N: s.Row, Line: s.Line, From: s.From, To: s.To}, s.Fault, nil
}

// CopyRows copies the header and the given rows of the file in to w, byte for byte. s is the
// file's shape. CopyRows adds a line break to a row without one. The rows must be in the
// file's order.
func CopyRows(w io.Writer, in io.Reader, s Shape, rows []Row) error {
	if _, err := io.CopyN(w, in, s.Head); err != nil {
		return err
	}
	at := s.Head
	for _, row := range rows {
		if _, err := io.CopyN(io.Discard, in, row.From-at); err != nil {
			return err
		}
		text := make([]byte, row.To-row.From)
		if _, err := io.ReadFull(in, text); err != nil {
			return err
		}
		at = row.To
		if lf := s.encoded("\n"); !bytes.HasSuffix(text, lf) && !bytes.HasSuffix(text, s.encoded("\r")) {
			text = append(append(text, s.encoded("\r")...), lf...)
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}
