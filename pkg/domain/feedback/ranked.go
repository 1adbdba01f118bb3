package feedback

import (
	"cmp"
	"context"
	"slices"

	"svc/pkg/base/panics"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
)

// ranking is the position of a post in a sort: the range key of its rank row, and its id.
type ranking struct{ position, post string }

// ranked returns the ids of the first posts in the list's sort for which wanted returns
// true, at most in.Limit. It reads rank rows, items that name the posts in that order: one
// page, merged over the statuses, or with a search text as many pages as the list needs. At
// the same time it reads the new posts, which may have no rank rows yet.
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

// unranked returns the positions of the newest posts in the given partitions of rank rows,
// best first. It computes the positions from the posts, whether these have rank rows yet or
// not. It reads at most newestRead posts. If more posts are new, a list shows the others when
// they have rank rows.
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

// bestFirst compares two rankings. Lists read rank rows backward, so the higher position
// comes first.
func bestFirst(a, b ranking) int { return cmp.Compare(b.position, a.position) }

// interleave merges a page of rank rows with the new posts (fresh), best first. If more
// pages follow, left has the new posts whose position is after this page.
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
