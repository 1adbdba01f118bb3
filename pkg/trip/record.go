package trip

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"svc/pkg/ids"
	"svc/pkg/table"
)

// The indexes that trips are in.
const (
	byTenant   = 1 // TRIPS#shard
	byStatus   = 2 // STATUS#status#shard
	byDriver   = 3 // DRIVER#id#TRIPS
	byCustomer = 4 // CUSTOMER#id#TRIPS
)

// Key is the key of a trip's item.
func Key(t table.Tenant, id string) table.Key { return t.Key("TRIP", "TRIP", id) }

// LogKey is the key of the entry that was written with a version of the trip.
// Entries order by version, not by clock.
func LogKey(t table.Tenant, id string, version int64) table.Key {
	digits := strconv.FormatInt(version, 10)
	return t.Key(logPrefix+"000000"[:max(0, 6-len(digits))]+digits, "TRIP", id)
}

const logPrefix = "LOG#"

func driverPartition(t table.Tenant, id string) string   { return t.Partition("DRIVER", id, "TRIPS") }
func customerPartition(t table.Tenant, id string) string { return t.Partition("CUSTOMER", id, "TRIPS") }

// document is what an item's doc holds of a trip: everything but what keys and
// attributes already say, and nothing that is null. The names are short, and
// UpdatedAt is absent when it is the last of the other times: an item of at
// most 1,024 bytes is what keeps a transition at its four write units, and a
// completed trip with its index keys comes near that.
type document struct {
	TripCode       string       `json:"c"`
	OriginAddress  string       `json:"oa"`
	OriginLat      json.Number  `json:"ox"`
	OriginLng      json.Number  `json:"oy"`
	DestAddress    *string      `json:"da,omitempty"`
	DestLat        *json.Number `json:"dx,omitempty"`
	DestLng        *json.Number `json:"dy,omitempty"`
	ServiceTypeID  *string      `json:"sv,omitempty"`
	CommissionRate *json.Number `json:"cr,omitempty"`
	PaymentType    string       `json:"pt"`
	Notes          *string      `json:"n,omitempty"`
	EstimatedFare  *json.Number `json:"ef,omitempty"`
	FinalFare      *json.Number `json:"ff,omitempty"`
	Currency       string       `json:"cu"`
	AcceptedAt     *string      `json:"t1,omitempty"`
	ArrivedAt      *string      `json:"t2,omitempty"`
	StartedAt      *string      `json:"t3,omitempty"`
	CompletedAt    *string      `json:"t4,omitempty"`
	UpdatedAt      string       `json:"tu,omitempty"`
	ActualDistance *json.Number `json:"km,omitempty"`
	ActualDuration *json.Number `json:"s,omitempty"`
	CancelReason   *string      `json:"w,omitempty"`
}

// last is the last of the times that a trip's transitions have set.
func (d document) last(requestedAt string) string {
	for _, at := range []*string{d.CompletedAt, d.StartedAt, d.ArrivedAt, d.AcceptedAt} {
		if at != nil {
			return *at
		}
	}
	return requestedAt
}

// Item is the trip as it is kept. writeShards is the tenant's number of shards
// for writing.
func (t Trip) Item(tenant table.Tenant, writeShards int) table.Item {
	shard := strconv.Itoa(ids.Pick(t.ID, writeShards))
	d := document{t.TripCode, t.OriginAddress, t.OriginLat, t.OriginLng, t.DestAddress, t.DestLat, t.DestLng, t.ServiceTypeID,
		t.CommissionRate, t.PaymentType, t.Notes, t.EstimatedFare, t.FinalFare, t.Currency, t.AcceptedAt, t.ArrivedAt, t.StartedAt,
		t.CompletedAt, t.UpdatedAt, t.ActualDistance, t.ActualDuration, t.CancelReason}
	if d.UpdatedAt == d.last(t.RequestedAt) {
		d.UpdatedAt = ""
	}
	it := table.Item{
		Key: Key(tenant, t.ID), Type: "trip", Version: t.Version,
		G: [4]string{tenant.Partition("TRIPS", shard), tenant.Partition("STATUS", string(t.Status), shard), "",
			customerPartition(tenant, t.CustomerID)},
		R:     t.RequestedAt + "#" + t.ID,
		Attrs: map[string]any{"status": string(t.Status), "customerId": t.CustomerID},
		Doc:   d,
	}
	if t.DriverID != nil {
		it.Attrs["driverId"], it.G[byDriver-1] = *t.DriverID, driverPartition(tenant, *t.DriverID)
	}
	return it
}

// read takes one member of a stored document, whose pointers then point into
// room. What is not of the form that Item writes is left out.
func (d *document) read(room *table.Pointers, name, text string, quoted bool) {
	var word **string
	var number **json.Number
	switch name {
	case "c":
		d.TripCode = text
	case "oa":
		d.OriginAddress = text
	case "ox":
		d.OriginLat = json.Number(text)
	case "oy":
		d.OriginLng = json.Number(text)
	case "pt":
		d.PaymentType = text
	case "cu":
		d.Currency = text
	case "tu":
		d.UpdatedAt = text
	case "da":
		word = &d.DestAddress
	case "sv":
		word = &d.ServiceTypeID
	case "n":
		word = &d.Notes
	case "t1":
		word = &d.AcceptedAt
	case "t2":
		word = &d.ArrivedAt
	case "t3":
		word = &d.StartedAt
	case "t4":
		word = &d.CompletedAt
	case "w":
		word = &d.CancelReason
	case "dx":
		number = &d.DestLat
	case "dy":
		number = &d.DestLng
	case "cr":
		number = &d.CommissionRate
	case "ef":
		number = &d.EstimatedFare
	case "ff":
		number = &d.FinalFare
	case "km":
		number = &d.ActualDistance
	case "s":
		number = &d.ActualDuration
	}
	switch {
	case word != nil && quoted:
		*word = room.Text(text)
	case number != nil && !quoted:
		*number = room.Number(text)
	}
}

// FromItem reads a trip from its item, wherever the item came from: a read, an
// index or a record of the stream.
func FromItem(it table.Item) (Trip, error) {
	var d document
	var room table.Pointers
	if err := it.Members(func(name, text string, quoted bool) { d.read(&room, name, text, quoted) }); err != nil {
		return Trip{}, fmt.Errorf("trip: %w", err)
	}
	requestedAt, id, ok := strings.Cut(it.R, "#")
	if !ok {
		return Trip{}, fmt.Errorf("trip: position %q", it.R)
	}
	t := Trip{ID: id, TripCode: d.TripCode, Status: Status(it.Text("status")), CustomerID: it.Text("customerId"),
		OriginAddress: d.OriginAddress, OriginLat: d.OriginLat, OriginLng: d.OriginLng,
		DestAddress: d.DestAddress, DestLat: d.DestLat, DestLng: d.DestLng, ServiceTypeID: d.ServiceTypeID,
		PaymentType: d.PaymentType, Notes: d.Notes, EstimatedFare: d.EstimatedFare, FinalFare: d.FinalFare, Currency: d.Currency,
		RequestedAt: requestedAt, AcceptedAt: d.AcceptedAt, ArrivedAt: d.ArrivedAt, StartedAt: d.StartedAt, CompletedAt: d.CompletedAt,
		ActualDistance: d.ActualDistance, ActualDuration: d.ActualDuration, CancelReason: d.CancelReason, UpdatedAt: d.UpdatedAt,
		CommissionRate: d.CommissionRate, Version: it.Version}
	if t.UpdatedAt == "" {
		t.UpdatedAt = d.last(requestedAt)
	}
	if driver := it.Text("driverId"); driver != "" {
		t.DriverID = room.Text(driver)
	}
	return t, nil
}

// LogItem is the entry that goes with a version of a trip, as it is kept.
func LogItem(tenant table.Tenant, trip string, version int64, e LogEntry) table.Item {
	return table.Item{Key: LogKey(tenant, trip, version), Type: "log", Doc: e}
}
