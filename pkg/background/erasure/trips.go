package erasure

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/trip"
)

// The members of a trip's document that tell of the rider or hold words, and its
// coordinates (trip.document).
var (
	tripWords  = []string{"oa", "da", "n", "w", "externalId", "metadata"}
	tripPlaces = []string{"ox", "oy", "dx", "dy"}
)

// decimals is how many decimals the coordinates of an erased rider's trips keep: about a
// kilometre.
const decimals = 2

// eraseTrip removes from a trip and from the rows beside it what tells of the
// person. A driver's trips lose the words only, because their addresses are the
// riders'.
func eraseTrip(ctx context.Context, p person, tx *table.Tx, it table.Item) error {
	id := it.R[strings.LastIndexByte(it.R, '#')+1:]
	page, err := p.t.Query(ctx, trip.Key(p.t, id).PK, table.Query{Limit: table.Examined, Consistent: true, Fill: true})
	if err != nil {
		return err
	}
	for _, row := range page.Items {
		doc := document{}
		if row.Raw() != "" {
			if doc, err = table.DecodeDoc[document](row); err != nil {
				return err
			}
		}
		changed := false
		switch row.Type {
		case "trip":
			if p.rider() {
				err = trip.IDs.Release(tx, p.t, id, row)
			}
			if err == nil {
				changed, err = p.eraseRide(doc)
			}
		case "log":
			changed, err = cutLog(doc)
		case "receipt":
			changed, err = cutReceipt(doc)
		case "opentrip", "dispatch":
			tx.Delete(row.Key)
		}
		if err != nil {
			return err
		}
		if changed {
			put(tx, row, doc)
		}
	}
	return nil
}

// eraseOrder removes from an order what tells of the rider.
func eraseOrder(ctx context.Context, p person, tx *table.Tx, it table.Item) error {
	if err := delivery.OrderIDs.Release(tx, p.t, it.R[strings.LastIndexByte(it.R, '#')+1:], it); err != nil {
		return err
	}
	return without(append(orderWords, "externalId", "metadata")...)(ctx, p, tx, it)
}

// furthest is how long before an account was created a trip of the account may have been
// requested: a trip may be scheduled for 60 days later, and then waits for its driver.
const furthest = 62 * 24 * time.Hour

// readFormerTrips reads the trips that the driver had and another has now, or nobody. They
// are in no list of the driver.
//
// Access pattern: by-g1 T#t#TRIPS#shard, shards merged, from some time before the account
// was created. Drivers are rarely erased.
func readFormerTrips(ctx context.Context, p person, after string, limit int) (table.Page, error) {
	if after == "" {
		created, _ := timestamp.Parse(p.created) // written by this service; a zero time reads all
		after = timestamp.Format(created.Add(-furthest))
	}
	now, _ := timestamp.Parse(p.at)
	page, err := trip.Older(ctx, p.t, now.Add(time.Minute), after, limit)
	page.Items = slices.DeleteFunc(page.Items, func(it table.Item) bool {
		return it.Text("driverId") == p.id || !strings.Contains(it.Raw(), `"`+p.id+`"`)
	})
	return page, err
}

// eraseFormerTrip removes what people wrote when the driver had the trip or lost it.
func eraseFormerTrip(_ context.Context, p person, tx *table.Tx, it table.Item) error {
	doc, err := table.DecodeDoc[document](it)
	if err != nil {
		return err
	}
	changed, err := cutHistory(doc, func(past json.RawMessage) bool {
		return strings.Contains(string(past), `"`+p.id+`"`)
	})
	if changed {
		put(tx, it, doc)
	}
	return err
}

func (p person) eraseRide(doc document) (changed bool, err error) {
	words := []string{"w"}
	if p.rider() {
		words, changed = tripWords, roundPlaces(doc)
	}
	changed = cut(doc, words...) || changed
	past, err := cutHistory(doc, everyEntry)
	return past || changed, err
}

// roundPlaces rounds the coordinates of a trip.
func roundPlaces(doc document) (changed bool) {
	for _, name := range tripPlaces {
		if rounded := round(string(doc[name])); rounded != string(doc[name]) {
			doc[name], changed = json.RawMessage(rounded), true
		}
	}
	return changed
}

// cutHistory removes what people wrote from those entries of the history of a trip.
func cutHistory(doc document, which func(json.RawMessage) bool) (changed bool, err error) {
	if len(doc["h"]) == 0 {
		return false, nil
	}
	var history []json.RawMessage
	if err := json.Unmarshal(doc["h"], &history); err != nil {
		return false, err
	}
	for i, text := range history {
		var past document
		if err := json.Unmarshal(text, &past); err != nil {
			return changed, err
		}
		cutPast, err := which(text), error(nil)
		if cutPast {
			cutPast, err = cutIn(past, "d", "reason", "comment")
		}
		if cutPast && err == nil {
			changed = true
			history[i], err = json.Marshal(past)
		}
		if err != nil {
			return changed, err
		}
	}
	if changed {
		doc["h"], err = json.Marshal(history)
	}
	return changed, err
}

// everyEntry selects the whole history.
func everyEntry(json.RawMessage) bool { return true }

func cutLog(doc document) (bool, error) { return cutIn(doc, "data", "reason", "comment") }

func cutReceipt(doc document) (bool, error) { return cutIn(doc, "correction", "reason") }

// round returns a number with few decimals. It returns other JSON as it is.
func round(raw string) string {
	n, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return raw
	}
	if _, fraction, _ := strings.Cut(raw, "."); len(fraction) <= decimals {
		return raw
	}
	return strconv.FormatFloat(n, 'f', decimals, 64)
}
