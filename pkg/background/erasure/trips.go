package erasure

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"svc/pkg/data/table"
	"svc/pkg/domain/trip"
)

// The members of a trip's document that tell of the rider or hold words, and its
// coordinates (trip.document).
var (
	tripWords  = []string{"oa", "da", "n", "w"}
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
			changed, err = p.eraseRide(doc)
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

func (p person) eraseRide(doc document) (changed bool, err error) {
	words := []string{"w"}
	if p.rider() {
		words, changed = tripWords, roundPlaces(doc)
	}
	changed = cut(doc, words...) || changed
	past, err := cutHistory(doc)
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

// cutHistory removes what people wrote from the history of a trip.
func cutHistory(doc document) (changed bool, err error) {
	if len(doc["h"]) == 0 {
		return false, nil
	}
	var history []document
	if err := json.Unmarshal(doc["h"], &history); err != nil {
		return false, err
	}
	for _, past := range history {
		cutPast, err := cutIn(past, "d", "reason", "comment")
		if err != nil {
			return changed, err
		}
		changed = cutPast || changed
	}
	if changed {
		doc["h"], err = json.Marshal(history)
	}
	return changed, err
}

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
