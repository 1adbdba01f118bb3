package feedback

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"svc/pkg/audit"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/table"
	"svc/pkg/timestamp"
)

// Store is one operator's way to the roadmap.
type Store struct {
	Tenant   table.Tenant   // of the operator's membership; votes are kept there
	Platform table.Platform // covers Kinds
	Person   string
	Now      time.Time
	// Commit commits a transaction whose caller is going to be given answer.
	Commit func(ctx context.Context, tx *table.Tx, answer any) error
}

func (s Store) both() table.Handle { return table.Join(s.Tenant.Handle, s.Platform.Handle) }

var errSlug = errors.New("the slug is taken")

const slugTries = 4

// Submit writes a new post with all that belongs to it and its author's vote,
// in one transaction. A slug that is taken gets an ending.
func (s Store) Submit(ctx context.Context, p Post, t Texts, answer func(Post) any) (Post, error) {
	base := p.Slug
	for range slugTries {
		err := table.Retry(ctx, func(ctx context.Context) error {
			tx := s.both().Write()
			for _, it := range Items(p, t) {
				if it.Type == "rank" {
					it.Expires = s.Now.Add(firstRows)
				}
				op := tx.Put(it)
				if it.Type == "slug" {
					op.If("attribute_not_exists(pk)").Else(errSlug)
				}
			}
			tx.Put(VoteItem(s.Tenant, p.ID, s.Person, timestamp.Format(s.Now)))
			return s.Commit(ctx, tx, answer(p))
		})
		if !errors.Is(err, errSlug) {
			return p, err
		}
		p.Slug = base + "-" + strings.ToLower(ids.Code())
	}
	return Post{}, fault.Unavailable(errSlug)
}

// Vote is the answer of a vote and of taking one back.
type Vote struct {
	ID        string `json:"id"`
	HasVoted  bool   `json:"hasVoted"`
	VoteCount int64  `json:"voteCount" minimum:"0"`
}

// Cast sets whether the operator votes for the post. The vote and the post's
// count change in one transaction, so the count is the number of votes,
// whoever votes at once; what is so already stays. Post and vote are the items
// as the caller read them. Errors: 404, 409 for a post that is closed.
func (s Store) Cast(ctx context.Context, post, vote table.Item, want bool) (*Vote, error) {
	given := new(Vote)
	stale := false
	err := table.Retry(ctx, func(ctx context.Context) error {
		if stale {
			items, err := s.both().Batch(ctx, post.Key, vote.Key)
			if err != nil {
				return err
			}
			post, vote = items[0], items[1]
		}
		stale = true
		p, err := found(post)
		if err != nil {
			return err
		}
		if err := p.takes("votes"); err != nil {
			return err
		}
		tx := s.both().Write()
		*given = Vote{p.ID, want, p.Votes}
		switch has := vote.Found(); {
		case want && !has:
			given.VoteCount++
			tx.Create(VoteItem(s.Tenant, p.ID, s.Person, timestamp.Format(s.Now))).Else(table.ErrConflict)
			count(tx, p.ID, "voteCount", 1)
		case !want && has:
			given.VoteCount--
			tx.Delete(vote.Key).If("attribute_exists(pk)").Else(table.ErrConflict)
			count(tx, p.ID, "voteCount", -1)
		}
		return s.Commit(ctx, tx, given)
	})
	if err != nil {
		return nil, err
	}
	return given, nil
}

// count adds to a counter of the post, as long as the post is open.
func count(tx *table.Tx, post, counter string, by int) {
	tx.Update(Key(post), table.Change{Add: map[string]any{counter: by, "version": 1}}).
		If("'status' IN (?, ?, ?)", string(UnderReview), string(Planned), string(InProgress)).Else(table.ErrConflict)
}

// found reads the post of an item; a 404 where there is none.
func found(it table.Item) (Post, error) {
	if !it.Found() {
		return Post{}, fault.NotFound()
	}
	return FromItem(it)
}

// Comment is a comment as it is shown.
type Comment struct {
	ID        string `json:"id"`
	Body      string `json:"body"`
	IsMine    bool   `json:"isMine" doc:"Whether the caller wrote it."`
	CreatedAt string `json:"createdAt" format:"date-time"`
}

// Comment adds a comment and counts it. Post is the item as the caller read
// it. Errors: 404, 409 for a post that is closed.
func (s Store) Comment(ctx context.Context, post table.Item, body string) (*Comment, error) {
	given := &Comment{ID: ids.New(ids.Comment, s.Now), Body: body, IsMine: true, CreatedAt: timestamp.Format(s.Now)}
	stale := false
	err := table.Retry(ctx, func(ctx context.Context) (err error) {
		if stale {
			if post, err = s.Platform.Get(ctx, post.Key); err != nil {
				return err
			}
		}
		stale = true
		p, err := found(post)
		if err != nil {
			return err
		}
		if err := p.takes("comments"); err != nil {
			return err
		}
		tx := s.Platform.Write()
		tx.Put(CommentItem(p.ID, given.ID, s.Person, s.Tenant.ID(), body, given.CreatedAt))
		count(tx, p.ID, "commentCount", 1)
		return s.Commit(ctx, tx.Covers(s.Tenant.Handle), given)
	})
	if err != nil {
		return nil, err
	}
	return given, nil
}

// commentsShown is how many comments are shown, and commentBytes how many bytes
// they may take in the answer of a function, which has room for six million.
const (
	commentsShown = 100
	commentBytes  = 5 << 20
)

// comments reads the last comments of a post, oldest first: the post's
// partition backward from its newest COMMENT#, eventually consistent.
func (s Store) comments(ctx context.Context, post string) ([]Comment, error) {
	page, err := s.Platform.Query(ctx, Key(post).PK, table.Query{Prefix: commentPrefix, Backward: true, Limit: commentsShown, Whole: true})
	if err != nil {
		return nil, err
	}
	out, room := make([]Comment, 0, len(page.Items)), commentBytes
	for _, it := range page.Items {
		var c comment
		if err := it.Decode(&c); err != nil {
			return nil, err
		}
		if room -= answered(c.Body); room < 0 {
			break
		}
		out = append(out, Comment{c.ID, c.Body, it.Text("author") == s.Person, c.CreatedAt})
	}
	slices.Reverse(out)
	return out, nil
}

// answered is how many bytes a text takes at most in the answer of a function,
// JSON in a member of JSON.
func answered(text string) int {
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

// resolve gives the post's id of an id or a slug; a 404 where there is none.
func (s Store) resolve(ctx context.Context, name string, slug func(context.Context, table.Key) (table.Item, error)) (string, error) {
	if ids.Valid(ids.Post, name) {
		return name, nil
	}
	if !isSlug(name) {
		return "", fault.NotFound()
	}
	row, err := slug(ctx, slugKey(name))
	if err != nil {
		return "", err
	}
	if !row.Found() {
		return "", fault.NotFound()
	}
	return row.Text("post"), nil
}

// ChangeStatus puts the post, named by id or slug, into a status and leaves an
// entry in the audit log of its author's tenant. Lists follow when the
// projection has seen it. Errors: 404, 400 for a status that is none.
func ChangeStatus(ctx context.Context, db *table.DB, by audit.By, name, status string) (Post, error) {
	to, err := Parse(status)
	if err != nil {
		return Post{}, err
	}
	s := Store{Platform: db.Platform(Kinds...), Now: by.At}
	id, err := s.resolve(ctx, name, s.Platform.Get)
	if err != nil {
		return Post{}, err
	}
	var p Post
	err = table.Retry(ctx, func(ctx context.Context) error {
		it, err := s.Platform.Get(ctx, Key(id))
		if err != nil {
			return err
		}
		if p, err = found(it); err != nil || p.Status == to {
			return err
		}
		was := p.Status
		p.Status, p.UpdatedAt = to, timestamp.Format(by.At)
		t := db.Tenant(p.Tenant)
		tx := table.Join(s.Platform.Handle, t.Handle).Write()
		tx.Replace(p.Item()).Else(table.ErrConflict)
		audit.Append(tx, t, by, "feedback.status", p.ID, map[string]any{"status": was}, map[string]any{"status": to})
		return tx.Commit(ctx)
	})
	if err != nil {
		return Post{}, fmt.Errorf("status of a post: %w", err)
	}
	return p, nil
}
