package customer

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"svc/pkg/base/fault"
	"svc/pkg/base/search"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// searchList is the list's name in its cursors.
const searchList = "customers.q"

// lookedFor returns the text to search for: q trimmed and folded. If q consists of
// at least four digits and of separators of phone numbers, it returns only the
// digits.
func lookedFor(q string) string {
	q = strings.TrimSpace(q)
	const least = 4 // with fewer digits, q may be part of a name or address
	digits := digitsOf(q)
	if len(digits) >= least && !strings.ContainsFunc(q, func(r rune) bool { return !isDigit(r) && !isSeparator(r) }) {
		return digits
	}
	return search.Fold(q)
}

func isDigit(r rune) bool     { return r >= '0' && r <= '9' }
func isSeparator(r rune) bool { return strings.ContainsRune(" +-()./\u00a0", r) }

// digitsOf returns the digits of a text.
func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if isDigit(r) {
			return r
		}
		return -1
	}, s)
}

// Search returns the customers whose name, first name, last name, phone or
// email contains q, folded. It orders them by their smallest suffix that begins
// with q. A page takes two round trips: a query of suffix rows, and a read of
// the customers. The limit alone bounds the size of both reads, whatever the
// number of customers. A page may be shorter than the limit. The projection
// updates the suffix rows after a customer changes, so until then a search may
// miss the customer.
func Search(ctx context.Context, c *api.Caller, q string, p api.Paging) (*api.Page[Customer], error) {
	folded := lookedFor(q)
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
		r, err := FromItem(it)
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

// suffixRows reads the rows of T#t#SUFFIX#<first character> whose range keys
// begin with prefix. It returns up to limit rows that a walk through the pages,
// begun at the given time, sees, and the position to continue after, "" at the
// end. Of a customer's suffixes that begin with prefix, it returns only the
// smallest. Therefore it reads twice the limit, or four times the limit for a
// prefix of one character, but at most table.Examined rows.
func suffixRows(
	ctx context.Context, t table.Tenant, prefix, began, after string, limit int,
) (rows []table.Item, next string, err error) {
	characters := int64(utf8.RuneCountInString(prefix))
	examined := 2 * limit
	if characters == 1 {
		examined = 4 * limit
	}
	page, err := t.Query(ctx, suffixPartition(t, prefix),
		table.Query{Prefix: prefix, After: after, Limit: min(examined, table.Examined)})
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

// customersOf reads the customers of the rows, in the order of the rows.
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
