package local_test

import (
	"encoding/json"
	"testing"

	"svc/pkg/local"
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
		{"missing image", `{"dynamodb":{"OldImage":{"type":{"S":["trip"]}}}}`, false},
		{"element of a set", `{"dynamodb":{"NewImage":{"tags":{"SS":["b"]}}}}`, true},
		{"number", `{"dynamodb":{"SizeBytes":[12]}}`, true},
		{"number is no string", `{"dynamodb":{"SizeBytes":["12"]}}`, false},
		{"boolean", `{"dynamodb":{"NewImage":{"gone":{"NULL":[true]}}}}`, true},
		{"prefix", `{"dynamodb":{"NewImage":{"type":{"S":[{"prefix":"tr"}]}}}}`, true},
		{"suffix", `{"dynamodb":{"NewImage":{"type":{"S":[{"suffix":"tr"}]}}}}`, false},
		{"any case", `{"eventName":[{"equals-ignore-case":"modify"}]}`, true},
		{"anything but", `{"eventName":[{"anything-but":["REMOVE"]}]}`, true},
		{"anything but this", `{"eventName":[{"anything-but":["MODIFY"]}]}`, false},
		{"anything but a prefix", `{"eventName":[{"anything-but":{"prefix":"MOD"}}]}`, false},
		{"exists", `{"dynamodb":{"NewImage":{"type":{"S":[{"exists":true}]}}}}`, true},
		{"exists not", `{"dynamodb":{"NewImage":{"colour":{"S":[{"exists":false}]}}}}`, true},
		{"exists not, but does", `{"eventName":[{"exists":false}]}`, false},
		{"or", `{"$or":[{"eventName":["REMOVE"]},{"dynamodb":{"NewImage":{"type":{"S":["trip"]}}}}]}`, true},
		{"or of none", `{"$or":[{"eventName":["REMOVE"]},{"eventName":["INSERT"]}]}`, false},
	}
	var record any
	if err := json.Unmarshal([]byte(trip), &record); err != nil {
		t.Fatal(err)
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f, err := local.ParseFilter(tc.pattern)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Match(record); got != tc.want {
				t.Errorf("Match = %v", got)
			}
		})
	}
	for _, bad := range []string{`{`, `[]`, `{"a":"b"}`, `{"a":[]}`, `{"a":[{"numeric":[">",1]}]}`, `{"$or":["x"]}`} {
		if _, err := local.ParseFilter(bad); err == nil {
			t.Errorf("ParseFilter(%s) worked", bad)
		}
	}
}
