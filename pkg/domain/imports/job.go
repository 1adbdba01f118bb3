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

// Status is the state of a job.
type Status string

// The statuses.
const (
	Waiting    Status = "WAITING"
	Validating Status = "VALIDATING"
	Running    Status = "RUNNING"
	Done       Status = "DONE"
	Failed     Status = "FAILED"
)

// Options say how a file is read.
type Options struct {
	Kind     string `json:"kind" enum:"customers,drivers,addresses,trips" doc:"What the rows are."`
	Format   string `json:"format" enum:"csv,ndjson" doc:"The form of the file."`
	Key      string `json:"key" enum:"email,phone,externalId" doc:"The column by which a person is found."`
	Mode     string `json:"mode" enum:"validate,run" doc:"validate counts what run would do, and changes nothing."`
	Encoding string `json:"encoding" enum:"utf-8,latin1" doc:"The characters of the file; latin1 is Windows-1252."`
	Decimal  string `json:"decimal" enum:"point,comma" doc:"What separates the decimals of a number."`
	Dates    string `json:"dates,omitempty" enum:"iso,dmy,mdy" doc:"The order of day, month and year in dates such as 31/01/2026; absent in imports of older builds."`
	// Map says what columns are made from. Its form is that of --map of svc import.
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
	Tag   string         `json:"tag,omitempty"` // of the uploaded file; another upload has another one
	Shape Shape          `json:"shape"`
	// Reading is Shape.Reading. An older build keeps a member that it does not know of the
	// record, and not of the shape.
	Reading *Reading `json:"reading,omitempty"`
	Place   Place    `json:"place"`           // the rows before it are done
	Lease   string   `json:"lease,omitempty"` // until when a runner may work on the job
	Gone    bool     `json:"gone,omitempty"`  // the files were deleted
	// Undoing is the state of Undo.
	Undoing *undo `json:"undoing,omitempty"`

	Version  int64         `json:"-"`
	Preserve table.Unknown `json:"-"`
}

const (
	// FileLife is how long the files of a job are kept.
	FileLife = 7 * 24 * time.Hour
	// JobLife is how long a job is listed.
	JobLife = 30 * 24 * time.Hour
	// maxOpen is how many unfinished imports a tenant may have.
	maxOpen = 10
	// MaxFaults is the number of faults at which an import stops.
	MaxFaults = 1000
)

// Key returns the key of a job.
func Key(t table.Tenant, id string) table.Key { return t.Key("IMPORT", id, "IMPORT") }

func own(t table.Tenant, actor string) string { return t.Partition("IMPORTS", actor) }

// All returns the partition of by-g3 with the tenant's jobs.
func All(t table.Tenant) string { return t.Partition("IMPORTS") }

func open(t table.Tenant) string { return t.Partition("IMPORTS") }

// Kind stores jobs.
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

func (r Record) expires() time.Time {
	created, _ := timestamp.Parse(r.CreatedAt) // written by this package
	return created.Add(JobLife)
}

// Done reports whether no work is left.
func (r Record) Done() bool { return r.Status == Done || r.Status == Failed }

// File returns the name of the uploaded file in the store.
func (r Record) File(t table.Tenant) string { return "imports/" + t.ID() + "/" + r.ID + "." + r.Format }

// FailedFile returns the name of the file with the failed rows.
func (r Record) FailedFile(t table.Tenant) string {
	return "imports/" + t.ID() + "/" + r.ID + ".failed." + r.Format
}

// countOpen reads by-g2 T#t#IMPORTS: the unfinished imports of the tenant, at most
// maxOpen.
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

// stored is a fault with the row's place in the file.
type stored struct {
	Fault
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

var _ = table.Kind[any]{Type: "importFault", Personal: "files that operators brought, faults of their rows",
	Erasure: "deletes the files and unknown headings; faults name nobody", Once: "what is wrong with a row of a file"}

// FaultItem returns the stored form of a fault.
func (r Record) FaultItem(t table.Tenant, row Row, f Fault) table.Item {
	f.Row, f.Line = row.N, row.Line
	return table.Item{Key: table.Key{PK: Key(t, r.ID).PK, SK: fmt.Sprintf("FAULT#%06d", row.N)}, Type: "importFault",
		Doc: stored{f, row.From, row.To}, Expires: r.expires()}
}

// New returns a job without an id. Errors: a 400 with every fault.
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

// Shown is what the audit log shows of a job.
func (j Import) Shown() any { return j.Options }

// Add adds what a step did.
func (r *Record) Add(s Step) {
	r.Place = s.Next
	r.Created, r.Updated = r.Created+s.Created, r.Updated+s.Updated
	r.Unchanged, r.Failed = r.Unchanged+s.Unchanged, r.Failed+s.Counts.Failed
}
