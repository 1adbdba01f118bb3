package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"svc/pkg/base/money"
)

// TestFieldFlags: a flag sets a field of any kind. "" sets a nullable field to null, and
// a flag that is not given changes nothing.
func TestFieldFlags(t *testing.T) {
	type record struct {
		Text     string
		Number   money.Amount
		Count    int
		On       bool
		Optional *string
		Maybe    *money.Amount
	}
	old, n := "old", money.Amount("1")
	for name, c := range map[string]struct {
		args []string
		want record
	}{
		"none": {nil, record{"a", "2", 3, true, &old, &n}},
		"empty": {[]string{"--text=", "--number=", "--optional=", "--maybe=", "--count=0", "--on=false"},
			record{}},
		"given": {[]string{"--text=b", "--number= 4 ", "--optional=old", "--maybe= 1 ", "--count=5", "--on"},
			record{"b", "4", 5, true, &old, &n}},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Edits[record]{Cmd: &cobra.Command{}}
			e.Field("text", "", func(r *record) any { return &r.Text })
			e.Field("number", "", func(r *record) any { return &r.Number })
			e.Field("count", "", func(r *record) any { return &r.Count })
			e.Field("on", "", func(r *record) any { return &r.On })
			e.Field("optional", "", func(r *record) any { return &r.Optional })
			e.Field("maybe", "", func(r *record) any { return &r.Maybe })
			if err := e.Cmd.Flags().Parse(c.args); err != nil {
				t.Fatal(err)
			}
			got := record{"a", "2", 3, true, &old, &n}
			if err := e.Apply(&got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
