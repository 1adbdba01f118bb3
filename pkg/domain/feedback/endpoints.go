package feedback

import (
	"context"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/panics"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// Rows returns the endpoints of the roadmap.
func Rows() []api.Row {
	policy := func(scope string) authz.Policy { return authz.Operators(scope, "VIEW_FEEDBACK") }
	tag := api.Tag("Feedback")
	silent := api.NoEvent("only the voter needs to know of a vote")
	return []api.Row{
		api.Get("/api/v1/feedback", "svc_search_feedback", policy("feedback:read"), lister(newRoadmap()), tag,
			api.Summary("Search the roadmap"), api.Text("Ideas and bugs of all operators, most votes first. Search before "+
				"you submit.")),
		api.Post("/api/v1/feedback", "svc_submit_feedback", policy("feedback:write"), submit, tag, api.Created(),
			api.Summary("Submit an idea or a bug"), api.Confirm("Operators of all companies read it."),
			api.Text("The new post is under review and has its author's vote.")),
		api.Get("/api/v1/feedback/{id}", "svc_get_feedback", policy("feedback:read"), get, tag, api.Needs(needPost),
			api.Summary("Read a post"), api.Text("By id or by slug, with texts and at most 100 comments, oldest first. "+
				"If there are more comments, the newest ones of each author are shown.")),
		api.Post("/api/v1/feedback/{id}/vote", "svc_vote_feedback", policy("feedback:vote"), vote, tag, api.Needs(needPost),
			api.Idempotent(), api.Summary("Vote for a post"), api.Text("The post must be under review, planned or in "+
				"progress. A second vote changes nothing."), silent),
		api.Delete("/api/v1/feedback/{id}/vote", "svc_unvote_feedback", policy("feedback:vote"), unvote, tag,
			api.Needs(needPost), api.Summary("Take back a vote"), api.Text("The post must be under review, planned or "+
				"in progress. Without a vote nothing changes."), silent),
		api.Post("/api/v1/feedback/{id}/comments", "svc_comment_feedback", policy("feedback:write"), remark, tag,
			api.Created(), api.Needs(needPost), api.Summary("Comment on a post"),
			api.Confirm("Operators of all companies read it."),
			api.Text("The post must be under review, planned or in progress.")),
	}
}

// needPost returns the keys that an endpoint of one post reads: the post, its
// body and the caller's vote. If the path has a slug, it returns the key of the item
// that maps the slug to a post.
func needPost(_ table.Tenant, p api.Peek) []table.Key {
	switch id := p.Path("id"); {
	case ids.Valid(ids.Post, id):
		return []table.Key{Key(id), bodyKey(id), VoteKey(id, p.Actor().Subject)}
	case isSlug(id):
		return []table.Key{slugKey(id)}
	}
	return nil
}

// storeOf returns the Store of the calling operator.
func storeOf(c *api.Caller) Store {
	return Store{Tenant: c.Tenant, Platform: c.Platform, Person: c.Actor.Subject, Now: c.Now, Commit: c.Commit}
}

// records holds the items of one post for one caller.
type records struct{ post, body, vote table.Item }

// open returns the items of the post with the name, which is the id or slug in the path. If
// it is the id, the items were read together with the access checks (needPost). A slug needs
// a second read. Errors: a 404 if there is no such post.
func (s Store) open(ctx context.Context, c *api.Caller, name string) (records, error) {
	id, err := s.resolve(ctx, name, c.Item)
	if err != nil {
		return records{}, err
	}
	if id != name {
		return s.readRecords(ctx, id)
	}
	var out records
	for key, it := range map[table.Key]*table.Item{
		Key(id): &out.post, bodyKey(id): &out.body, VoteKey(id, s.Person): &out.vote} {
		if *it, err = c.Item(ctx, key); err != nil {
			return records{}, err
		}
	}
	return out, out.missing()
}

// readRecords reads the current items of a post. It returns a 404 if there is no such
// post.
func (s Store) readRecords(ctx context.Context, id string) (records, error) {
	var out records
	var reads table.BatchGet
	reads.Add(s.both(), Key(id), &out.post)
	reads.Add(s.both(), bodyKey(id), &out.body)
	reads.Add(s.both(), VoteKey(id, s.Person), &out.vote)
	if err := reads.Do(ctx); err != nil {
		return records{}, err
	}
	return out, out.missing()
}

// missing returns a 404 if the post does not exist.
func (r records) missing() error {
	if !r.post.Found() {
		return fault.NotFound()
	}
	return nil
}

// PostInput has the id or slug of a post from the path.
type PostInput struct {
	ID string `path:"id" doc:"Id or slug of the post." example:"dark-theme-for-the-dispatch-map"`
}

// PostDetail is a post with its texts and comments.
type PostDetail struct {
	PostItem
	Body      string                  `json:"body" doc:"The text, in the author's language."`
	TitleEn   *string                 `json:"titleEn" doc:"The title in English."`
	BodyEn    *string                 `json:"bodyEn" doc:"The body in English."`
	Category  *string                 `json:"category" doc:"The post's category, in the author's words."`
	Bug       api.Nullable[BugReport] `json:"bug" doc:"What the author reported about the bug; null if nothing."`
	IsMine    bool                    `json:"isMine" doc:"Whether the caller submitted it."`
	CreatedAt string                  `json:"createdAt" format:"date-time" doc:"When it was submitted."`
	UpdatedAt string                  `json:"updatedAt" format:"date-time" doc:"When its status last changed."`
	Comments  []Comment               `json:"comments" doc:"At most 100, oldest first. If there are more, the newest ones of each author."`
}

// detail returns the post as the API shows it to the person.
func detail(p Post, t Texts, person string, hasVoted bool, comments []Comment) *PostDetail {
	d := &PostDetail{PostItem: p.listItem(hasVoted), Body: t.Body, BodyEn: t.BodyEn,
		Bug:    api.Nullable[BugReport]{Value: t.Bug},
		IsMine: p.Author == person, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt, Comments: comments}
	if p.TitleEn != "" {
		d.TitleEn = &p.TitleEn
	}
	if p.Category != "" {
		d.Category = &p.Category
	}
	return d
}

// get returns a post with its texts and comments. If the path has the id, it reads the
// comments while the access checks run, and everything else was read with the checks. If
// the path has a slug, two reads follow, one after the other: the post, then the
// comments.
func get(ctx context.Context, c *api.Caller, in *PostInput) (*PostDetail, error) {
	s := storeOf(c)
	var comments []Comment
	var all records
	group, gctx := panics.WithContext(ctx)
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

// SubmitInput is the request to submit a post.
type SubmitInput struct {
	Body Draft
}

// submit stores a new post. The response is the post as its author sees it.
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

// vote adds the caller's vote for a post.
func vote(ctx context.Context, c *api.Caller, in *PostInput) (*Vote, error) {
	return cast(ctx, c, in.ID, true)
}

// unvote removes the caller's vote for a post.
func unvote(ctx context.Context, c *api.Caller, in *PostInput) (*Vote, error) {
	return cast(ctx, c, in.ID, false)
}

// cast adds the caller's vote for the post if want is true, and else removes it.
func cast(ctx context.Context, c *api.Caller, id string, want bool) (*Vote, error) {
	s := storeOf(c)
	all, err := s.open(ctx, c, id)
	if err != nil {
		return nil, err
	}
	return s.setVote(ctx, all, want)
}

// CommentInput is a comment on a post.
type CommentInput struct {
	ID   string `path:"id" doc:"Id or slug of the post." example:"dark-theme-for-the-dispatch-map"`
	Body Remark
}

// remark adds a comment to a post.
func remark(ctx context.Context, c *api.Caller, in *CommentInput) (*Comment, error) {
	if err := in.Body.check(); err != nil {
		return nil, err
	}
	s := storeOf(c)
	all, err := s.open(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	return s.Comment(ctx, all.post, plaintext.Strip(in.Body.Body))
}
