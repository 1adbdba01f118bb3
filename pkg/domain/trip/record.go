package trip

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/external"
	"svc/pkg/domain/fare"
)

// The indexes that contain trips. Their entries have the complete trip, which costs five
// write units of each transition, so that a list needs one read.
const (
	byTenant = 1 // TRIPS#shard
	// ByStatus lists all trips in a status.
	ByStatus   = 2 // STATUS#status#shard
	byDriver   = 3 // DRIVER#id#TRIPS
	byCustomer = 4 // CUSTOMER#id#TRIPS
)

// Key returns the key of a trip's item.
func Key(t table.Tenant, id string) table.Key { return t.Key("TRIP", id, "TRIP") }

// IDs are the identifiers of trips in other systems.
var IDs = external.Kind{Name: "trip", Key: Key}

// LogKey returns the key of the stored log entry for a version of the trip.
// Entries are ordered by version, not by clock.
func LogKey(t table.Tenant, id string, version int64) table.Key {
	digits := strconv.FormatInt(version, 10)
	return t.Key("TRIP", id, logPrefix+"000000"[:max(0, 6-len(digits))]+digits)
}

const logPrefix = "LOG#"

func driverPartition(t table.Tenant, id string) string   { return t.Partition("DRIVER", id, "TRIPS") }
func customerPartition(t table.Tenant, id string) string { return t.Partition("CUSTOMER", id, "TRIPS") }

// Own returns the partition with the trips of a driver or a rider, and its index.
func Own(t table.Tenant, audience authz.Audience, id string) (partition string, index int) {
	if audience == authz.Driver {
		return driverPartition(t, id), byDriver
	}
	return customerPartition(t, id), byCustomer
}

// LatePartition returns the partition of by-g1 with the log entries of late
// completions (more than LateAge after the request) and of cancellations with a fee,
// ordered by time. A sweep needs it: the indexes of trips are ordered by time of
// request, so their newest entries lack trips that were completed late, and contain
// many trips that were cancelled without a fee.
func LatePartition(t table.Tenant) string { return t.Partition("STATUS", string(Completed), "LATE") }

// LateAge is the time from request to completion after which a completion is
// in LatePartition.
const LateAge = 24 * time.Hour

func (t Trip) completedLate() bool {
	if t.Status != Completed || t.CompletedAt == nil {
		return false
	}
	requested, err := timestamp.Parse(t.RequestedAt)
	completed, err2 := timestamp.Parse(*t.CompletedAt)
	return err == nil && err2 == nil && completed.Sub(requested) > LateAge
}

// document is the doc attribute of a trip's item: a Trip with the names that are
// stored. It omits null values and what keys and attributes already hold. The item of
// a trip without long texts must stay at or below 1,024 bytes, so that a transition
// costs only two write units on the table. A completed trip with its index keys comes
// near that size. Therefore the names are short, and UpdatedAt is absent if it equals
// the latest of the other times.
type document struct { //nolint:dupl // Item and FromItem convert it from and to a Trip
	ID              string           `json:"-"`
	TripCode        string           `json:"c"`
	Status          Status           `json:"-"`
	DriverID        *string          `json:"-"`
	CustomerID      string           `json:"-"`
	OriginAddress   string           `json:"oa"`
	OriginLat       json.Number      `json:"ox"`
	OriginLng       json.Number      `json:"oy"`
	DestAddress     *string          `json:"da,omitempty"`
	DestLat         *json.Number     `json:"dx,omitempty"`
	DestLng         *json.Number     `json:"dy,omitempty"`
	ServiceTypeID   *string          `json:"sv,omitempty"`
	PaymentType     string           `json:"pt"`
	Notes           *string          `json:"n,omitempty"`
	EstimatedFare   *money.Amount    `json:"ef,omitempty"`
	FinalFare       *money.Amount    `json:"ff,omitempty"`
	Currency        string           `json:"cu"`
	RequestedAt     string           `json:"-"`
	AcceptedAt      *string          `json:"t1,omitempty"`
	ArrivedAt       *string          `json:"t2,omitempty"`
	StartedAt       *string          `json:"t3,omitempty"`
	CompletedAt     *string          `json:"t4,omitempty"`
	ActualDistance  *money.Amount    `json:"km,omitempty"`
	ActualDuration  *money.Amount    `json:"s,omitempty"`
	CancelReason    *string          `json:"w,omitempty"`
	CancellationFee *money.Amount    `json:"cf,omitempty"`
	NoShowFee       *money.Amount    `json:"nf,omitempty"`
	ScheduledFor    *string          `json:"sf,omitempty"`
	UpdatedAt       string           `json:"tu,omitempty"`
	CommissionRate  *money.Amount    `json:"cr,omitempty"`
	Prices          fare.Snapshot    `json:"pr,omitempty"`
	History         []Past           `json:"h,omitempty"`
	Before          map[Event]Status `json:"b,omitempty"`
	Operators       map[Event]string `json:"op,omitempty"`
	Dispatched      bool             `json:"-"`
	Imported        bool             `json:"-"`
	Engaged         bool             `json:"en,omitempty"`
	Rated           int              `json:"ra,omitempty"`
	RatedRider      int              `json:"rr,omitempty"`
	Version         int64            `json:"-"`
	Preserve        table.Unknown    `json:"-"`
	external.Members
}

// last returns the latest of the times that a trip's transitions have set.
func (d document) last() string {
	for _, at := range []*string{d.CompletedAt, d.StartedAt, d.ArrivedAt, d.AcceptedAt} {
		if at != nil {
			return *at
		}
	}
	return d.RequestedAt
}

var _ = table.Kind[any]{Type: "trip", Personal: "addresses, coordinates, notes, reasons, metadata",
	Erasure: "removes the words and `externalId`; coordinates keep two decimals"}

// Item returns the stored form of the trip. writeShards is the tenant's number
// of write shards.
func (t Trip) Item(tenant table.Tenant, writeShards int) table.Item {
	shard := strconv.Itoa(ids.Pick(t.ID, writeShards))
	d := document(t)
	if d.UpdatedAt == d.last() {
		d.UpdatedAt = ""
	}
	it := table.Item{
		Key: Key(tenant, t.ID), Type: "trip", Version: t.Version,
		G: [4]string{tenant.Partition("TRIPS", shard), tenant.Partition("STATUS", string(t.Status), shard), "",
			customerPartition(tenant, t.CustomerID)},
		R: t.RequestedAt + "#" + t.ID,
		Attrs: map[string]any{"status": string(t.Status), "customerId": t.CustomerID, "driverId": nil,
			"dispatched": nil, "imported": nil},
		Doc:      d,
		Preserve: t.Preserve,
	}
	if t.Dispatched {
		it.Attrs["dispatched"] = true
	}
	if t.Imported {
		it.Attrs["imported"] = true
	}
	if t.DriverID != nil {
		it.Attrs["driverId"], it.G[byDriver-1] = *t.DriverID, driverPartition(tenant, *t.DriverID)
	}
	return it
}

// FromItem decodes a trip from its item. The item may come from a read, an
// index or a stream record.
func FromItem(it table.Item) (Trip, error) {
	var d document
	if err := it.Decode(&d); err != nil {
		return Trip{}, fmt.Errorf("trip: %w", err)
	}
	ok := false
	if d.RequestedAt, d.ID, ok = strings.Cut(it.R, "#"); !ok {
		return Trip{}, fmt.Errorf("trip: expected requestedAt#id as the position in the indexes, not %q", it.R)
	}
	d.Status, d.CustomerID = Status(it.Text("status")), it.Text("customerId")
	d.Dispatched, d.Imported = it.Flag("dispatched"), it.Flag("imported")
	d.Version, d.Preserve = it.Version, it.Unknown()
	d.UpdatedAt = cmp.Or(d.UpdatedAt, d.last())
	if driver := it.Text("driverId"); driver != "" {
		d.DriverID = &driver
	}
	return Trip(d), nil
}

var _ = table.Kind[any]{Type: "log", Personal: "addresses, coordinates, notes, reasons",
	Erasure: "removes the words; coordinates keep two decimals", Once: "an entry of a log"}

// LogItem returns the stored form of the log entry for a version of a trip. Few
// entries are stored; see storedLog.
func LogItem(tenant table.Tenant, trip string, version int64, e LogEntry) table.Item {
	return table.Item{Key: LogKey(tenant, trip, version), Type: "log", Doc: e}
}
