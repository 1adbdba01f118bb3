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

// voter is a demo operator in one of the operator's tenants.
type voter struct{ slug, person string }

var (
	metroOffice   = voter{"metro", "metro"}
	harborOffice  = voter{"harbor", "harbor"}
	bothInMetro   = voter{"metro", "both"}
	bothInHarbor  = voter{"harbor", "both"}
	everyOperator = []voter{metroOffice, harborOffice, bothInMetro} // a person has one vote
)

func (v voter) id() string { return id(ids.Person, v.person, 1) }

// suggestion is one post of the demo's roadmap.
type suggestion struct {
	by       voter
	kind     string
	status   feedback.Status
	category string
	title    string
	titleEn  string
	texts    feedback.Texts
	days     int // ago
	voters   []voter
	comments []reply
}

// reply is one comment on a post.
type reply struct {
	by   voter
	days int // ago
	text string
}

// feedback writes the roadmap. It skips a post that exists, because the post
// is written after everything that belongs to it.
func (l *loader) feedback(ctx context.Context) error {
	roadmap := l.db.Platform(feedback.Kinds...)
	for i, s := range suggestions {
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

// suggestion returns the post's items, with the post itself last.
func (l *loader) suggestion(s suggestion, n int, post string) []table.Item {
	at := timestamp.Format(l.now.AddDate(0, 0, -s.days).Add(-time.Duration(n) * 37 * time.Minute))
	moved := at
	if s.status != feedback.UnderReview {
		moved = timestamp.Format(l.now.AddDate(0, 0, -s.days/2))
	}
	p := feedback.Post{ID: post, Type: s.kind, Status: s.status, Category: s.category,
		Title: s.title, TitleEn: s.titleEn, Votes: int64(len(s.voters)), Comments: int64(len(s.comments)),
		CreatedAt: at, UpdatedAt: moved, Author: s.by.id(), Tenant: id(ids.Tenant, s.by.slug, 1), Version: 1}
	p.Slug = feedback.SlugOf(p)
	var out []table.Item
	for i, c := range s.comments {
		out = append(out, feedback.CommentItem(post, id(ids.Comment, "roadmap", 100*n+i), c.by.id(), id(ids.Tenant, c.by.slug,
			1), c.text,
			timestamp.Format(l.now.AddDate(0, 0, -c.days).Add(time.Duration(i-50)*time.Minute))))
	}
	items := feedback.Items(p, s.texts)
	return append(append(out, items[1:]...), items[0])
}

// votes writes the post's votes, so that every vote in the post's count exists.
func (l *loader) votes(ctx context.Context, s suggestion, post string) error {
	at := timestamp.Format(l.now.AddDate(0, 0, -s.days))
	roadmap := l.db.Platform(feedback.Kinds...)
	for _, v := range s.voters {
		if err := roadmap.Load(ctx, feedback.VoteItem(post, v.id(), at)); err != nil {
			return err
		}
	}
	return nil
}
