package feedback

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/pkg/base/panics"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// PostItem is a post as lists show it (specification, "Feedback post").
type PostItem struct {
	ID           string `json:"id" doc:"Identifier of the post."`
	Slug         string `json:"slug" doc:"Readable name of the post, as in an address."`
	Type         string `json:"type" enum:"IDEA,BUG" doc:"An idea, or a bug."`
	Status       Status `json:"status" enum:"UNDER_REVIEW,PLANNED,IN_PROGRESS,COMPLETED,REJECTED" doc:"Where the post stands on the roadmap."`
	Title        string `json:"title" doc:"The title, in the author's language."`
	VoteCount    int64  `json:"voteCount" minimum:"0" doc:"Number of votes."`
	CommentCount int64  `json:"commentCount" minimum:"0" doc:"Number of comments."`
	HasVoted     bool   `json:"hasVoted" doc:"Whether the caller has voted for the post."`
}

// listItem returns the post as lists show it. hasVoted says whether the caller votes for it.
func (p Post) listItem(hasVoted bool) PostItem {
	return PostItem{p.ID, p.Slug, p.Type, p.Status, p.Title, p.Votes, p.Comments, hasVoted}
}

// ListInput is the query of the list. A post must match all filters.
type ListInput struct {
	Q        string `query:"q" maxLength:"200" doc:"Parts of the title or the body, in either language and in any order; case, accents and blanks at the ends make no difference."`
	Type     string `query:"type" enum:"IDEA,BUG" doc:"Only ideas, or only bugs."`
	Status   string `query:"status" enum:"UNDER_REVIEW,PLANNED,IN_PROGRESS,COMPLETED,REJECTED,ALL" doc:"One status, or all. Without it: UNDER_REVIEW, PLANNED and IN_PROGRESS."`
	Category string `query:"category" minLength:"1" maxLength:"100" doc:"Only posts with exactly this category."`
	Sort     string `query:"sort" enum:"votes,newest,comments" default:"votes" doc:"Most votes, newest or most comments first."`
	Mine     string `query:"mine" enum:"1" doc:"Only posts that the caller submitted."`
	Limit    int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Maximum number of posts."`
}

// statuses returns the statuses of the posts that the list shows.
func (in *ListInput) statuses() []Status {
	switch in.Status {
	case "":
		return Ready
	case "ALL":
		return Statuses
	}
	return []Status{Status(in.Status)}
}

// holds reports whether the post, in its current state, matches the filters on status, type
// and category. The caller checks the other filters.
func (in *ListInput) holds(p Post) bool {
	return slices.Contains(in.statuses(), p.Status) && (in.Type == "" || p.Type == in.Type) &&
		(in.Category == "" || p.Category == in.Category)
}

// before compares the current states of two posts by the list's sort. The result is negative
// if a comes first.
func (in *ListInput) before(a, b Post) int {
	count := 0
	switch Sort(in.Sort) {
	case Newest:
	case ByComments:
		count = cmp.Compare(b.Comments, a.Comments)
	default:
		count = cmp.Compare(b.Votes, a.Votes)
	}
	return cmp.Or(count, cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(b.ID, a.ID))
}

// roadmap is what a process keeps in memory to search the roadmap: the texts of rejected
// posts, and the texts of all other posts.
type roadmap struct{ posts, rejected *texts }

// newRoadmap returns a roadmap that has no texts in memory yet.
func newRoadmap() roadmap {
	return roadmap{&texts{partition: textPartition(UnderReview), maxBytes: textMemory},
		&texts{partition: textPartition(Rejected), maxBytes: textMemory / 8}}
}

// matching returns the ids of the posts whose texts contain the words of Q. It searches
// the rejected posts, the others, or both, as the status filter requires. Posts in
// statuses that the filter excludes may be among the results.
func (r roadmap) matching(ctx context.Context, s Store, in *ListInput) (map[string]bool, error) {
	all := map[string]bool{}
	for _, part := range []struct {
		*texts
		wanted bool
	}{{r.posts, in.Status != string(Rejected)}, {r.rejected, slices.Contains(in.statuses(), Rejected)}} {
		if !part.wanted {
			continue
		}
		found, err := part.texts.matching(ctx, s.Platform, s.Now, in.Q)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, found)
	}
	return all, nil
}

// lister returns the handler that lists and searches posts. Its searches use the texts of r.
func lister(r roadmap) func(context.Context, *api.Caller, *ListInput) (*api.Items[PostItem], error) {
	return func(ctx context.Context, c *api.Caller, in *ListInput) (*api.Items[PostItem], error) {
		posts, voted, err := storeOf(c).list(ctx, r, in)
		if err != nil {
			return nil, err
		}
		out := &api.Items[PostItem]{Items: make([]PostItem, len(posts))}
		for i, p := range posts {
			out.Items[i] = p.listItem(voted[p.ID])
		}
		return out, nil
	}
}

// List returns the posts that an operator would see, for the svc command. in.Limit is at
// most table.Examined. in.Mine must be "", because List has no operator: with Mine it
// returns no posts.
func List(ctx context.Context, db *table.DB, now time.Time, in ListInput) ([]Post, error) {
	posts, _, err := Store{Platform: db.Platform(Kinds...), Now: now}.list(ctx, newRoadmap(), &in)
	return posts, err
}

// list returns the posts that the list shows, sorted. The map has true for the id of each
// post for which the caller votes.
func (s Store) list(ctx context.Context, r roadmap, in *ListInput) ([]Post, map[string]bool, error) {
	ids, err := s.candidates(ctx, r, in)
	if err != nil {
		return nil, nil, err
	}
	return s.read(ctx, in, ids)
}

// fewMatches is the maximum number of matches of a search that a list reads completely
// and then sorts. With more matches, the list reads rank rows, which are in the order of
// its sort, until it has enough matches. With so many matches, that is soon.
const fewMatches = 1000

// candidates returns the ids of the posts to read. With the filter Mine, they are the
// operator's own posts. Without a search text, they are the first of the list's sort. With
// one, they are all matches if they are few, else the first matches of the sort.
func (s Store) candidates(ctx context.Context, r roadmap, in *ListInput) ([]string, error) {
	if in.Q = strings.TrimSpace(in.Q); in.Mine != "" {
		return s.own(ctx, r, in)
	}
	if in.Q == "" {
		return s.ranked(ctx, in, func(string) bool { return true })
	}
	matches, err := r.matching(ctx, s, in)
	if err != nil {
		return nil, err
	}
	if len(matches) <= fewMatches {
		return slices.Collect(maps.Keys(matches)), nil
	}
	return s.ranked(ctx, in, func(post string) bool { return matches[post] })
}

// ownPages is the maximum number of requests for a person's own posts. Each
// returns up to table.Examined posts or a megabyte.
const ownPages = 5

// own returns the ids of the operator's own posts that match the filters and
// the query, as many as the list shows. It reads the author's partition of
// by-g2, newest first. If ownPages requests do not reach the partition's end, it
// omits the oldest posts.
func (s Store) own(ctx context.Context, r roadmap, in *ListInput) ([]string, error) {
	var matches map[string]bool
	if in.Q != "" {
		var err error
		if matches, err = r.matching(ctx, s, in); err != nil {
			return nil, err
		}
	}
	var posts []Post
	q := table.Query{Index: byAuthor, Backward: true, Limit: table.Examined}
	for range ownPages {
		page, err := s.Platform.Query(ctx, authorPartition(s.Person), q)
		if err != nil {
			return nil, err
		}
		all, err := table.DecodeAll(page.Items, FromItem)
		if err != nil {
			return nil, err
		}
		posts = append(posts, all...)
		if !page.More {
			break
		}
		q.After = page.Last
	}
	posts = slices.DeleteFunc(posts, func(p Post) bool { return !in.holds(p) || (in.Q != "" && !matches[p.ID]) })
	return idsOf(in.first(posts)), nil
}

// first sorts the posts and returns as many as the list shows.
func (in *ListInput) first(posts []Post) []Post {
	slices.SortFunc(posts, in.before)
	return posts[:min(len(posts), in.Limit)]
}

// idsOf returns the ids of the posts.
func idsOf(posts []Post) []string {
	out := make([]string, len(posts))
	for i, p := range posts {
		out[i] = p.ID
	}
	return out
}

// read reads the posts with the ids in wanted, drops those that do not match the filters,
// and reads the caller's votes for those that the list shows. It sorts by the current
// state of the posts, because rank rows may be out of date.
func (s Store) read(
	ctx context.Context, in *ListInput, wanted []string,
) (posts []Post, voted map[string]bool, err error) {
	group, gctx := panics.WithContext(ctx)
	group.Go(func() (err error) {
		posts, err = s.posts(gctx, wanted)
		return err
	})
	atOnce := len(wanted) <= in.Limit
	if atOnce {
		group.Go(func() (err error) {
			voted, err = s.voted(gctx, wanted)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	posts = in.first(slices.DeleteFunc(posts, func(p Post) bool { return !in.holds(p) }))
	if !atOnce {
		voted, err = s.voted(ctx, idsOf(posts))
	}
	return posts, voted, err
}

// posts reads posts by id. It omits deleted posts.
func (s Store) posts(ctx context.Context, ids []string) ([]Post, error) {
	items, err := s.items(ctx, ids, Key)
	if err != nil {
		return nil, err
	}
	return table.DecodeAll(items, FromItem)
}

// voted returns true for the id of each post, among those with the ids, for which the caller
// votes. Without a caller it returns nil.
func (s Store) voted(ctx context.Context, ids []string) (map[string]bool, error) {
	if s.Person == "" {
		return nil, nil
	}
	items, err := s.items(ctx, ids, func(id string) table.Key { return VoteKey(id, s.Person) })
	out := make(map[string]bool, len(items))
	for _, it := range items {
		out[idOf(it)] = true
	}
	return out, err
}

// items reads the items at the keys that key returns for the ids, a hundred per request, all
// requests in parallel. It omits items that do not exist.
func (s Store) items(ctx context.Context, ids []string, key func(id string) table.Key) ([]table.Item, error) {
	const perRequest = 100
	chunks := slices.Collect(slices.Chunk(ids, perRequest))
	read := make([][]table.Item, len(chunks))
	group, ctx := panics.WithContext(ctx)
	for i, chunk := range chunks {
		keys := make([]table.Key, len(chunk))
		for i, id := range chunk {
			keys[i] = key(id)
		}
		group.Go(func() (err error) {
			read[i], err = s.Platform.BatchEventual(ctx, keys...)
			return err
		})
	}
	err := group.Wait()
	return slices.DeleteFunc(slices.Concat(read...), func(it table.Item) bool { return !it.Found() }), err
}
