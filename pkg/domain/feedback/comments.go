package feedback

import (
	"cmp"
	"context"
	"slices"
	"unicode/utf8"

	"svc/pkg/data/table"
)

const (
	commentsShown = 100
	// commentsRead is how many of the latest comments are read as candidates.
	// It is larger than one tenant's quota (postComments), so one tenant cannot
	// fill it.
	commentsRead = 500
	// commentPages is the maximum number of requests for the candidates, a megabyte
	// each. All requests for the post read the same key, and long comments of many
	// tenants would need twenty.
	commentPages = 5
	// commentBytes is the maximum size of the shown comments in the function's
	// response, in bytes. The response has at most six million bytes.
	commentBytes = 5 << 20
)

// comments reads the comments of a post to show, oldest first.
func (s Store) comments(ctx context.Context, post string) ([]Comment, error) {
	newest, err := s.newestComments(ctx, post)
	if err != nil {
		return nil, err
	}
	left := commentBytes
	chosen := fairShare(newest, commentsShown)
	out := make([]Comment, 0, len(chosen))
	for _, it := range chosen {
		c, err := table.DecodeDoc[comment](it)
		if err != nil {
			return nil, err
		}
		if left -= encodedSize(c.Body); left < 0 {
			break
		}
		out = append(out, Comment{c.ID, c.Body, it.Text("author") == s.Person, c.CreatedAt})
	}
	slices.SortFunc(out, func(a, b Comment) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// newestComments reads the candidates, newest first.
//
// Access pattern: POST#{id}, COMMENT# backward, eventually consistent.
func (s Store) newestComments(ctx context.Context, post string) (out []table.Item, err error) {
	q := table.Query{Prefix: commentPrefix, Backward: true, Limit: commentsRead}
	for range commentPages {
		page, err := s.Platform.Query(ctx, Key(post).PK, q)
		if err != nil {
			return nil, err
		}
		out = append(out, page.Items...)
		if q.Limit, q.After = commentsRead-len(out), page.Last; !page.More || q.Limit == 0 {
			break
		}
	}
	return out, nil
}

// fairShare selects n of the comments, which must be ordered newest first. If
// there are more, it selects the newest comment of each author, then the second
// newest of each author, and so on. So one author's comments cannot displace
// all comments of another author.
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

// encodedSize returns the maximum size of a text in the function's response, in
// bytes: JSON inside a JSON string.
func encodedSize(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case r < ' ' || r == '\u2028' || r == '\u2029':
			n += len(`\\u0001`)
		case r == '<' || r == '>' || r == '&':
			n += len(`\u003c`)
		case r == '"' || r == '\\':
			n += len(`\\\"`)
		default:
			n += utf8.RuneLen(r)
		}
	}
	return n
}
