package gateway

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
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

// unusual are events that no gateway sends, or seldom.
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

// sameEvent compares scan with encoding/json. It reports whether scan decoded
// the event.
func sameEvent(t *testing.T, text string) bool {
	t.Helper()
	have, ok := scan([]byte(text))
	if !ok {
		return false
	}
	want := new(event)
	if err := json.Unmarshal([]byte(text), want); err != nil {
		t.Fatalf("scan decodes what is no event: %v\n%s", err, text)
	}
	if !reflect.DeepEqual(want, have) {
		t.Errorf("%s\n%s", cmp.Diff(want, have, cmp.AllowUnexported(event{})), text)
	}
	return true
}

// TestScan: scan decodes every event of a gateway, and decodes what it decodes
// as encoding/json does.
func TestScan(t *testing.T) {
	all := recorded(t)
	if len(all) < 100 {
		t.Fatalf("%d events", len(all))
	}
	scanned := 0
	for _, text := range all {
		if sameEvent(t, text) {
			scanned++
		} else if strings.TrimSpace(text) != "null" && json.Unmarshal([]byte(text), new(event)) == nil {
			t.Errorf("not scanned: %s", text)
		}
	}
	if scanned < 100 {
		t.Errorf("%d events were scanned", scanned)
	}
	for _, text := range unusual {
		sameEvent(t, text)
	}
}

// TestScanKeepsNothing: an event does not change when its JSON's memory is used
// again, and a short string of it does not keep its long body.
func TestScanKeepsNothing(t *testing.T) {
	for _, size := range []int{0, 10, blockSize / 2, blockSize, 6 << 20} {
		body := strings.Repeat("b", size)
		text := `{"rawPath":"/path","headers":{"a":"` + strings.Repeat("h", size/3) + `"},"body":"` + body +
			`","queryStringParameters":{"q":"\u00fc"},"requestContext":{"http":{"sourceIp":"::1"},"stage":"s\n"}}`
		buffer := []byte(text)
		e, ok := scan(buffer)
		if !ok {
			t.Fatalf("%d bytes: not scanned", size)
		}
		for i := range buffer {
			buffer[i] = 'x'
		}
		want := new(event)
		if err := json.Unmarshal([]byte(text), want); err != nil || !reflect.DeepEqual(want, e) {
			t.Errorf("%d bytes: it changed (%v)", size, err)
		}
	}
	text := []byte(`{"body":"` + strings.Repeat("b", 1<<20) + `","rawPath":"/path"}`)
	var kept []*event
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 32 {
		e, ok := scan(text)
		if !ok {
			t.Fatal("not scanned")
		}
		kept = append(kept, &event{RawPath: e.RawPath})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("%d paths keep %d bytes", len(kept), grown)
	}
	runtime.KeepAlive(kept)
}

// FuzzScan looks for an event that scan decodes in another way than
// encoding/json. encoding/json ignores the letter case of names; scan does not.
func FuzzScan(f *testing.F) {
	for _, text := range append(recorded(f), unusual...) {
		f.Add(text)
	}
	names := []string{"version", "routeKey", "rawPath", "rawQueryString", "cookies", "resource", "path", "httpMethod",
		"multiValueHeaders", "multiValueQueryStringParameters", "headers", "queryStringParameters", "pathParameters", "body",
		"isBase64Encoded", "requestContext", "requestId", "stage", "apiId", "domainName", "domainPrefix", "http", "method",
		"sourceIp", "identity"}
	f.Fuzz(func(t *testing.T, text string) {
		for part := range strings.SplitSeq(text, `"`) {
			for _, name := range names {
				if part != name && strings.EqualFold(part, name) {
					return
				}
			}
		}
		sameEvent(t, text)
	})
}
