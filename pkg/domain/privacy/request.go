package privacy

import (
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
)

// The kinds of privacy requests: for a copy of a person's data, or for its erasure.
const (
	Export = "export"
	Erase  = "erase"
)

// Status is the state of a request.
type Status string

// The statuses of a request. Ready means that an erasure may run: an operator starts it, or
// it starts at RunsAt if the person asked for it.
const (
	Validating Status = "VALIDATING"
	Ready      Status = "READY"
	Blocked    Status = "BLOCKED"
	Running    Status = "RUNNING"
	Done       Status = "DONE"
	Withdrawn  Status = "WITHDRAWN"
)

// The codes of PrivacyReason.
const (
	OpenTrip   = "OPEN_TRIP"
	OpenOrder  = "OPEN_ORDER"
	Balance    = "BALANCE"
	Withdrawal = "WITHDRAWAL"
	Stopped    = "STOPPED"
)

// ServiceFailed returns the reason of a request whose processing has panicked.
func ServiceFailed() PrivacyReason {
	return PrivacyReason{Stopped, "The service failed at this request, and logged why. Run an erasure again, or ask for " +
		"another copy. If it stops again, the logs say where."}
}

// PrivacyReason is why a person cannot be erased yet.
type PrivacyReason struct { //nolint:revive // the OpenAPI document names the schema after the type
	Code    string `json:"code" enum:"OPEN_TRIP,OPEN_ORDER,BALANCE,WITHDRAWAL,STOPPED" doc:"What is in the way."`
	Message string `json:"message" doc:"What to do about it."`
}

// PrivacyRequest is a request as the API shows it.
type PrivacyRequest struct { //nolint:revive // the OpenAPI document names the schema after the type
	ID         string          `json:"id" example:"prv_01JT7M4C6Q8V2N5X9B3D1F7H0K" doc:"Identifier of the request."`
	Kind       string          `json:"kind" enum:"export,erase" doc:"A copy of the person's data, or its erasure."`
	CustomerID *string         `json:"customerId" doc:"The rider; null if the person is a driver."`
	DriverID   *string         `json:"driverId" doc:"The driver; null if the person is a rider."`
	Status     Status          `json:"status" enum:"VALIDATING,READY,BLOCKED,RUNNING,DONE,WITHDRAWN" doc:"Where the request stands. READY waits for the call that runs it, or for runsAt. BLOCKED has reasons. WITHDRAWN means that the person signed in again."`
	Reasons    []PrivacyReason `json:"reasons" doc:"Why the person cannot be erased yet."`
	CreatedAt  string          `json:"createdAt" format:"date-time" doc:"When it was made."`
	UpdatedAt  string          `json:"updatedAt" format:"date-time" doc:"When it last changed."`
	RunsAt     *string         `json:"runsAt" format:"date-time" doc:"When an erasure runs that the person asked for; null otherwise."`
	ExpiresAt  *string         `json:"expiresAt" format:"date-time" doc:"Until when the file can be downloaded; null without a file."`
	URL        *string         `json:"url" doc:"Address of the file for the next 15 minutes: one JSON object in each line. Anybody who has the address can download the file. Null until the file is ready."`
}

// Record is a request as it is stored. It identifies people by id only, so the erasures
// that are done can be kept as a journal.
type Record struct {
	PrivacyRequest
	By   authz.Standing `json:"by,omitzero"`    // the operator who asked; none if the person did
	Self bool           `json:"self,omitempty"` // the person asked, and no operator
	// Again says that an erasure runs again after it had been finished.
	Again bool `json:"again,omitempty"`

	Step     int    `json:"step,omitempty"`     // number of the current step; see pkg/background/erasure
	Position string `json:"position,omitempty"` // in the step: the last key that is done
	Bytes    int    `json:"bytes,omitempty"`    // size of the file so far

	Version  int64         `json:"-"`
	Preserve table.Unknown `json:"-"`
}

const (
	// Grace is how long a person who asked to be erased may still sign in and so withdraw
	// the request.
	Grace = 7 * 24 * time.Hour
	// FileLife is how long the file of an export can be downloaded.
	FileLife = 7 * 24 * time.Hour
	// exportLife is how long the request of an export is kept. The request of an erasure
	// is kept for good: after a backup is restored, the erasure must run again.
	exportLife = 30 * 24 * time.Hour
)

// Key returns the key of the privacy request with the id.
func Key(t table.Tenant, id string) table.Key { return t.Key("PRIVACY", id, "PRIVACY") }

// Journal returns the partition of by-g1 with the tenant's erasures that have begun.
func Journal(t table.Tenant) string { return t.Partition("ERASURES") }

// ExportsOf returns the partition of by-g1 with the requests for copies of the data of the
// rider or driver with the id.
func ExportsOf(t table.Tenant, id string) string { return t.Partition("PRIVACY", "OF", id) }

// Kind says how the record of a privacy request is stored.
var Kind = table.Kind[Record]{Type: "privacy", Personal: "the file of an earlier copy",
	Erasure: "deletes request and file",
	Row: func(t table.Tenant, _ string, r Record) table.Item {
		it := table.Item{Key: Key(t, r.ID), Version: r.Version, Preserve: r.Preserve, R: r.ID}
		it.G[every-1] = all(t)
		switch {
		case r.Kind == Export:
			created, _ := timestamp.Parse(r.CreatedAt) // cannot fail: this package wrote the time
			it.Expires = created.Add(exportLife)
			it.G[0] = ExportsOf(t, r.Subject())
		case r.Status == Running || r.Status == Done || r.Step > 0:
			it.G[0] = Journal(t)
		}
		return it
	},
	Read: func(it table.Item) (Record, error) {
		r, err := table.DecodeDoc[Record](it)
		r.Version, r.Preserve = it.Version, it.Unknown()
		return r, err
	}}

// Subject returns the identifier of the rider or driver whom the request is about.
func (r PrivacyRequest) Subject() string {
	if r.CustomerID != nil {
		return *r.CustomerID
	}
	return *r.DriverID
}

// Audience returns authz.Rider or authz.Driver: what the person is whom the request is about.
func (r PrivacyRequest) Audience() authz.Audience {
	if r.CustomerID != nil {
		return authz.Rider
	}
	return authz.Driver
}

// subjectKey returns the key of the record of the rider or driver whom the request is about.
func (r PrivacyRequest) subjectKey(t table.Tenant) table.Key {
	if r.CustomerID != nil {
		return customer.Key(t, *r.CustomerID)
	}
	return driver.Key(t, *r.DriverID)
}

// File returns the name, in the file store, of the file with the copy of the person's data.
func (r PrivacyRequest) File(t table.Tenant) string {
	return "exports/" + t.ID() + "/" + r.ID + ".ndjson"
}

// Available reports whether the request has a file that can be downloaded at the time now.
func (r PrivacyRequest) Available(now time.Time) bool {
	if r.ExpiresAt == nil || r.Status != Done {
		return false
	}
	until, err := timestamp.Parse(*r.ExpiresAt)
	return err == nil && now.Before(until)
}

// Open reports whether pkg/background/erasure has something to do for the request now.
func (r Record) Open() bool { return r.Status == Validating || r.Status == Running }
