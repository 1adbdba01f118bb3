package location

import (
	"time"

	"github.com/golang/geo/s2"

	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
)

// Fresh is the age up to which a position says where a driver is. A driver whose
// phone has been silent for longer gets no offers.
const Fresh = 5 * time.Minute

// relisted is the age after which an entry in the list by place is written again, even if
// the driver is in the same cell.
const relisted = 10 * time.Minute

// kept is how long an entry in the list by place counts if nothing replaces it. After this
// time the entry of a driver who reports no more expires.
const kept = 15 * time.Minute

// drivers is the name, in keys, of the list by place: where the drivers are.
const drivers = "CELL"

// byPlace is the number of the index that the lists by place use: by-g1.
const byPlace = 1

// listing is a driver's entry in the list by place: At is when it was written, and Was
// where the driver was then. Cell is "" for a driver who is not listed.
type listing struct {
	Cell string          `json:"c,omitempty"`
	At   string          `json:"at"`
	Was  driver.Location `json:"was"`
}

// ListingKey returns the key of a driver's entry in the list by place.
func ListingKey(t table.Tenant, id string) table.Key { return t.Key("DRIVER", id, drivers) }

// The declaration of the items at ListingKey (table.Kind).
var _ = table.Kind[any]{Type: "cell", Personal: "of a driver", Erasure: "deletes"}

// item returns the item of the entry of the driver with the id. It replaces the item was. A
// driver who is not listed has an entry without index keys.
func (l listing) item(t table.Tenant, id string, was table.Item, now time.Time) table.Item {
	it := table.Item{Key: ListingKey(t, id), Type: "cell", Version: was.Version + 1, Doc: l, Expires: now.Add(kept),
		Preserve: was.Unknown()}
	if l.Cell != "" {
		it.G[byPlace-1], it.R = partition(t, drivers, s2.CellIDFromToken(l.Cell)), l.Cell+"#"+id
	}
	return it
}

// relist returns the entry in the list by place that a driver with the status and the
// position l must have now. it is the item of the stored entry. changed is false if the
// stored entry need not be replaced.
func relist(it table.Item, status string, l driver.Location, now time.Time) (next listing, changed bool, err error) {
	var was listing
	if it.Live(now) {
		if was, err = table.DecodeDoc[listing](it); err != nil {
			return was, false, err
		}
	}
	if status != driver.Online {
		return listing{At: timestamp.Format(now), Was: l}, was.Cell != "", nil
	}
	at, _ := timestamp.Parse(was.At) // zero for a driver without an entry
	place := At(l.Lat, l.Lng)
	if was.Cell != "" && place.near(was.Cell) && now.Sub(at) < relisted {
		return was, false, nil
	}
	recorded, err := timestamp.Parse(l.RecordedAt)
	if err != nil || now.Sub(recorded) > Fresh { // an old position does not say where the driver is
		return was, false, err
	}
	return listing{Cell: place.cell().ToToken(), At: timestamp.Format(now), Was: l}, true, nil
}
