package loading

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	"svc/pkg/local/engine"
	"svc/pkg/local/schema"
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
			if errors.Is(err, broken) != fails || (err != nil && !fails) {
				t.Fatal(err)
			}

			now, err := engine.Start(t.Context(), engine.Options{Dir: data})
			testkit.Must(t, err)
			defer now.Stop()
			tn := tenantAt(t, now.URL)
			for id, want := range map[string]bool{"old": true, "new": !fails} {
				if it, err := tn.Get(t.Context(), tn.Key(id, "A")); err != nil || it.Found() != want {
					t.Errorf("item %q: found %v, %v", id, it.Found(), err)
				}
			}
		})
	}
}

// An engine that a signal kills before it handles the signal leaves the -wal. The
// data file is completed by the next one, and if none completes it, nothing is
// removed.
func TestEnginesThatDoNotCompleteTheFile(t *testing.T) {
	t.Setenv("SVC_ENGINE", "dynoxide")
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "")
	for name, c := range map[string]struct {
		killed int
		left   bool
	}{"the first is killed": {1, false}, "most are killed": {attempts - 1, false}, "each is killed": {attempts, true}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			e, err := engine.Start(t.Context(), engine.Options{Dir: dir})
			testkit.Must(t, err)
			_, err = schema.EnsureTable(t.Context(), e.URL, svc.Template, schema.Options{StreamOff: true})
			testkit.Must(t, err)
			addItem(t, e.URL, "1")
			e.Kill()

			killedBySignal(t, c.killed)
			err = intoOneFile(t.Context(), dir)
			if (err != nil) != c.left {
				t.Errorf("completing the file: %v", err)
			}
			if _, err := os.Stat(filepath.Join(dir, dataFile+"-wal")); (err == nil) != c.left {
				t.Errorf("the -wal is there: %v, want %v", err == nil, c.left)
			}
			t.Setenv("SVC_ENGINE_PATH", "")
			now, err := engine.Start(t.Context(), engine.Options{Dir: dir})
			testkit.Must(t, err)
			defer now.Stop()
			tn := tenantAt(t, now.URL)
			if it, err := tn.Get(t.Context(), tn.Key("1", "A")); err != nil || !it.Found() {
				t.Errorf("the item: found %v, %v", it.Found(), err)
			}
		})
	}
}

// killedBySignal makes SIGTERM kill the next n engines, as before they handle
// it.
func killedBySignal(t *testing.T, n int) {
	t.Helper()
	dir := t.TempDir()
	script := fmt.Sprintf(`#!/bin/sh
echo >>%[1]s/starts
[ "$(wc -l <%[1]s/starts)" -gt %[2]d ] && exec %[3]s "$@"
trap 'kill -9 $!; exit 1' TERM
%[3]s "$@" &
wait
`, dir, n, filepath.Join(engine.Repository(), "bin", "dynoxide"))
	path := filepath.Join(dir, "dynoxide")
	testkit.Must(t, os.WriteFile(path, []byte(script), 0o700))
	t.Setenv("SVC_ENGINE_PATH", path)
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
	testkit.Must(t, tn.Load(t.Context(), table.Item{Key: tn.Key(id, "A"), Type: "a"}))
}
