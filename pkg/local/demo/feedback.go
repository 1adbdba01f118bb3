package demo

import (
	"context"
	"fmt"
	"time"

	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/feedback"
)

// feedback writes the roadmap's posts, votes and comments. It writes a post after its
// votes and comments. So if a post exists, all of these exist, and feedback skips them.
func (l *loader) feedback(ctx context.Context) error {
	roadmap := l.db.Platform(feedback.Kinds...)
	for i, s := range demo.Roadmap {
		n := i + 1
		post := id(ids.Post, "roadmap", n)
		if it, err := roadmap.Get(ctx, feedback.Key(post)); err != nil || it.Found() {
			if err != nil {
				return fmt.Errorf("roadmap: %w", err)
			}
			continue
		}
		if err := l.votes(ctx, s, post); err != nil {
			return fmt.Errorf("roadmap: %w", err)
		}
		if err := roadmap.Load(ctx, l.suggestion(s, n, post)...); err != nil {
			return fmt.Errorf("roadmap: %w", err)
		}
	}
	return nil
}

// suggestion returns the items of the n-th post: its comments, its other items, and the
// post itself last. post is the post's id.
func (l *loader) suggestion(s suggestion, n int, post string) []table.Item {
	at := timestamp.Format(l.now.AddDate(0, 0, -s.Days).Add(-time.Duration(n) * 37 * time.Minute))
	moved := at
	if s.Status != feedback.UnderReview {
		moved = timestamp.Format(l.now.AddDate(0, 0, -s.Days/2))
	}
	p := feedback.Post{ID: post, Type: s.Kind, Status: s.Status, Category: s.Category,
		Title: s.Title, TitleEn: s.TitleEn, Votes: int64(len(s.Voters)), Comments: int64(len(s.Comments)),
		CreatedAt: at, UpdatedAt: moved, Author: s.By.id(), Tenant: id(ids.Tenant, s.By.slug, 1), Version: 1}
	p.Slug = feedback.SlugOf(p)
	var out []table.Item
	for i, c := range s.Comments {
		out = append(out, feedback.CommentItem(post, id(ids.Comment, "roadmap", 100*n+i), c.By.id(), id(ids.Tenant, c.By.slug,
			1), c.Text,
			timestamp.Format(l.now.AddDate(0, 0, -c.Days).Add(time.Duration(i-50)*time.Minute))))
	}
	items := feedback.Items(p, s.Texts)
	return append(append(out, items[1:]...), items[0])
}

// votes writes the votes of the post with the id post. The stored post counts these votes.
func (l *loader) votes(ctx context.Context, s suggestion, post string) error {
	at := timestamp.Format(l.now.AddDate(0, 0, -s.Days))
	roadmap := l.db.Platform(feedback.Kinds...)
	for _, v := range s.Voters {
		if err := roadmap.Load(ctx, feedback.VoteItem(post, v.id(), at)); err != nil {
			return err
		}
	}
	return nil
}
