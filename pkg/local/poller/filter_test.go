package poller_test

import (
	"encoding/json"
	"testing"

	"svc/pkg/local/poller"
)

func TestFilter(t *testing.T) {
	const trip = `{"eventName":"MODIFY","dynamodb":{"NewImage":{"type":{"S":"trip"},"status":{"S":"COMPLETED"},"n":{"N":"3"},
		"tags":{"SS":["a","b"]},"gone":{"NULL":true}},"SizeBytes":12}}`
	tests := []struct {
		name, pattern string
		want          bool
	}{
		{"literal", `{"eventName":["INSERT","MODIFY"]}`, true},
		{"another literal", `{"eventName":["REMOVE"]}`, false},
		{"deep, all must hold", `{"dynamodb":{"NewImage":{"type":{"S":["trip"]},"status":{"S":["COMPLETED"]}}}}`, true},
		{"deep, one does not", `{"dynamodb":{"NewImage":{"type":{"S":["trip"]},"status":{"S":["CANCELLED"]}}}}`, false},
		{"missing field", `{"dynamodb":{"NewImage":{"colour":{"S":["red"]}}}}`, false},
		{"a field that is no text", `{"dynamodb":{"SizeBytes":["12"]}}`, false},
		{"missing image", `{"dynamodb":{"OldImage":{"type":{"S":["trip"]}}}}`, false},
	}
	var record any
	if err := json.Unmarshal([]byte(trip), &record); err != nil {
		t.Fatal(err)
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f, err := poller.ParseFilter(tc.pattern)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Match(record); got != tc.want {
				t.Errorf("Match = %v", got)
			}
		})
	}
	for _, bad := range []string{`{`, `[]`, `{"a":"b"}`, `{"a":[]}`, `{"a":[{"prefix":"x"}]}`, `{"a":[1]}`,
		`{"a":[null]}`, `{"$or":[{"a":["x"]}]}`} {
		if _, err := poller.ParseFilter(bad); err == nil {
			t.Errorf("ParseFilter(%s) worked", bad)
		}
	}
}
