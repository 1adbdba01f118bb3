package table

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc/pkg/base/panics"
)

// Query reads a range of one partition, or of several partitions merged by
// range key. Range keys must be unique across these partitions, and no range
// key may be a prefix of another.
type Query struct {
	Index      int    // 1…4 for by-g1…by-g4 (eventually consistent, ordered by r); 0 for the table (ordered by sk)
	Prefix     string // only range keys with this prefix
	From, To   string // only range keys ≥ From and < To; "" for no bound
	After      string // the cursor: only range keys after it, in read direction
	Backward   bool   // in descending order of range key
	Limit      int    // maximum number of items returned, 1…1000
	Consistent bool   // strongly consistent; only for the table itself
	// Fill sends further requests until the page has Limit items or the list ends.
	// Without Fill, a page may end early, at a megabyte. Use Fill for lists without
	// a cursor. With Where, Fill has no effect.
	Fill bool
	// Requests, unless zero, is the maximum number of requests that Fill sends to
	// each partition. With long items the page may then have fewer than Limit.
	Requests int
	Where    []Condition // only items that meet all of these
}

// Condition is a filter: attribute Name equals Value (a string), or is absent
// if Absent is set. A filtered page examines at most 1,000 items.
type Condition struct {
	Name   string
	Value  string
	Absent bool
}

// Page is the result of a query. If More is set, more items may follow, and
// Last is the cursor to continue with. Last need not be the position of the
// last item.
type Page struct {
	Items []Item
	Last  string
	More  bool
}

// Examined is the maximum number of items that a filtered page examines.
const Examined = 1000

// keyIs is the condition on the partition key, with which every key condition begins.
const keyIs = "#h = :h"

// Position returns the item's range key in the index: R for 1 to 4 (by-g1 to by-g4), and
// SK for 0, which means the table.
func (it Item) Position(index int) string {
	if index == 0 {
		return it.SK
	}
	return it.R
}

// Query reads one page of the partition. It sends one request, or two if a
// filter removed too much of the first. With Fill, it may send more.
func (h Handle) Query(ctx context.Context, partition string, q Query) (Page, error) {
	return h.Merge(ctx, []string{partition}, q)
}

// Pages iterates over the pages of the partition, from q.After on. It ends after
// an error.
func (h Handle) Pages(ctx context.Context, partition string, q Query) iter.Seq2[[]Item, error] {
	return func(yield func([]Item, error) bool) {
		for q := q; ; {
			page, err := h.Query(ctx, partition, q)
			if q.After = page.Last; !yield(page.Items, err) || err != nil || !page.More {
				return
			}
		}
	}
}

// Merge reads one page of several partitions, merged into one list.
func (h Handle) Merge(ctx context.Context, partitions []string, q Query) (Page, error) {
	if q.Limit < 1 || q.Limit > Examined || len(partitions) == 0 {
		return Page{}, fmt.Errorf("query of %d partitions with limit %d, expected 1 or more and 1 to %d", len(partitions),
			q.Limit, Examined)
	}
	pages := make([]Page, len(partitions))
	group, ctx := panics.WithContext(ctx)
	for i, partition := range partitions {
		group.Go(func() (err error) {
			pages[i], err = h.stretch(ctx, partition, q, Examined/len(partitions))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Page{}, err
	}
	return merge(pages, q), nil
}

// merge merges pages of several partitions into one page, ordered by range key. It cuts
// the result at the limit, and after the last position up to which every partition was
// read.
func merge(pages []Page, q Query) Page {
	order := func(a, b string) int {
		if q.Backward {
			a, b = b, a
		}
		return cmp.Compare(a, b)
	}
	if len(pages) == 1 && len(pages[0].Items) <= q.Limit {
		return pages[0]
	}
	out := Page{}
	for _, page := range pages {
		out.Items = append(out.Items, page.Items...)
		if page.More && (!out.More || order(page.Last, out.Last) < 0) {
			out.More, out.Last = true, page.Last
		}
	}
	if len(pages) > 1 {
		slices.SortFunc(out.Items, func(a, b Item) int { return order(a.Position(q.Index), b.Position(q.Index)) })
	}
	if out.More {
		end, _ := slices.BinarySearchFunc(out.Items, out.Last, func(it Item, last string) int {
			if order(it.Position(q.Index), last) <= 0 {
				return -1
			}
			return 1
		})
		out.Items = out.Items[:end]
	}
	if len(out.Items) > q.Limit {
		out.Items, out.More = out.Items[:q.Limit], true
		out.Last = out.Items[q.Limit-1].Position(q.Index)
	}
	return out
}

// stretch reads the partition until it has more items than the limit or reaches
// the end. With Where, it also ends when it has examined as many items as the
// budget. With Fill, it also ends after q.Requests requests. Without both, it
// sends one request only.
func (h Handle) stretch(ctx context.Context, partition string, q Query, budget int) (Page, error) {
	want := q.Limit + 1
	if len(q.Where) == 0 {
		out, err := h.once(ctx, partition, q, want)
		for sent := 1; q.Fill && sent != q.Requests && err == nil && out.More && len(out.Items) < want; sent++ {
			q.After = out.Last
			var page Page
			page, err = h.once(ctx, partition, q, want-len(out.Items))
			out = Page{append(out.Items, page.Items...), page.Last, page.More}
		}
		return out, err
	}
	out, next := Page{}, min(2*want, budget)
	for {
		page, err := h.once(ctx, partition, q, next)
		if err != nil {
			return Page{}, err
		}
		out.Items, out.Last, out.More = append(out.Items, page.Items...), page.Last, page.More
		budget -= next
		if !page.More || len(out.Items) >= want || budget <= 0 {
			return out, nil
		}
		q.After, next = page.Last, budget
	}
}

// once sends one Query request, for at most limit items.
func (h Handle) once(ctx context.Context, partition string, q Query, limit int) (Page, error) {
	in, empty := h.input(partition, q, limit)
	if empty {
		return Page{}, nil
	}
	ctx, got := wanting(ctx)
	out, err := h.db.client.Query(h.within(ctx), in)
	if err != nil {
		return Page{}, readError("query", err)
	}
	found := got.or(out.Items)
	page := Page{Items: found[:0], More: len(out.LastEvaluatedKey) > 0}
	rangeKey := "sk"
	if q.Index > 0 {
		rangeKey = "r"
	}
	page.Last = stringOf(out.LastEvaluatedKey[rangeKey])
	for _, it := range found {
		if at := it.Position(q.Index); (q.To != "" && at >= q.To) || (q.Backward && q.After != "" && at >= q.After) {
			continue // BETWEEN includes its upper bound, and the page must not
		}
		page.Items = append(page.Items, it)
	}
	return page, nil
}

// input builds a Query request for at most limit items. empty is true, and no request is
// needed, if the bounds exclude every key.
func (h Handle) input(partition string, q Query, limit int) (in *dynamodb.QueryInput, empty bool) {
	in = &dynamodb.QueryInput{TableName: &h.db.name, ScanIndexForward: aws.Bool(!q.Backward),
		ExpressionAttributeNames:  map[string]string{"#h": "pk"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":h": str(partition)},
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal}
	rangeKey := "sk"
	if q.Index > 0 {
		g := "g" + strconv.Itoa(q.Index)
		in.IndexName, in.ExpressionAttributeNames["#h"], rangeKey = aws.String("by-"+g), g, "r"
	} else if q.Consistent {
		in.ConsistentRead = aws.Bool(true)
	}
	low, high := q.bounds()
	condition := keyIs
	if low != "" || high != "" {
		in.ExpressionAttributeNames["#r"] = rangeKey
	}
	if low != "" {
		in.ExpressionAttributeValues[":low"] = str(low)
	}
	if high != "" {
		in.ExpressionAttributeValues[":high"] = str(high)
	}
	switch {
	case low != "" && high != "" && low >= high:
		return nil, true
	case low != "" && high != "":
		condition += " AND #r BETWEEN :low AND :high"
		limit++ // once drops the item at the upper bound
	case low != "":
		condition += " AND #r >= :low"
	case high != "":
		condition += " AND #r < :high"
	}
	in.KeyConditionExpression, in.Limit = &condition, aws.Int32(int32(limit))
	for i, c := range q.Where {
		n := strconv.Itoa(i)
		in.ExpressionAttributeNames["#w"+n] = c.Name
		clause := "attribute_not_exists(#w" + n + ")"
		if !c.Absent {
			clause = "#w" + n + " = :w" + n
			in.ExpressionAttributeValues[":w"+n] = str(c.Value)
		}
		if in.FilterExpression != nil {
			clause = *in.FilterExpression + " AND " + clause
		}
		in.FilterExpression = &clause
	}
	return in, false
}

// bounds returns the lowest range key to read (inclusive) and the end
// (exclusive). In ascending order, the page after a cursor starts at the
// cursor + "!". This is safe because no range key is a prefix of another.
func (q Query) bounds() (low, high string) {
	low, high = q.From, q.To
	if q.Prefix != "" {
		low = max(low, q.Prefix)
		if end := q.Prefix + "\U0010FFFF"; high == "" || end < high {
			high = end
		}
	}
	if q.After != "" {
		if q.Backward {
			if high == "" || q.After < high {
				high = q.After
			}
		} else {
			low = max(low, q.After+"!")
		}
	}
	return low, high
}
