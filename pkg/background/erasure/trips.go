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
			changed, err = cutIn(doc, "data", "reason", "comment")
		case "receipt":
			changed, err = cutIn(doc, "correction", "reason")
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
		words = tripWords
		for _, name := range tripPlaces {
			if rounded := round(string(doc[name])); rounded != string(doc[name]) {
				doc[name], changed = json.RawMessage(rounded), true
			}
		}
	}
	changed = cut(doc, words...) || changed
	if len(doc["h"]) == 0 {
		return changed, nil
	}
	var history []document
	if err := json.Unmarshal(doc["h"], &history); err != nil {
		return changed, err
	}
	for _, past := range history {
		cutPast, err := cutIn(past, "d", "reason", "comment")
		if err != nil {
			return changed, err
		}
		changed = cutPast || changed
	}
	doc["h"], err = json.Marshal(history)
	return changed, err
}

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
