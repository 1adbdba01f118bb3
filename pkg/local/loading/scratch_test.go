package loading

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"svc"
	"svc/pkg/data/table"
	"svc/pkg/local/engine"
	"svc/pkg/local/schema"
	"svc/pkg/local/testkit"
)

// The old database stays complete if the new one cannot be put in its place,
// and the new one is complete if it can, even if both engines were killed with
// writes that only their -wal had.
func TestKilledEnginesLoseNothing(t *testing.T) {
	t.Setenv("SVC_ENGINE", "dynoxide")
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "")
	broken := errors.New("no rename")
	for name, fails := range map[string]bool{"the rename fails": true, "the rename succeeds": false} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			old, err := engine.Start(t.Context(), engine.Options{Dir: data})
			testkit.Must(t, err)
			_, err = schema.EnsureTable(t.Context(), old.URL, svc.Template, schema.Options{StreamOff: true})
			testkit.Must(t, err)
			addItem(t, old.URL, "old")
			old.Kill()
			if info, err := os.Stat(filepath.Join(data, dataFile+"-wal")); err != nil || info.Size() == 0 {
				t.Fatalf("the killed engine left no -wal: %v", err)
			}

			l, err := Open(t.Context(), Options{Data: data, Template: svc.Template, Bytes: 1})
			testkit.Must(t, err)
			if l.scratch == "" {
				t.Skip("no memory to load in")
			}
			addItem(t, l.Endpoint, "new")
			l.engine.Kill()
			err = fromScratch(t.Context(), l.scratch, l.Data, func(from, to string) error {
				if fails {
					return broken
				}
				return os.Rename(from, to)
			})
			testkit.Must(t, l.lock.Close())
			if errors.Is(err, broken) != fails {
				t.Fatal(err)
			}

			now, err := engine.Start(t.Context(), engine.Options{Dir: data})
			testkit.Must(t, err)
			defer now.Stop()
			tn := tenantAt(t, now.URL)
			for id, want := range map[string]bool{"old": true, "new": !fails} {
				if it, err := tn.Get(t.Context(), tn.Key("A", id)); err != nil || it.Found() != want {
					t.Errorf("item %q: found %v, %v", id, it.Found(), err)
				}
			}
		})
	}
}

func tenantAt(t *testing.T, endpoint string) table.Tenant {
	t.Helper()
	db, err := table.Open(t.Context(), table.Options{Table: schema.DefaultName, Endpoint: endpoint})
	testkit.Must(t, err)
	return db.Tenant("t")
}

func addItem(t *testing.T, endpoint, id string) {
	t.Helper()
	tn := tenantAt(t, endpoint)
	testkit.Must(t, tn.Load(t.Context(), table.Item{Key: tn.Key("A", id), Type: "a"}))
}
