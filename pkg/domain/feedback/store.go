package feedback

import (
	"context"
	"errors"
	"strings"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
)

// Store gives one operator access to the roadmap.
type Store struct {
	Tenant   table.Tenant   // the operator's tenant, whose quotas limit posts and comments
	Platform table.Platform // a handle for Kinds
	Person   string         // the operator's id; "" for the svc command
	Now      time.Time
	// Commit commits a transaction. answer is the response that the handler
	// will return.
	Commit func(ctx context.Context, tx *table.Tx, answer any) error
}

// both returns a handle for the tenant's data and the roadmap.
func (s Store) both() table.Handle { return table.Join(s.Tenant.Handle, s.Platform.Handle) }

// errSlug means that a submitted post needs another slug.
var errSlug = errors.New("another post has the slug")

// slugTries is the maximum number of slugs that Submit tries.
const slugTries = 4

// Submit writes a new post and its author's vote in one transaction. The projection adds
// the rank rows; until then lists find the post by its creation time (unranked). If
// another post has the slug, the new slug gets a random suffix. answer returns the
// response for the post with its final slug. Errors: 429 beyond the day's quota; 503 if
// slugTries attempts find no free slug.
func (s Store) Submit(ctx context.Context, p Post, t Texts, answer func(Post) any) (Post, error) {
	base := p.Slug
	for range slugTries {
		err := table.Retry(ctx, func(ctx context.Context) error {
			tx := s.both().Write()
			for _, it := range items(p, t) {
				op := tx.Put(it)
				if it.Type == "slug" {
					op.If("attribute_not_exists(pk)").Else(errSlug)
				}
			}
			tx.Put(VoteItem(p.ID, s.Person, timestamp.Format(s.Now)))
			s.spendBytes(tx, folded(foldedTexts(p, t)))
			return s.Commit(ctx, tx, answer(p))
		})
		if !errors.Is(err, errSlug) {
			return p, err
		}
		p.Slug = base + "-" + strings.ToLower(ids.Code())
	}
	return Post{}, fault.Unavailable(errSlug)
}

// Vote is the response to adding or removing a vote.
type Vote struct {
	ID        string `json:"id" doc:"Identifier of the post."`
	HasVoted  bool   `json:"hasVoted" doc:"Whether the caller's vote counts now."`
	VoteCount int64  `json:"voteCount" minimum:"0" doc:"Number of votes now."`
}

// setVote adds the operator's vote for the post if want is true, and else removes it. The
// vote and the post's count change in one transaction, so the count always equals the
// number of votes, even with concurrent voters. setVote changes nothing if the vote is
// already as wanted. have has the post's items as they were read; setVote reads them again
// after a conflict. Errors: 404; 409 for a post whose status does not accept votes.
func (s Store) setVote(ctx context.Context, have records, want bool) (*Vote, error) {
	given, id := new(Vote), idOf(have.post)
	stale := false
	err := table.Retry(ctx, func(ctx context.Context) (err error) {
		if stale {
			if have, err = s.readRecords(ctx, id); err != nil {
				return err
			}
		}
		stale = true
		p, err := found(have.post)
		if err != nil {
			return err
		}
		if err := p.takes("votes"); err != nil {
			return err
		}
		tx := s.both().Write()
		*given = Vote{p.ID, want, p.Votes}
		switch has := have.vote.Found(); {
		case want && !has:
			given.VoteCount++
			tx.Create(VoteItem(p.ID, s.Person, timestamp.Format(s.Now))).Else(table.ErrConflict)
			count(tx, p.ID, "voteCount", 1)
		case !want && has:
			given.VoteCount--
			tx.Delete(have.vote.Key).If("attribute_exists(pk)").Else(table.ErrConflict)
			count(tx, p.ID, "voteCount", -1)
		}
		return s.Commit(ctx, tx, given)
	})
	if err != nil {
		return nil, err
	}
	return given, nil
}

// count adds by to a counter of the post (Counts), in the transaction. If the post's status
// is not one of Ready, the transaction fails with table.ErrConflict.
func count(tx *table.Tx, post, counter string, by int) {
	tx.Update(Key(post), table.Change{Add: map[string]any{counter: by, "version": 1}}).
		If("'status' IN (?, ?, ?)", string(UnderReview), string(Planned), string(InProgress)).Else(table.ErrConflict)
}

// found decodes the post from an item. It returns a 404 if the item does not exist.
func found(it table.Item) (Post, error) {
	if !it.Found() {
		return Post{}, fault.NotFound()
	}
	return FromItem(it)
}

// Comment is a comment as the API shows it.
type Comment struct {
	ID        string `json:"id" doc:"Identifier of the comment."`
	Body      string `json:"body" doc:"The text."`
	IsMine    bool   `json:"isMine" doc:"Whether the caller wrote it."`
	CreatedAt string `json:"createdAt" format:"date-time" doc:"When it was written."`
}

// Comment adds a comment and counts it. post is the post's item as it was read; Comment
// reads it again after a conflict. Errors: 404; 409 if the post's status does not accept
// comments, or if the operator or the tenant has reached its limit of comments on the post.
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
		s.spendComment(tx, p.ID, body)
		return s.Commit(ctx, tx.Covers(s.Tenant.Handle), given)
	})
	if err != nil {
		return nil, err
	}
	return given, nil
}

// resolve returns the id of the post with the name, an id or a slug. It returns an id
// without a read. For a slug, it reads the item at slugKey with the function slug, such as
// Handle.Get. Errors: a 404 if no post has the slug.
func (s Store) resolve(
	ctx context.Context, name string, slug func(context.Context, table.Key) (table.Item, error),
) (string, error) {
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
