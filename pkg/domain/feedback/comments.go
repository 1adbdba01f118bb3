package feedback

import (
	"cmp"
	"context"
	"slices"

	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

const (
	// commentsShown is the maximum number of comments in a response.
	commentsShown = 100
	// commentsRead is how many of the latest comments are read as candidates.
	// It is larger than one tenant's quota (postComments), so one tenant's comments
	// cannot be all of the candidates.
	commentsRead = 500
	// commentRequests is the maximum number of requests for the candidates. Each
	// returns up to a megabyte. Without this limit, many long comments could need
	// twenty requests to one partition, which DynamoDB could throttle.
	commentRequests = 5
)

// comments returns the comments of a post that a response shows, oldest first. They are
// the ones that fairShare selects, as many as fit into the response.
//
// Access pattern: POST#{id}, COMMENT# backward, eventually consistent.
func (s Store) comments(ctx context.Context, post string) ([]Comment, error) {
	newest, err := s.Platform.Query(ctx, Key(post).PK, table.Query{Prefix: commentPrefix, Backward: true,
		Limit: commentsRead, Fill: true, Requests: commentRequests})
	if err != nil {
		return nil, err
	}
	chosen := fairShare(newest.Items, commentsShown)
	chosen = chosen[:api.Fitting(chosen)]
	out := make([]Comment, 0, len(chosen))
	for _, it := range chosen {
		c, err := table.DecodeDoc[comment](it)
		if err != nil {
			return nil, err
		}
		out = append(out, Comment{c.ID, c.Body, it.Text("author") == s.Person, c.CreatedAt})
	}
	slices.SortFunc(out, func(a, b Comment) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// fairShare selects n of the comments, which must be ordered newest first. If
// there are more than n, it selects the newest comment of each author, then the
// second newest of each author, and so on. So one author's comments cannot
// displace all comments of another author.
func fairShare(comments []table.Item, n int) []table.Item {
	if len(comments) <= n {
		return comments
	}
	type ranked struct {
		rank int // position among the author's comments
		item table.Item
	}
	all, seen := make([]ranked, len(comments)), map[string]int{}
	for i, it := range comments {
		author := it.Text("author")
		all[i] = ranked{seen[author], it}
		seen[author]++
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	out := make([]table.Item, n)
	for i := range out {
		out[i] = all[i].item
	}
	return out
}
