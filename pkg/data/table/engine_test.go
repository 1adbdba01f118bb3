package table_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
)

type doc struct{ Name string }

func item(t table.Tenant, id string) table.Item {
	return table.Item{Key: t.Key("THING", id, "THING"), Type: "thing", Version: 1, R: id,
		G: [4]string{t.Partition("THINGS")},
		Attrs: map[string]any{"color": "red", "n": 3, "on": true, "price": money.Amount("12.50"), "tags": []string{"a", "b"},
			"none": []string{}},
		Doc: doc{Name: "thing " + id}, Expires: time.Unix(2_000_000_000, 0)}
}

func TestItemComesBackAsWritten(t *testing.T) {
	db := testkit.Table(t)
	tn, ctx := db.Tenant("ten_1"), context.Background()
	tx := tn.Write()
	tx.Create(item(tn, "1"))
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	got, err := tn.Get(ctx, tn.Key("THING", "1", "THING"))
	if err != nil || !got.Found() {
		t.Fatalf("got %v, %v", got, err)
	}
	var d doc
	if err := got.Decode(&d); err != nil {
		t.Fatal(err)
	}
	have := []any{got.Type, got.Version, got.R, got.G[0], got.Text("color"), got.Int("n"), got.Flag("on"),
		got.Number("price"), got.Strings("tags"), got.Has("none"), d.Name, got.Expires.Unix()}
	want := []any{"thing", int64(1), "1", "T#ten_1#THINGS", "red", int64(3), true, money.Amount("12.5"),
		[]string{"a", "b"},
		false, "thing 1", int64(2_000_000_000)}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Fatal(diff)
	}
}

func TestConditions(t *testing.T) {
	db := testkit.Table(t)
	tn, ctx := db.Tenant("ten_1"), context.Background()
	errMine := errors.New("mine")
	write := func(do func(tx *table.Tx)) error {
		tx := tn.Write()
		do(tx)
		return tx.Commit(ctx)
	}
	it := item(tn, "1")
	for _, c := range []struct {
		name string
		do   func(tx *table.Tx)
		want error
	}{
		{"create", func(tx *table.Tx) { tx.Create(it) }, nil},
		{"create twice", func(tx *table.Tx) { tx.Create(it) }, table.ErrCondition},
		{"create twice, own error", func(tx *table.Tx) { tx.Create(it).Else(errMine) }, errMine},
		{"replace", func(tx *table.Tx) { tx.Replace(it) }, nil},
		{"replace with an old version", func(tx *table.Tx) { tx.Replace(it).Else(errMine) }, errMine},
		{"second operation fails", func(tx *table.Tx) {
			tx.Create(item(tn, "2"))
			tx.Check(it.Key).If("'color' = ?", "blue").Else(errMine)
		}, errMine},
		{"update", func(tx *table.Tx) {
			tx.Update(it.Key, table.Change{Set: map[string]any{"color": "blue"}, Add: map[string]any{"n": money.Amount("-1.5")},
				Remove: []string{"on"}}).If("'n' = ?", 3)
		}, nil},
		{"and of conditions", func(tx *table.Tx) { tx.Delete(it.Key).If("'color' = ?", "blue").If("'n' = ?", 9) },
			table.ErrCondition},
		{"too late a delete", func(tx *table.Tx) { tx.Delete(it.Key).If("'color' = ?", "blue") }, nil},
	} {
		if err := write(c.do); !errors.Is(err, c.want) {
			t.Fatalf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	if got, err := tn.Get(ctx, tn.Key("THING", "2", "THING")); err != nil || got.Found() {
		t.Fatalf("half a transaction was written: %v %v", got, err)
	}
}

func TestQueryBounds(t *testing.T) {
	db := testkit.Table(t)
	tn, ctx := db.Tenant("ten_1"), context.Background()
	var all []string
	for i := range 30 {
		id := fmt.Sprintf("k%02d", i)
		all = append(all, id)
		it := item(tn, id)
		it.SK, it.PK, it.G[1+i%3] = id, tn.Partition("ROWS"), tn.Partition("SHARD", fmt.Sprint(i%3))
		it.G[0] = tn.Partition("INDEXED")
		it.Attrs["parity"] = fmt.Sprint(i % 2)
		if err := tn.Load(ctx, it); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range []table.Query{
		{}, {Backward: true}, {From: "k05"}, {To: "k05"}, {From: "k05", To: "k10"}, {Prefix: "k1"},
		{Prefix: "k1", Backward: true, After: "k14"},
		{After: "k07"}, {After: "k07", To: "k09"}, {After: "k07", Backward: true, From: "k03"}, {From: "k05", To: "k05"},
		{From: "x"},
		{Where: []table.Condition{{Name: "parity", Value: "1"}}}, {Where: []table.Condition{{Name: "parity", Value: "1"}},
			Backward: true, From: "k03"},
		{Where: []table.Condition{{Name: "absent", Absent: true}}},
	} {
		want := expected(all, c)
		for _, index := range []int{0, 1} {
			for _, limit := range []int{1, 3, 7, 100} {
				c.Index = index
				partition := tn.Partition("ROWS")
				if index == 1 {
					partition = tn.Partition("INDEXED")
				}
				if got := collect(t, ctx, tn, []string{partition}, c, limit); !slices.Equal(got, want) {
					t.Errorf("query %d index %d limit %d: got %v, want %v", i, index, limit, got, want)
				}
			}
		}
	}
}

func expected(all []string, q table.Query) []string {
	var out []string
	for i, id := range all {
		switch {
		case q.From != "" && id < q.From, q.To != "" && id >= q.To, q.Prefix != "" && id[:len(q.Prefix)] != q.Prefix,
			q.After != "" && !q.Backward && id <= q.After, q.After != "" && q.Backward && id >= q.After,
			len(q.Where) > 0 && !q.Where[0].Absent && fmt.Sprint(i%2) != q.Where[0].Value:
			continue
		}
		out = append(out, id)
	}
	if q.Backward {
		slices.Reverse(out)
	}
	return out
}

// collect pages through the query and checks the promises of each page.
func collect(t *testing.T, ctx context.Context, tn table.Tenant, partitions []string, q table.Query,
	limit int) []string {
	t.Helper()
	var out []string
	q.Limit = limit
	for range 200 {
		page, err := tn.Merge(ctx, partitions, q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Items) > limit {
			t.Fatalf("page of %d with limit %d", len(page.Items), limit)
		}
		for _, it := range page.Items {
			out = append(out, it.Position(q.Index))
		}
		if !page.More {
			return out
		}
		q.After = page.Last
	}
	t.Fatal("pages without end")
	return nil
}

func TestMergeEqualsOnePartition(t *testing.T) {
	testkit.LongHere(t)
	db := testkit.Table(t)
	tn, ctx := db.Tenant("ten_1"), context.Background()
	rnd := rand.New(rand.NewPCG(1, 2))
	var all []string
	var partitions []string
	for s := range 4 {
		partitions = append(partitions, tn.Partition("S", fmt.Sprint(s)))
	}
	for i := range 200 {
		id := fmt.Sprintf("k%03d", i)
		all = append(all, id)
		it := item(tn, id)
		it.G = [4]string{partitions[rnd.IntN(rnd.IntN(4)+1)]}
		it.Attrs["parity"] = fmt.Sprint(i % 2)
		if err := tn.Load(ctx, it); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range []table.Query{{Index: 1}, {Index: 1, Backward: true, From: "k020", To: "k150"},
		{Index: 1, Where: []table.Condition{{Name: "parity", Value: "1"}}}} {
		want := expected(all, q)
		for _, limit := range []int{1, 9, 50, 1000} {
			if got := collect(t, ctx, tn, partitions, q, limit); !slices.Equal(got, want) {
				t.Errorf("%+v limit %d: %d items, want %d: %v", q, limit, len(got), len(want), cmp.Diff(want, got))
			}
		}
	}
}

func TestUnknownOutcomeIsAppliedOnce(t *testing.T) {
	t.Parallel() // it waits between attempts
	wire := &testkit.Wire{}
	db := testkit.TableOnWire(t, wire)
	tn, ctx := db.Tenant("ten_1"), context.Background()
	it := item(tn, "1")
	wire.Lose(1)
	tx := tn.Write()
	tx.Create(it)
	if err := tx.Commit(ctx); err != nil {
		t.Fatalf("a write whose response was lost: %v", err)
	}
	wire.Lose(2)
	tx = tn.Write()
	tx.Update(it.Key, table.Change{Add: map[string]any{"n": 1}})
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if got, _ := tn.Get(ctx, it.Key); got.Int("n") != 4 {
		t.Fatalf("n is %d, want 4: added more than once", got.Int("n"))
	}
}

func TestMeter(t *testing.T) {
	db := testkit.Table(t)
	tn := db.Tenant("ten_1")
	ctx, meter := table.Metered(context.Background())
	tx := tn.Write()
	it := item(tn, "1")
	it.G = [4]string{}
	other := it
	other.Key = tn.Key("THING", "2", "THING")
	tx.Create(it)
	tx.Create(other)
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := tn.Batch(ctx, it.Key, other.Key); err != nil {
		t.Fatal(err)
	}
	u := meter.Usage()
	if u.Requests != 2 || u.Sequential != 2 || u.ReadUnits != 2 || (u.WriteUnits != 4 && !testkit.OnDynamoDBLocal()) {
		t.Fatalf("usage %+v", u)
	}
}
