package export

import (
	"context"
	"iter"
	"strconv"

	"svc/pkg/data/table"
)

// pageSize is how many items of a shard are in memory at most.
const pageSize = 500

// partitions returns the shards of a list.
func (s Scope) partitions(list string) []string {
	out := make([]string, s.Shards)
	for i := range out {
		out[i] = s.Tenant.Partition(list, strconv.Itoa(i))
	}
	return out
}

// merged iterates over the items of several partitions in the order of their range
// keys. Unlike Handle.Merge, it keeps the items of a page that come after those of
// another partition, and so reads each item once.
func merged(ctx context.Context, t table.Tenant, partitions []string, q table.Query) iter.Seq2[table.Item, error] {
	q.Limit = pageSize
	return func(yield func(table.Item, error) bool) {
		pages := make([]table.Page, len(partitions))
		for i := range pages {
			pages[i] = table.Page{More: true, Last: q.After}
		}
		for {
			next := -1
			for i := range pages {
				for len(pages[i].Items) == 0 && pages[i].More {
					q.After = pages[i].Last
					var err error
					if pages[i], err = t.Query(ctx, partitions[i], q); err != nil {
						yield(table.Item{}, err)
						return
					}
				}
				if len(pages[i].Items) > 0 && (next < 0 ||
					pages[i].Items[0].Position(q.Index) < pages[next].Items[0].Position(q.Index)) {
					next = i
				}
			}
			if next < 0 {
				return
			}
			it := pages[next].Items[0]
			if pages[next].Items = pages[next].Items[1:]; !yield(it, nil) {
				return
			}
		}
	}
}

// rowsOf turns items into rows. show returns the value, and whether it belongs to
// the file.
func rowsOf(items iter.Seq2[table.Item, error], index int, show func(table.Item) (any, bool, error)) iter.Seq2[Row,
	error] {
	return func(yield func(Row, error) bool) {
		for it, err := range items {
			var row Row
			if err == nil {
				var ok bool
				if row.Value, ok, err = show(it); !ok {
					row.Value = nil
				}
				row.Position = it.Position(index)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// chunked groups items, n at a time.
func chunked(items iter.Seq2[table.Item, error], n int) iter.Seq2[[]table.Item, error] {
	return func(yield func([]table.Item, error) bool) {
		var chunk []table.Item
		for it, err := range items {
			if err != nil {
				yield(nil, err)
				return
			}
			if chunk = append(chunk, it); len(chunk) == n {
				if !yield(chunk, nil) {
					return
				}
				chunk = nil
			}
		}
		if len(chunk) > 0 {
			yield(chunk, nil)
		}
	}
}
