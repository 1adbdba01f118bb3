package erasure

import (
	"encoding/json"

	"github.com/aws/aws-lambda-go/events"
)

// The attributes that a dead letter keeps: lettered of every item, letteredTrip also of a
// trip. They hold identifiers, times and statuses only.
var (
	lettered     = []string{"pk", "sk", "type", "v", "version", "authorTenant"}
	letteredTrip = []string{"g1", "g2", "g3", "g4", "r", "status", "customerId", "driverId", "dispatched", "imported"}
)

// Letter returns a record of the stream in the form in which a dead letter stores it. No
// erasure reads dead letters, so they must not contain personal data. A replay of the
// letter reads the current items. Only a trip's document stays, without its personal
// data, because the feed needs the log of a trip that was deleted. The range key of an
// address has its coordinates, so it is removed; no replay needs it.
func Letter(r events.DynamoDBEventRecord) events.DynamoDBEventRecord {
	r.Change.OldImage, r.Change.NewImage = letterImage(r.Change.OldImage), letterImage(r.Change.NewImage)
	for _, it := range []image{r.Change.OldImage, r.Change.NewImage} {
		if textOf(it["type"]) == "address" {
			delete(it, "sk")
			r.Change.Keys = image{"pk": it["pk"]}
		}
	}
	return r
}

// textOf returns the value of a text attribute, "" for an attribute of another type.
func textOf(v events.DynamoDBAttributeValue) string {
	if v.DataType() != events.DataTypeString {
		return ""
	}
	return v.String()
}

// image has the attributes of an item, in the form of the table's stream.
type image = map[string]events.DynamoDBAttributeValue

// letterImage returns the part of an image that a dead letter keeps.
func letterImage(was image) image {
	if was == nil {
		return nil
	}
	out := image{}
	keep := func(names []string) {
		for _, name := range names {
			if v, ok := was[name]; ok {
				out[name] = v
			}
		}
	}
	keep(lettered)
	if textOf(was["type"]) != "trip" {
		return out
	}
	keep(letteredTrip)
	if text, ok := letterTrip(textOf(was["doc"])); ok {
		out["doc"] = events.NewStringAttribute(text)
	}
	return out
}

// letterTrip returns a trip's document without its personal data; ok is false if the
// document cannot be read.
func letterTrip(text string) (out string, ok bool) {
	var doc document
	if json.Unmarshal([]byte(text), &doc) != nil || doc == nil {
		return "", false
	}
	roundPlaces(doc)
	cut(doc, tripWords...)
	if _, err := cutHistory(doc, everyEntry); err != nil {
		return "", false
	}
	cutText, err := json.Marshal(doc)
	return string(cutText), err == nil
}
