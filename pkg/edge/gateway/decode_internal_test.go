package gateway

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recorded returns the events of the repository and of this package's tests.
func recorded(t testing.TB) (events []string) {
	t.Helper()
	for _, root := range []string{"testdata", "../../../events"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".json") {
				return err
			}
			text, err := os.ReadFile(path)
			var file struct{ Event json.RawMessage }
			if json.Unmarshal(text, &file) == nil && file.Event != nil {
				events = append(events, string(file.Event))
			} else {
				events = append(events, string(text))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return events
}

// unusual lists events that a gateway sends seldom or never.
var unusual = []string{`{}`, `null`, `[]`, ``, `{"version":1}`, `{"version":null,"headers":null,"cookies":null}`,
	`{"headers":{"a":null,"b":"x"},"headers":{"b":"y"}}`, `{"cookies":[null,"a"],"cookies":[]}`,
	`{"multiValueHeaders":{"a":["1","2"],"b":null,"c":[]}}`, `{"body":"\ud83d\ude00 \" \\ \/ \n"}`,
	`{"body":"\ud83d"}`, "{\"body\":\"\xff\"}", `{"\u0062ody":"a"}`, `{"isBase64Encoded":null}`,
	`{"isBase64Encoded":"yes"}`, `{"queryStringParameters":null}`, `{"queryStringParameters":{"a":"b"}}`,
	`{"queryStringParameters":7}`, `{"requestContext":null}`,
	`{"requestContext":{"http":null,"identity":{"sourceIp":"::1","x":{}}}}`,
	`{"requestContext":{"stage":"a","stage":"b","authorizer":{"jwt":{"claims":{"a":[1,2.5e3,true,false,null]}}}}}`,
	`{"requestContext":{"http":{"so\u0075rceIp":"::1"},"st\u0061ge":"a","identity":{"\u0073ourceIp":"::2"}}}`,
	`{"version":"2.0"} `, `{"version":"2.0"}x`, `{"version":"2.0",}`}

// TestDecode: an event is decoded as encoding/json decodes it.
func TestDecode(t *testing.T) {
	all := recorded(t)
	if len(all) < 100 {
		t.Fatalf("%d events", len(all))
	}
	for _, text := range append(all, unusual...) {
		have, err := decode([]byte(text))
		want := new(event)
		wanted := json.Unmarshal([]byte(text), want)
		if want.v2 = have.v2; wanted != nil && err == nil {
			t.Errorf("it decodes what is no event: %v\n%s", wanted, text)
		}
		if diff := cmp.Diff(want, have, cmp.AllowUnexported(event{})); diff != "" {
			t.Errorf("%s\n%s", diff, text)
		}
	}
}
