package erasure_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"svc/internal/test/apptest"
	"svc/internal/test/streamtest"
	"svc/internal/test/testkit"
	"svc/pkg/background/erasure"
	"svc/pkg/background/feed"
	"svc/pkg/data/stream"
)

// lettered checks what dead letters would have of every record that the functions on
// the stream read: the item, and none of the values. Each value was in a record, except
// those of sign-ins, which the functions do not read.
func lettered(t *testing.T, s *apptest.Service, values []string) {
	t.Helper()
	endpoint, name := s.Stored()
	had, trips := map[string]bool{}, 0
	for _, r := range streamtest.RecordsAt(t, endpoint, name) {
		kind := r.Change.NewImage["type"]
		if len(r.Change.NewImage) == 0 {
			kind = r.Change.OldImage["type"]
		}
		if !slices.Contains(append([]string{"address", "wallet", "business"}, feed.Types...), kind.String()) {
			continue
		}
		letter := erasure.Letter(r)
		was, err := json.Marshal(r)
		testkit.Must(t, err)
		kept, err := json.Marshal(letter)
		testkit.Must(t, err)
		for _, value := range values {
			had[value] = had[value] || strings.Contains(string(was), value)
			if strings.Contains(string(kept), value) {
				t.Errorf("the letter of a %s has %q: %s", kind.String(), value, kept)
			}
		}
		key, ok := stream.KeyOf(letter)
		if want, _ := stream.KeyOf(r); key != want && kind.String() != "address" || !ok && kind.String() != "address" {
			t.Errorf("the letter of a %s names %v, want %v", kind.String(), key, want)
		}
		if kind.String() == "trip" && letter.Change.NewImage["doc"].DataType() == events.DataTypeString {
			trips++
		}
	}
	for _, value := range values {
		if !had[value] && value != "audience=rider" {
			t.Errorf("no record ever had %q", value)
		}
	}
	if trips == 0 {
		t.Error("no letter of a trip has the trip's log")
	}
}
