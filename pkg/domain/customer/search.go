package customer

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/pkg/base/fault"
	"svc/pkg/base/panics"
	"svc/pkg/base/phone"
	"svc/pkg/base/plaintext"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// searchList names the list of found customers in its cursors, which no other list accepts.
const searchList = "customers.q"

// query is what a search looks for.
type query struct {
	// words are the folded words of q, or the digits of a phone number. Each must be
	// contained in one of the customer's words (Record.Words).
	words []string
	// number, unless "", is the phone number without the prefix of international
	// calls or the zeros of national ones. A customer whose words contain number is
	// found too.
	number string
}

// lookedFor returns the query for q, the text that an operator typed. If q consists
// of at least four digits and of separators of phone numbers, only its digits count.
func lookedFor(q string) query {
	const least = 4 // with fewer digits, q may be part of a name or address
	digits, isNumber := phone.Digits(q)
	if len(digits) < least || !isNumber {
		return query{words: strings.Fields(plaintext.Fold(strings.TrimSpace(q)))}
	}
	const significant = 7 // with fewer digits, too many numbers would have them
	short := strings.TrimLeft(strings.TrimPrefix(digits, "011"), "0")
	if len(short) < significant || short == digits {
		short = ""
	}
	return query{[]string{digits}, short}
}

// prefix returns the text with which the suffix rows that a search reads must begin: the
// number, or the longest word. A suffix row is an item with the end of one of a
// customer's words (search_rows.go).
func (q query) prefix() string {
	longest := q.number
	for _, word := range q.words {
		if q.number == "" && len(word) > len(longest) {
			longest = word
		}
	}
	return longest
}

// finds reports whether the customer matches the query.
func (q query) finds(r Record) bool {
	all := r.Words()
	has := func(part string) bool {
		return slices.ContainsFunc(all, func(word string) bool { return strings.Contains(word, part) })
	}
	return (q.number != "" && has(q.number)) || !slices.ContainsFunc(q.words, func(w string) bool { return !has(w) })
}

// Search returns the customers whose name, first name, last name, phone or
// email contain the words of q, folded, in any order. It finds them by suffix rows
// (search_rows.go) and orders them by their smallest suffix that begins with
// query.prefix. A page takes two round trips: a query of suffix rows, and a read of
// the customers. The limit alone bounds the size of both reads, whatever the number
// of customers. A page may be shorter than the limit. The projection updates the
// suffix rows after a customer changes, so until then a search may miss the customer.
func Search(ctx context.Context, c *api.Caller, q string, p api.Paging) (*api.Page[Customer], error) {
	wanted := lookedFor(q)
	folded := strings.Join(wanted.words, " ")
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
	rows, next, err := suffixRows(ctx, c.Tenant, cut(rowText(wanted.prefix()), longest), began, after, p.Limit)
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
		if wanted.finds(r) {
			out.Items = append(out.Items, r.Customer)
		}
	}
	if next != "" {
		out.NextCursor = api.Cursor(began+"|"+next, searchList, folded)
	}
	return out, nil
}

// suffixRows reads the suffix rows whose range keys begin with prefix, from the partition
// T#t#SUFFIX#<first character>. It returns up to limit rows that are visible to a list
// whose first page was read at began, and the position to continue after, "" at the end.
// Of a customer's suffixes that begin with prefix, it returns only the smallest and drops
// the others. Therefore it reads twice the limit, or four times the limit for a prefix of
// one character, but at most table.Examined rows.
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

// customersOf reads the records of the customers to whom the suffix rows belong, in
// the order of the rows.
func customersOf(ctx context.Context, t table.Tenant, rows []table.Item) ([]table.Item, error) {
	keys := make([]table.Key, len(rows))
	for i, row := range rows {
		keys[i] = Key(t, rowOwner(row))
	}
	chunks := slices.Collect(slices.Chunk(keys, 100))
	items := make([][]table.Item, len(chunks))
	group, ctx := panics.WithContext(ctx)
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
