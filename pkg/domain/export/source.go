package export

import (
	"context"
	"iter"
	"strconv"

	"svc/pkg/data/table"
)

// pageSize is the maximum number of items of one partition that merged keeps in memory.
const pageSize = 500

// partitions returns the index partitions of the tenant's list with the name, one for each
// shard.
func (s Scope) partitions(list string) []string {
	out := make([]string, s.Shards)
	for i := range out {
		out[i] = s.Tenant.Partition(list, strconv.Itoa(i))
	}
	return out
}

// merged iterates over the items of several partitions in the order of their range
// keys. It keeps each partition's current page in memory, so it reads each item once;
// Handle.Merge reads an item again that does not fit on the page.
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

// rowsOf turns the items of an index into rows. show returns the value of an item, and
// whether the value belongs to the file. If it does not, the row's Value is nil.
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

// chunked groups items into slices of n; the last one may be shorter.
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
