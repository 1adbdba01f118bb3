package table_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
)

// TestNewerBuildsDataSurvives: this build changes an item that a newer build
// wrote. Data that this build does not know stays. Data that it removes is
// removed.
func TestNewerBuildsDataSurvives(t *testing.T) {
	tn := testkit.Table(t).Tenant("ten_1")
	newer := table.Item{Key: tn.Key("THING", "1", "THING"), Type: "thing", Version: 1, Layout: 3,
		Attrs: map[string]any{"color": "red", "gone": "x", "text": "ü", "number": money.Amount("1.5"), "flag": true,
			"set": []string{"a", "b"}},
		Doc: map[string]any{"Name": "old", "extra": map[string]any{"a": []int{1, 2}}, "nothing": nil, "quote\"d": "\n"}}
	testkit.Must(t, tn.Load(t.Context(), newer))
	for range 2 { // twice: data that was preserved once is preserved again
		read, err := tn.Get(t.Context(), newer.Key)
		testkit.Must(t, err)
		tx := tn.Write()
		tx.Replace(table.Item{Key: read.Key, Type: "thing", Version: read.Version, Preserve: read.Unknown(),
			Attrs: map[string]any{"color": "blue", "gone": nil}, Doc: doc{Name: "new"}})
		testkit.Must(t, tx.Commit(t.Context()))
	}
	got, err := tn.Get(t.Context(), newer.Key)
	testkit.Must(t, err)
	have := []any{got.Layout, got.Version, got.Text("color"), got.Has("gone"), got.Text("text"), got.Number("number"),
		got.Flag("flag"), got.Strings("set")}
	want := []any{3, int64(3), "blue", false, "ü", money.Amount("1.5"), true, []string{"a", "b"}}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
	var document map[string]any
	testkit.Must(t, got.Decode(&document))
	if diff := cmp.Diff(map[string]any{"Name": "new", "extra": map[string]any{"a": []any{1.0, 2.0}}, "nothing": nil,
		"quote\"d": "\n"}, document); diff != "" {
		t.Error(diff)
	}
}

// TestDefault: an update sets a default only where the attribute is absent.
func TestDefault(t *testing.T) {
	tn := testkit.Table(t).Tenant("ten_1")
	key := tn.Key("THING", "1", "THING")
	for _, v := range []int{2, 1} {
		tx := tn.Write()
		tx.Update(key, table.Change{Default: map[string]any{"v": v}, Add: map[string]any{"n": 1}})
		testkit.Must(t, tx.Commit(t.Context()))
	}
	if got, err := tn.Get(t.Context(), key); err != nil || got.Layout != 2 || got.Int("n") != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}
