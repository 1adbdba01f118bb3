package imports

import (
	"context"
	"fmt"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// Status is the state of an import. Failed means that the import stopped; Import.Error
// says why. An import whose rows have faults ends as Done.
type Status string

// The statuses of an import.
const (
	Waiting    Status = "WAITING"
	Validating Status = "VALIDATING"
	Running    Status = "RUNNING"
	Done       Status = "DONE"
	Failed     Status = "FAILED"
)

// Options are what a request for an import asks for, and say how its file is read.
type Options struct {
	Kind     string `json:"kind" enum:"customers,drivers,addresses,trips" doc:"What the rows are."`
	Format   string `json:"format" enum:"csv,ndjson" doc:"The form of the file."`
	Key      string `json:"key" enum:"email,phone,externalId" doc:"The column by which a person is found."`
	Mode     string `json:"mode" enum:"validate,run" doc:"validate counts what run would do, and changes nothing."`
	Encoding string `json:"encoding" enum:"utf-8,latin1" doc:"The characters of the file; latin1 is Windows-1252."`
	Decimal  string `json:"decimal" enum:"point,comma" doc:"What separates the decimals of a number."`
	Dates    string `json:"dates,omitempty" enum:"iso,dmy,mdy" doc:"The order of day, month and year in dates such as 31/01/2026; absent in imports of older builds."`
	// Map says what columns are made from. Each element has the form of one --map of svc
	// import.
	Map []string `json:"map,omitempty" doc:"What columns are made from, as requested; absent for nothing."`
}

// Counts says how many rows had each result.
type Counts struct {
	Created   int `json:"created" doc:"Rows whose person or address is new."`
	Updated   int `json:"updated" doc:"Rows that changed something."`
	Unchanged int `json:"unchanged" doc:"Rows that said what is stored already."`
	Failed    int `json:"failed" doc:"Rows with a fault."`
}

// Job is short for Import.
type Job = Import

// Import is an import as the API shows it.
type Import struct {
	ID string `json:"id" example:"imp_01JT7M4C6Q8V2N5X9B3D1F7H0K" doc:"Identifier of the import."`
	Options
	Status Status `json:"status" enum:"WAITING,VALIDATING,RUNNING,DONE,FAILED" doc:"Where the import stands. WAITING: for the file."`
	Counts
	Rows      int         `json:"rows" doc:"Rows of the file, known when it was validated."`
	Bytes     int64       `json:"bytes" doc:"Size of the file."`
	Ignored   []string    `json:"ignored" nullable:"true" doc:"Headings of columns that mean nothing here; null until validated."`
	CreatedAt string      `json:"createdAt" format:"date-time" doc:"When the import was requested."`
	UpdatedAt string      `json:"updatedAt" format:"date-time" doc:"When the import last got further."`
	Error     *string     `json:"error" doc:"Why the import stopped; null otherwise."`
	Upload    *api.Upload `json:"upload,omitempty" doc:"Where to send the file; absent when it was received, and in lists."`
	Undo      *ImportUndo `json:"undo,omitempty" doc:"How far the undo of the import is; absent until somebody asks for one."`
	FailedURL *string     `json:"failedRowsUrl" doc:"Address of a file with the header and the failed rows, for the next 15 minutes. Null without one, and in lists."`
}

// Record is a job as it is stored.
type Record struct {
	Import
	By    authz.Standing `json:"by"`
	Tag   string         `json:"tag,omitempty"` // the file store's tag of the uploaded file; it changes with each upload
	Shape Shape          `json:"shape"`
	// Reading is a copy of Shape.Reading. It is stored here because an older build that
	// writes the record keeps unknown members of the record, but not those of Shape.
	Reading *Reading `json:"reading,omitempty"`
	Place   Place    `json:"place"`           // where to go on: all rows before it are done
	Lease   string   `json:"lease,omitempty"` // until when one process of functions/jobs has the job to itself
	Gone    bool     `json:"gone,omitempty"`  // the files were deleted
	// Undoing is how far the undo of the import is; nil if nobody asked for one.
	Undoing *undo `json:"undoing,omitempty"`

	Version  int64         `json:"-"`
	Preserve table.Unknown `json:"-"`
}

const (
	// FileLife is how long the files of an import are kept.
	FileLife = 7 * 24 * time.Hour
	// JobLife is how long an import is listed.
	JobLife = 30 * 24 * time.Hour
	// maxOpen is how many unfinished imports a tenant may have.
	maxOpen = 10
	// MaxFaults is the number of faults at which an import stops.
	MaxFaults = 1000
)

// Key returns the key of the import with the id.
func Key(t table.Tenant, id string) table.Key { return t.Key("IMPORT", id, "IMPORT") }

// own returns the partition of by-g1 with the imports that an operator requested.
func own(t table.Tenant, actor string) string { return t.Partition("IMPORTS", actor) }

// All returns the partition of by-g3 with all imports of the tenant.
func All(t table.Tenant) string { return t.Partition("IMPORTS") }

// open returns the partition of by-g2 with the tenant's unfinished imports.
func open(t table.Tenant) string { return t.Partition("IMPORTS") }

// Kind says how the record of an import is stored.
var Kind = table.Kind[Record]{Type: "import", Personal: "files that operators brought, faults of their rows",
	Erasure: "deletes the files and unknown headings; faults name nobody",
	Row: func(t table.Tenant, _ string, r Record) table.Item {
		if r.Reading = nil; r.Shape.Separator+r.Shape.Charset != "" || len(r.Shape.Joined) > 0 {
			r.Reading = &r.Shape.Reading
		}
		it := table.Item{Key: Key(t, r.ID), Version: r.Version, G: [4]string{own(t, r.By.Actor)},
			R: r.CreatedAt + "#" + r.ID, Doc: r, Expires: r.expires(), Preserve: r.Preserve}
		if it.G[2] = All(t); !r.Done() {
			it.G[1] = open(t)
		}
		return it
	},
	Read: func(it table.Item) (Record, error) {
		r, err := table.DecodeDoc[Record](it)
		r.Version, r.Preserve = it.Version, it.Unknown()
		if r.Reading != nil {
			r.Shape.Reading = *r.Reading
		}
		return r, err
	}}

// expires returns when the record and its faults expire.
func (r Record) expires() time.Time {
	created, _ := timestamp.Parse(r.CreatedAt) // cannot fail: this package wrote the time
	return created.Add(JobLife)
}

// Done reports whether the import has ended, with or without success. An undo may still
// run.
func (r Record) Done() bool { return r.Status == Done || r.Status == Failed }

// File returns the name of the uploaded file in the store.
func (r Record) File(t table.Tenant) string { return "imports/" + t.ID() + "/" + r.ID + "." + r.Format }

// FailedFile returns the name, in the store, of the file with the failed rows.
func (r Record) FailedFile(t table.Tenant) string {
	return "imports/" + t.ID() + "/" + r.ID + ".failed." + r.Format
}

// countOpen returns how many imports of the tenant are unfinished, at most maxOpen.
//
// Access pattern: by-g2 T#t#IMPORTS.
func countOpen(ctx context.Context, t table.Tenant, _ api.Peek) (int, error) {
	page, err := t.Query(ctx, open(t), table.Query{Index: 2, Limit: maxOpen})
	return len(page.Items), err
}

// Fault is short for ImportFault.
type Fault = ImportFault

// ImportFault says what is wrong with a row. The OpenAPI document names the schema
// after the type.
type ImportFault struct {
	Row     int    `json:"row" doc:"The row, from 1 on, without the header."`
	Line    int    `json:"line" doc:"The line of the file at which the row begins."`
	Column  string `json:"column" doc:"The column; empty for the whole row."`
	Code    string `json:"code" enum:"encoding,cells,required,invalid,formula,duplicate,taken,unknown" doc:"The kind of fault."`
	Message string `json:"message" doc:"What is wrong, and what is expected."`
}

// stored is a fault as it is stored, with the byte offsets in the file at which its row
// begins and ends.
type stored struct {
	Fault
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// The declaration of the items that hold faults (table.Kind).
var _ = table.Kind[any]{Type: "importFault", Personal: "files that operators brought, faults of their rows",
	Erasure: "deletes the files and unknown headings; faults name nobody", Once: "what is wrong with a row of a file"}

// FaultItem returns the stored form of the fault f of a row of the file.
func (r Record) FaultItem(t table.Tenant, row Row, f Fault) table.Item {
	f.Row, f.Line = row.N, row.Line
	return table.Item{Key: table.Key{PK: Key(t, r.ID).PK, SK: fmt.Sprintf("FAULT#%06d", row.N)}, Type: "importFault",
		Doc: stored{f, row.From, row.To}, Expires: r.expires()}
}

// New returns an import that waits for its file. The caller sets the ID. Empty options get
// their defaults. Errors: a 400 with every fault of the options.
func New(o Options, now time.Time) (Job, error) {
	for _, d := range []struct {
		field *string
		value string
	}{{&o.Format, "csv"}, {&o.Key, "email"}, {&o.Mode, "run"}, {&o.Encoding, "utf-8"}, {&o.Decimal, "point"},
		{&o.Dates, "iso"}} {
		if *d.field == "" {
			*d.field = d.value
		}
	}
	var wrong fault.Faults
	_, known := kinds[o.Kind]
	wrong.Unless(known, "body.kind", "expected one of %s", strings.Join(Kinds(), ", "))
	wrong.Unless(o.Format != "ndjson" || o.Encoding == "utf-8", "body.encoding", "NDJSON is always utf-8")
	if known {
		_, err := o.templates()
		wrong.Unless(err == nil, "body.map", "%v", err)
	}
	at := timestamp.Format(now)
	return Job{Options: o, Status: Waiting, CreatedAt: at, UpdatedAt: at}, wrong.Err()
}

// Shown returns what the audit log shows of an import: its options.
func (j Import) Shown() any { return j.Options }

// Add records that a step of the import is done: Place moves past its rows, and its counts
// are added to those of the import.
func (r *Record) Add(s Step) {
	r.Place = s.Next
	r.Created, r.Updated = r.Created+s.Created, r.Updated+s.Updated
	r.Unchanged, r.Failed = r.Unchanged+s.Unchanged, r.Failed+s.Counts.Failed
}
