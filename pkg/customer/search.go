package customer

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"svc/pkg/api"
	"svc/pkg/fault"
	"svc/pkg/search"
	"svc/pkg/table"
	"svc/pkg/timestamp"
)

// searchList names the list in its cursors.
const searchList = "customers.q"

// Search gives the customers whose name, first name, last name, phone or email
// holds q, folded, by the smallest suffix that begins with it. A page takes two
// round trips, a query of suffix rows and the customers themselves; both are
// bounded by the limit alone. Pages may be short. Rows follow the customers
// through the table's stream.
func Search(ctx context.Context, c *api.Caller, q string, p api.Paging) (*api.Page[Customer], error) {
	folded := search.Fold(q)
	position, err := api.Position(p.Cursor, searchList, folded)
	if err != nil {
		return nil, err
	}
	began, after, ok := strings.Cut(position, "|")
	if position == "" {
		began, ok = timestamp.Format(c.Now), true
	}
	if !ok || folded == "" {
		return nil, fault.Field("query.q", "expected a text to look for")
	}
	rows, next, err := suffixRows(ctx, c.Tenant, cut(rowText(folded), longest), began, after, p.Limit)
	if err != nil {
		return nil, err
	}
	items, err := customersOf(ctx, c.Tenant, rows)
	if err != nil {
		return nil, err
	}
	out := &api.Page[Customer]{Items: make([]Customer, 0, len(items))}
	for _, it := range items {
		if !it.Found() {
			continue
		}
		r, err := Of(it)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(r.Words(), func(word string) bool { return strings.Contains(word, folded) }) {
			out.Items = append(out.Items, r.Customer)
		}
	}
	if next != "" {
		out.NextCursor = api.Cursor(began+"|"+next, searchList, folded)
	}
	return out, nil
}

// suffixRows reads T#t#SUFFIX#<first character> from begins_with(prefix) on and
// gives up to limit rows at which customers are shown to a walk that began at
// the given time, and the position to go on from, "" at the end. It reads a few
// times the limit, for customers may match at several suffixes.
func suffixRows(ctx context.Context, t table.Tenant, prefix, began, after string, limit int) (rows []table.Item, next string, err error) {
	characters := int64(utf8.RuneCountInString(prefix))
	examined := 2 * limit
	if characters == 1 {
		examined = 4 * limit
	}
	page, err := t.Query(ctx, suffixPartition(t, prefix), table.Query{Prefix: prefix, After: after, Limit: min(examined, table.Examined)})
	if err != nil {
		return nil, "", err
	}
	for i, row := range page.Items {
		if row.Int("shared") >= characters || !visible(row, began) {
			continue
		}
		if rows = append(rows, row); len(rows) == limit && (page.More || i+1 < len(page.Items)) {
			return rows, row.SK, nil
		}
	}
	if page.More {
		next = page.Last
	}
	return rows, next, nil
}

// customersOf reads the rows' customers, in their order.
func customersOf(ctx context.Context, t table.Tenant, rows []table.Item) ([]table.Item, error) {
	keys := make([]table.Key, len(rows))
	for i, row := range rows {
		keys[i] = Key(t, rowOwner(row))
	}
	chunks := slices.Collect(slices.Chunk(keys, 100))
	items := make([][]table.Item, len(chunks))
	group, ctx := errgroup.WithContext(ctx)
	for i, chunk := range chunks {
		group.Go(func() (err error) {
			items[i], err = t.BatchEventual(ctx, chunk...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(items...), nil
}
