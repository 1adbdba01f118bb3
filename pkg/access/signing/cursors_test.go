package signing_test

import (
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/signing"
	"svc/pkg/data/table"
)

// TestCursorKey: the first rotation makes the key of cursors, which then stays, also when
// an older build rotates. A process that began before it finds it within seconds, and
// reads nothing for it afterwards.
func TestCursorKey(t *testing.T) {
	f := setup(t)
	rotation := f.db.Platform("KEYS").Key("KEYS", "ROTATION")
	stored := func() table.Item {
		t.Helper()
		it, err := f.db.Platform("KEYS").Get(t.Context(), rotation)
		testkit.Must(t, err)
		return it
	}
	key := func() string {
		t.Helper()
		got, err := f.keys.CursorKey(t.Context())
		testkit.Must(t, err)
		return string(got)
	}
	first := key()
	if len(first) < 20 || first != stored().Text("cursors") {
		t.Fatalf("the key is %q", first)
	}
	older := stored() // an older build writes what it does not know as it was
	older.Preserve = older.Unknown()
	testkit.Must(t, f.db.Platform("KEYS").Load(t.Context(), older))
	f.clock.add(31 * 24 * time.Hour)
	testkit.Must(t, f.keys.Rotate(t.Context()))
	if key() != first {
		t.Error("the key changed")
	}

	// A table of an older build has no key.
	testkit.Must(t, f.db.Platform("KEYS").Load(t.Context(), table.Item{Key: rotation, Type: "key",
		Version: stored().Version}))
	late := f.open(nil)
	none, err := late.CursorKey(t.Context())
	if err != nil || none != nil {
		t.Fatalf("%q, %v", none, err)
	}
	testkit.Must(t, f.keys.Rotate(t.Context()))
	f.clock.add(10 * time.Second)
	ctx, meter := table.Metered(t.Context())
	for range 100 {
		if got, err := late.CursorKey(ctx); err != nil || string(got) != stored().Text("cursors") || string(got) == first {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if used := meter.Usage().Requests; used > 0 {
		t.Errorf("100 uses of the key cost %d requests", used)
	}
	alone := signing.CursorKeys(f.db) // of a process that verifies no tokens
	ctx, meter = table.Metered(t.Context())
	for range 100 {
		if got, err := alone(ctx); err != nil || string(got) != stored().Text("cursors") {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if used := meter.Usage().Requests; used != 1 {
		t.Errorf("100 uses of the key alone cost %d requests", used)
	}
}
