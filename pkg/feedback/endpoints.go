package feedback

import (
	"context"

	"golang.org/x/sync/errgroup"

	"svc/pkg/api"
	"svc/pkg/authz"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/table"
)

// Rows gives the endpoints of the roadmap.
func Rows() []api.Row {
	policy := func(scope string) authz.Policy { return authz.Operators(scope, "VIEW_FEEDBACK") }
	tag := api.Tag("Feedback")
	return []api.Row{
		api.Get("/api/v1/feedback", "svc_search_feedback", policy("feedback:read"), list, tag,
			api.Summary("Search the roadmap"), api.Text("Ideas and bugs of all operators, most votes first. Search before you submit.")),
		api.Post("/api/v1/feedback", "svc_submit_feedback", policy("feedback:write"), submit, tag, api.Created(),
			api.Summary("Submit an idea or a bug"), api.Text("The new post is under review and has its author's vote.")),
		api.Get("/api/v1/feedback/{id}", "svc_get_feedback", policy("feedback:read"), get, tag, api.Needs(needPost),
			api.Summary("Read a post"), api.Text("By id or by slug, with its texts and its last 100 comments, oldest first.")),
		api.Post("/api/v1/feedback/{id}/vote", "svc_vote_feedback", policy("feedback:vote"), vote, tag, api.Needs(needPost),
			api.Summary("Vote for a post"), api.Text("A second vote changes nothing.")),
		api.Delete("/api/v1/feedback/{id}/vote", "svc_unvote_feedback", policy("feedback:vote"), unvote, tag, api.Needs(needPost),
			api.Summary("Take back a vote"), api.Text("Without a vote it changes nothing.")),
		api.Post("/api/v1/feedback/{id}/comments", "svc_comment_feedback", policy("feedback:write"), remark, tag, api.Created(), api.Needs(needPost),
			api.Summary("Comment on a post")),
	}
}

// needPost names what an endpoint of one post reads: the post, its body and
// the caller's vote; of a slug, the row that leads to them.
func needPost(t table.Tenant, p api.Peek) []table.Key {
	switch id := p.Path("id"); {
	case ids.Valid(ids.Post, id):
		return []table.Key{Key(id), bodyKey(id), VoteKey(t, id, p.Actor().Subject)}
	case isSlug(id):
		return []table.Key{slugKey(id)}
	}
	return nil
}

func storeOf(c *api.Caller) Store {
	return Store{Tenant: c.Tenant, Platform: c.Platform, Person: c.Actor.Subject, Now: c.Now, Commit: c.Commit}
}

// parts are the items of one post for one caller.
type parts struct{ post, body, vote table.Item }

// open gives the items of the post that the path names: they came with the
// checks, or are read now when the path has a slug. A 404 where there is none.
func (s Store) open(ctx context.Context, c *api.Caller, name string) (parts, error) {
	id, err := s.resolve(ctx, name, c.Item)
	if err != nil {
		return parts{}, err
	}
	keys := []table.Key{Key(id), bodyKey(id), VoteKey(s.Tenant, id, s.Person)}
	items := make([]table.Item, len(keys))
	if id != name {
		if items, err = s.both().Batch(ctx, keys...); err != nil {
			return parts{}, err
		}
	} else {
		for i, key := range keys {
			if items[i], err = c.Item(ctx, key); err != nil {
				return parts{}, err
			}
		}
	}
	if !items[0].Found() {
		return parts{}, fault.NotFound()
	}
	return parts{items[0], items[1], items[2]}, nil
}

// PostInput names a post.
type PostInput struct {
	ID string `path:"id" doc:"Id or slug of the post."`
}

// PostDetail is a post with its texts and comments.
type PostDetail struct {
	PostItem
	Body      string                  `json:"body"`
	TitleEn   *string                 `json:"titleEn" doc:"The title in English."`
	BodyEn    *string                 `json:"bodyEn" doc:"The body in English."`
	Category  *string                 `json:"category"`
	Bug       api.Nullable[BugReport] `json:"bug" doc:"What its author told of a bug."`
	IsMine    bool                    `json:"isMine" doc:"Whether the caller submitted it."`
	CreatedAt string                  `json:"createdAt" format:"date-time"`
	UpdatedAt string                  `json:"updatedAt" format:"date-time" doc:"When its status last changed."`
	Comments  []Comment               `json:"comments" doc:"The last 100, oldest first."`
}

func detail(p Post, t Texts, person string, hasVoted bool, comments []Comment) *PostDetail {
	d := &PostDetail{PostItem: p.shown(hasVoted), Body: t.Body, BodyEn: t.BodyEn, Bug: api.Nullable[BugReport]{Value: t.Bug},
		IsMine: p.Author == person, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt, Comments: comments}
	if p.TitleEn != "" {
		d.TitleEn = &p.TitleEn
	}
	if p.Category != "" {
		d.Category = &p.Category
	}
	return d
}

// get reads the comments beside the checks, which bring the rest, when the
// path has the id; a slug takes a second step.
func get(ctx context.Context, c *api.Caller, in *PostInput) (*PostDetail, error) {
	s := storeOf(c)
	var comments []Comment
	var all parts
	group, gctx := errgroup.WithContext(ctx)
	byID := ids.Valid(ids.Post, in.ID)
	if byID {
		group.Go(func() (err error) {
			comments, err = s.comments(gctx, in.ID)
			return err
		})
	}
	group.Go(func() (err error) {
		if all, err = s.open(gctx, c, in.ID); err == nil && !byID {
			comments, err = s.comments(gctx, idOf(all.post))
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	p, err := FromItem(all.post)
	if err != nil {
		return nil, err
	}
	var t Texts
	if err := all.body.Decode(&t); err != nil {
		return nil, err
	}
	return detail(p, t, s.Person, all.vote.Found(), comments), nil
}

// SubmitInput is a new post.
type SubmitInput struct {
	Body Draft
}

func submit(ctx context.Context, c *api.Caller, in *SubmitInput) (*PostDetail, error) {
	s := storeOf(c)
	p, t, err := in.Body.New(s.Person, s.Tenant.ID(), s.Now)
	if err != nil {
		return nil, err
	}
	shown := func(p Post) any { return detail(p, t, s.Person, true, []Comment{}) }
	if p, err = s.Submit(ctx, p, t, shown); err != nil {
		return nil, err
	}
	return detail(p, t, s.Person, true, []Comment{}), nil
}

func vote(ctx context.Context, c *api.Caller, in *PostInput) (*Vote, error) {
	return cast(ctx, c, in.ID, true)
}

func unvote(ctx context.Context, c *api.Caller, in *PostInput) (*Vote, error) {
	return cast(ctx, c, in.ID, false)
}

func cast(ctx context.Context, c *api.Caller, id string, want bool) (*Vote, error) {
	s := storeOf(c)
	all, err := s.open(ctx, c, id)
	if err != nil {
		return nil, err
	}
	return s.Cast(ctx, all.post, all.vote, want)
}

// CommentInput is a comment on a post.
type CommentInput struct {
	ID   string `path:"id" doc:"Id or slug of the post."`
	Body Remark
}

func remark(ctx context.Context, c *api.Caller, in *CommentInput) (*Comment, error) {
	if err := in.Body.check(); err != nil {
		return nil, err
	}
	s := storeOf(c)
	all, err := s.open(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	return s.Comment(ctx, all.post, in.Body.Body)
}
