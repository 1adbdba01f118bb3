package loading_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	"svc/pkg/local/loading"
)

// Loaded data is in the folder afterwards, whether the engine worked in memory
// or in the folder. The stream begins when it is switched on.
func TestLoading(t *testing.T) {
	if testkit.OnDynamoDBLocal() {
		t.Setenv("SVC_ENGINE", "dynoxide") // with a JVM for each step this takes minutes
	}
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "")
	for name, bytes := range map[string]int64{"in memory": 1, "in the folder": 1 << 60} {
		t.Run(name, func(t *testing.T) {
			o := loading.Options{Data: t.TempDir(), Template: svc.Template, Bytes: bytes}
			load := func(id string, last bool) {
				l, err := loading.Open(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := l.Close(); err != nil {
						t.Error(err)
					}
				}()
				if l.Streaming {
					t.Error("the stream is on")
				}
				if _, err := loading.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "in use") {
					t.Errorf("the folder is not locked: %v", err)
				}
				db, err := table.Open(t.Context(), table.Options{Table: l.Table, Endpoint: l.Endpoint})
				if err != nil {
					t.Fatal(err)
				}
				tn := db.Tenant("t")
				if err := tn.Load(t.Context(), table.Item{Key: tn.Key(id, "A"), Type: "a"}); err != nil {
					t.Fatal(err)
				}
				if first, err := tn.Get(t.Context(), tn.Key("1", "A")); err != nil || !first.Found() {
					t.Errorf("the data of the first load is missing: %v", err)
				}
				if last {
					if err := l.EnableStream(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
			load("1", false)
			load("2", true)
			l, err := loading.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if !l.Streaming {
				t.Error("the stream is off")
			}
			if err := l.DisableStream(t.Context()); err != nil || l.Streaming {
				t.Errorf("the stream stays on: %v", err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			load("3", true)
		})
	}
}

// An invalid data file is reported by its own path and stays unchanged.
func TestLoadingBrokenFile(t *testing.T) {
	t.Setenv("SVC_ENGINE", "dynoxide")
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "")
	data := t.TempDir()
	file := filepath.Join(data, "dynoxide.db")
	if err := os.WriteFile(file, []byte("no database at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loading.Open(t.Context(), loading.Options{Data: data,
		Template: svc.Template}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "no database at all" {
		t.Errorf("the file was changed: %q, %v", text, err)
	}
}
