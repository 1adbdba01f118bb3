package export

import (
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/codec"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
)

// Status is the state of a job.
type Status string

// The statuses of an export.
const (
	Pending Status = "PENDING"
	Running Status = "RUNNING"
	Ready   Status = "READY"
	Failed  Status = "FAILED"
)

// Job is an export as the API shows it.
type Job struct {
	ID        string   `json:"id" example:"exp_01JT7M4C6Q8V2N5X9B3D1F7H0K" doc:"Identifier of the export."`
	Kind      string   `json:"kind" enum:"trips,postings,receipts,customers,drivers,orders,report" doc:"What the file contains."`
	Format    string   `json:"format" enum:"csv,ndjson" doc:"The form of the file."`
	Columns   []string `json:"columns" doc:"The columns, in their order in the file."`
	BOM       bool     `json:"bom,omitempty" doc:"Whether the file begins with a byte order mark; absent for no."`
	From      *string  `json:"from" format:"date-time" doc:"Start of the window, included; null for no start."`
	To        string   `json:"to" format:"date-time" doc:"End of the window, excluded."`
	Status    Status   `json:"status" enum:"PENDING,RUNNING,READY,FAILED" doc:"Where the export stands."`
	Rows      int64    `json:"rows" doc:"Rows written so far, without the header."`
	Bytes     int64    `json:"bytes" doc:"Bytes written so far."`
	CreatedAt string   `json:"createdAt" format:"date-time" doc:"When the export was requested."`
	UpdatedAt string   `json:"updatedAt" format:"date-time" doc:"When the export last got further."`
	ExpiresAt *string  `json:"expiresAt" format:"date-time" doc:"When the file is deleted; null until it is ready."`
	Error     *string  `json:"error" doc:"Why the export failed; null otherwise."`
	URL       *string  `json:"url" doc:"Address of the file for the next 15 minutes. Anybody who has the address can download the file. Null until the file is ready, after it was deleted, and in lists."`
}

// Record is a job as it is stored. pkg/background/jobs writes the file in slices, and saves
// the record after each. The file store gets the content as parts of a multipart upload.
type Record struct {
	Job
	By       authz.Standing `json:"by"`
	Position string         `json:"position,omitempty"` // Row.Position of the last row in Parts or Tail
	Upload   string         `json:"upload,omitempty"`   // the file store's id of the upload
	Parts    []string       `json:"parts,omitempty"`    // the file store's tags of the parts written so far
	Tail     string         `json:"tail,omitempty"`     // name of a file with the content after Parts, too short for a part
	Complete bool           `json:"complete,omitempty"` // all parts are written
	Lease    string         `json:"lease,omitempty"`    // until when one process of functions/jobs has the job to itself

	Version  int64         `json:"-"`
	Preserve table.Unknown `json:"-"`
}

const (
	// FileLife is how long a file is kept after it is ready.
	FileLife = 7 * 24 * time.Hour
	// JobLife is how long a job is kept after it was requested.
	JobLife = 30 * 24 * time.Hour
	// maxOpen is the maximum number of a tenant's unfinished exports.
	maxOpen = 10
)

// Key returns the key of the export job with the id.
func Key(t table.Tenant, id string) table.Key { return t.Key("EXPORT", id, "EXPORT") }

// All returns the partition of by-g3 with the tenant's jobs.
func All(t table.Tenant) string { return t.Partition("EXPORTS") }

// own returns the partition of by-g1 with an operator's jobs.
func own(t table.Tenant, actor string) string { return t.Partition("EXPORTS", actor) }

// open returns the partition of by-g2 with the tenant's unfinished jobs.
func open(t table.Tenant) string { return t.Partition("EXPORTS") }

// Kind says how the record of an export job is stored.
var Kind = table.Kind[Record]{Type: "export", Personal: "files that operators made",
	Erasure: "deletes every file that may name a person",
	Row: func(t table.Tenant, _ string, r Record) table.Item {
		created, _ := timestamp.Parse(r.CreatedAt) // cannot fail: this package wrote the time
		it := table.Item{Key: Key(t, r.ID), Version: r.Version, G: [4]string{own(t, r.By.Actor)},
			R: r.CreatedAt + "#" + r.ID, Expires: created.Add(JobLife), Preserve: r.Preserve}
		if it.G[2] = All(t); !r.Done() {
			it.G[1] = open(t)
		}
		return it
	},
	Read: func(it table.Item) (Record, error) {
		r, err := table.DecodeDoc[Record](it)
		r.Version, r.Preserve = it.Version, it.Unknown()
		return r, err
	}}

// Done reports whether the job has ended: its file is ready, or it failed.
func (r Record) Done() bool { return r.Status == Ready || r.Status == Failed }

// Restart resets an unfinished job, so that its file is written again from the start.
func (r *Record) Restart() {
	if !r.Done() {
		r.Position, r.Parts, r.Tail, r.Upload, r.Complete, r.Rows, r.Bytes = "", nil, "", "", false, 0, 0
		r.Lease = ""
	}
}

// File returns the name of the export's file in the file store.
func (r Record) File(t table.Tenant) string { return "exports/" + t.ID() + "/" + r.ID + "." + r.Format }

// SavedAs returns the name under which a browser saves the file.
func (r Record) SavedAs() string {
	name := r.Kind
	for _, at := range []string{codec.OrZero(r.From), r.To} {
		if len(at) >= len("2006-01-02") {
			name += "-" + at[:len("2006-01-02")]
		}
	}
	return name + "." + r.Format
}

// available reports whether the export's file can be downloaded at the time now.
func (r Record) available(now time.Time) bool {
	until, err := timestamp.Parse(codec.OrZero(r.ExpiresAt))
	return r.Status == Ready && err == nil && now.Before(until)
}

// Shown returns what the audit log shows of a job: what was asked for, and none of the
// file's data.
func (j Job) Shown() map[string]any {
	return map[string]any{"kind": j.Kind, "format": j.Format, "from": j.From, "to": j.To, "columns": j.Columns}
}
