package feedback

import (
	"cmp"
	"context"
	"slices"

	"svc/pkg/base/panics"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
)

// ranking is the place of a post in a sort.
type ranking struct{ position, post string }

// ranked reads the rank rows of the sort, merged over the statuses: one page,
// or with a query as many pages as the list needs. At the same time it reads
// the new posts, which may have no rows yet.
func (s Store) ranked(ctx context.Context, in *ListInput, wanted func(post string) bool) ([]string, error) {
	q := table.Query{Backward: true, Limit: in.Limit}
	if in.Q != "" {
		q.Limit = table.Examined
	}
	var partitions []string
	for _, status := range in.statuses() {
		partitions = append(partitions, rankPartition(Sort(in.Sort), status, in.Type, in.Category))
	}
	var page table.Page
	var fresh []ranking
	group, gctx := panics.WithContext(ctx)
	group.Go(func() (err error) {
		page, err = s.Platform.Merge(gctx, partitions, q)
		return err
	})
	group.Go(func() (err error) {
		fresh, err = s.unranked(gctx, partitions)
		return err
	})
	err := group.Wait()
	out, seen := make([]string, 0, in.Limit), make(map[string]bool, in.Limit)
	for err == nil {
		var rows []ranking
		rows, fresh = s.interleave(page, fresh)
		for _, row := range rows {
			if seen[row.post] || !wanted(row.post) {
				continue
			}
			if out, seen[row.post] = append(out, row.post), true; len(out) == in.Limit {
				return out, nil
			}
		}
		if !page.More || in.Q == "" {
			return out, nil
		}
		q.After = page.Last
		page, err = s.Platform.Merge(ctx, partitions, q)
	}
	return nil, err
}

// newestRead is how many of the newest posts a list reads, because they may have
// no rank rows yet. All lists of all tenants read them from one partition, so one
// person's many posts must not make each list expensive.
const newestRead = 25

// unranked returns the places that the newest posts have in the partitions, best
// first, whether they have rows yet or not. If more than newestRead posts are
// new, it leaves the older ones out. A list shows those when they have rows.
//
// Access pattern: by-g1 POSTS#all backward from now to firstRanked ago.
func (s Store) unranked(ctx context.Context, partitions []string) ([]ranking, error) {
	page, err := s.Platform.Query(ctx, AllPartition, table.Query{Index: byCreation, Backward: true,
		From: timestamp.Format(s.Now.Add(-firstRanked)), Limit: newestRead})
	if err != nil {
		return nil, err
	}
	var out []ranking
	for _, post := range page.Items {
		for _, row := range RankRows(post) {
			if slices.Contains(partitions, row.PK) {
				out = append(out, ranking{row.SK, idOf(post)})
			}
		}
	}
	slices.SortFunc(out, bestFirst)
	return out, nil
}

func bestFirst(a, b ranking) int { return cmp.Compare(b.position, a.position) }

// interleave merges the rows of a page with the new posts. left contains the
// new posts that belong behind the page.
func (s Store) interleave(page table.Page, fresh []ranking) (rows, left []ranking) {
	n := len(fresh)
	if page.More {
		n, _ = slices.BinarySearchFunc(fresh, ranking{position: page.Last}, bestFirst)
	}
	rows = slices.Clone(fresh[:n])
	for _, row := range page.Items {
		if row.Live(s.Now) {
			rows = append(rows, ranking{row.SK, row.Text("post")})
		}
	}
	slices.SortFunc(rows, bestFirst)
	return rows, fresh[n:]
}
