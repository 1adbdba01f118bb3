package table_test

import (
	"fmt"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/data/table"
)

// TestLargeItems: a filled page has all requested items, even if DynamoDB
// returns them a megabyte at a time.
func TestLargeItems(t *testing.T) {
	testkit.LongHere(t)
	db := testkit.Table(t)
	tn := db.Tenant("ten_1")
	for i := range 30 {
		it := item(tn, fmt.Sprintf("k%02d", i))
		it.PK, it.SK, it.G[0], it.Doc = tn.Partition("ROWS"), it.R, tn.Partition("INDEXED"), doc{strings.Repeat("x", 90_000)}
		if err := tn.Load(t.Context(), it); err != nil {
			t.Fatal(err)
		}
	}
	for name, q := range map[string]table.Query{"table": {Consistent: true}, "index": {Index: 1},
		"backward": {Index: 1, Backward: true}, "bounded": {From: "k00", To: "k99"}} {
		t.Run(name, func(t *testing.T) {
			partition := map[int]string{0: tn.Partition("ROWS"), 1: tn.Partition("INDEXED")}[q.Index]
			for limit, more := range map[int]bool{25: true, 29: true, 30: false, 1000: false} {
				q.Limit, q.Fill = limit, true
				page, err := tn.Query(t.Context(), partition, q)
				if err != nil || len(page.Items) != min(limit, 30) || page.More != more {
					t.Errorf("limit %d: %d items, more %v, %v", limit, len(page.Items), page.More, err)
				}
			}
			q.Limit, q.Requests = 30, 2
			first, err := tn.Query(t.Context(), partition, q)
			testkit.Must(t, err)
			q.After = first.Last
			rest, err := tn.Query(t.Context(), partition, q)
			if n := len(first.Items); err != nil || n < 20 || n >= 30 || !first.More || n+len(rest.Items) != 30 {
				t.Errorf("two requests: %d items, more %v, then %d, %v", n, first.More, len(rest.Items), err)
			}
		})
	}
}
