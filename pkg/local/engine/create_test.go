package engine_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc/pkg/local/engine"
)

// TestStreamIsIndexed: dynoxide uses our data file, keeps the index, and reads
// and numbers its stream's records as it does in a file of its own.
func TestStreamIsIndexed(t *testing.T) {
	if kind() != engine.Dynoxide {
		t.Skip("only dynoxide's file has the index")
	}
	dir := t.TempDir()
	for run := range 2 {
		e := start(t, engine.Options{Dir: dir})
		if run == 0 {
			streamed := strings.TrimSuffix(createThings, "}") +
				`,"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}}`
			if code, body := call(t, e.URL, "CreateTable", streamed); code != http.StatusOK {
				t.Fatalf("CreateTable: %d %s", code, body)
			}
		}
		item := []string{"first", "second"}[run]
		put := `{"TableName":"things","Item":{"pk":{"S":"` + item + `"}}}`
		if code, body := call(t, e.URL, "PutItem", put); code != http.StatusOK {
			t.Fatalf("PutItem: %d %s", code, body)
		}
		e.Stop()
		var text []byte
		for _, name := range []string{"dynoxide.db", "dynoxide.db-wal"} {
			part, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			text = append(text, part...)
		}
		for _, want := range []string{"CREATE INDEX _stream_records_by_number", `{"pk":{"S":"` + item + `"}}`} {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("after run %d the data file has no %s", run+1, want)
			}
		}
	}
}
