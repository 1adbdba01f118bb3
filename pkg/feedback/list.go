package feedback

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/pkg/api"
	"svc/pkg/search"
	"svc/pkg/table"
)

// PostItem is a post as lists show it (specification, "Feedback post").
type PostItem struct {
	ID           string `json:"id"`
	Slug         string `json:"slug"`
	Type         string `json:"type" enum:"IDEA,BUG"`
	Status       Status `json:"status" enum:"UNDER_REVIEW,PLANNED,IN_PROGRESS,COMPLETED,REJECTED"`
	Title        string `json:"title"`
	VoteCount    int64  `json:"voteCount" minimum:"0"`
	CommentCount int64  `json:"commentCount" minimum:"0"`
	HasVoted     bool   `json:"hasVoted" doc:"Whether the caller votes for it."`
}

func (p Post) shown(hasVoted bool) PostItem {
	return PostItem{p.ID, p.Slug, p.Type, p.Status, p.Title, p.Votes, p.Comments, hasVoted}
}

// ListInput is the query of the list; all filters given must hold.
type ListInput struct {
	Q        string `query:"q" maxLength:"200" doc:"A part of the title or the body, in either language; case makes no difference."`
	Type     string `query:"type" enum:"IDEA,BUG"`
	Status   string `query:"status" enum:"UNDER_REVIEW,PLANNED,IN_PROGRESS,COMPLETED,REJECTED,ALL" doc:"One status, or all. Without it: UNDER_REVIEW, PLANNED and IN_PROGRESS."`
	Category string `query:"category" minLength:"1" maxLength:"100"`
	Sort     string `query:"sort" enum:"votes,newest,comments" default:"votes" doc:"Most votes, newest or most comments first."`
	Mine     string `query:"mine" enum:"1" doc:"Only posts that the caller submitted."`
	Limit    int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

func (in *ListInput) statuses() []Status {
	switch in.Status {
	case "":
		return Ready
	case "ALL":
		return Statuses
	}
	return []Status{Status(in.Status)}
}

// holds says whether the post is what is asked for, as it is now.
func (in *ListInput) holds(p Post) bool {
	return slices.Contains(in.statuses(), p.Status) && (in.Type == "" || p.Type == in.Type) && (in.Category == "" || p.Category == in.Category)
}

// before is the order of the sort, by what the posts are now.
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

// list answers an operator.
func list(ctx context.Context, c *api.Caller, in *ListInput) (*api.Items[PostItem], error) {
	posts, voted, err := storeOf(c).list(ctx, in)
	if err != nil {
		return nil, err
	}
	out := &api.Items[PostItem]{Items: make([]PostItem, len(posts))}
	for i, p := range posts {
		out.Items[i] = p.shown(voted[p.ID])
	}
	return out, nil
}

// List gives the platform the posts that an operator would be shown; Limit is
// at most table.Examined, and Mine is nobody's.
func List(ctx context.Context, db *table.DB, now time.Time, in ListInput) ([]Post, error) {
	posts, _, err := Store{Platform: db.Platform(Kinds...), Now: now}.list(ctx, &in)
	return posts, err
}

// list finds posts in two steps: which, by their rows (and for a search the
// folded texts beside them), then posts and votes in one batch. It examines at
// most table.Examined rows.
func (s Store) list(ctx context.Context, in *ListInput) (posts []Post, voted map[string]bool, err error) {
	var found []string
	var matches map[string]bool
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		found, err = s.candidates(gctx, in)
		return err
	})
	if in.Q != "" {
		group.Go(func() (err error) {
			matches, err = s.matching(gctx, in.Q, in.Category)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	wanted := make([]string, 0, in.Limit)
	seen := make(map[string]bool, in.Limit)
	for _, id := range found {
		if len(wanted) < in.Limit && !seen[id] && (in.Q == "" || matches[id]) {
			wanted, seen[id] = append(wanted, id), true
		}
	}
	return s.read(ctx, in, wanted)
}

// candidates gives posts in the list's order: the author's own from their index,
// else by the rows of the sort, the statuses merged.
func (s Store) candidates(ctx context.Context, in *ListInput) ([]string, error) {
	if in.Mine != "" {
		return s.own(ctx, in)
	}
	q := table.Query{Backward: true, Limit: in.Limit}
	if in.Q != "" {
		q.Limit = table.Examined
	}
	var partitions []string
	for _, status := range in.statuses() {
		partitions = append(partitions, rankPartition(Sort(in.Sort), status, in.Type, in.Category))
	}
	page, err := s.Platform.Merge(ctx, partitions, q)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(page.Items))
	for _, row := range page.Items {
		if row.Live(s.Now) {
			out = append(out, row.Text("post"))
		}
	}
	return out, nil
}

// own gives the operator's own posts: by-g2, the author's partition.
func (s Store) own(ctx context.Context, in *ListInput) ([]string, error) {
	page, err := s.Platform.Query(ctx, authorPartition(s.Person), table.Query{Index: byAuthor, Backward: true, Limit: table.Examined, Whole: true})
	if err != nil {
		return nil, err
	}
	posts := make([]Post, 0, len(page.Items))
	for _, it := range page.Items {
		p, err := FromItem(it)
		if err != nil {
			return nil, err
		}
		if in.holds(p) {
			posts = append(posts, p)
		}
	}
	slices.SortFunc(posts, in.before)
	out := make([]string, len(posts))
	for i, p := range posts {
		out[i] = p.ID
	}
	return out, nil
}

// textPages is how many pages of folded texts a search reads at most, a megabyte
// each: a thousand ordinary posts have two or three, and nobody's long ones can
// make everybody's searches slow.
const textPages = 8

// matching gives the posts in whose texts the query is found, among the newest
// table.Examined, of the category unless that is "".
func (s Store) matching(ctx context.Context, query, category string) (map[string]bool, error) {
	folded := search.Fold(query)
	out, after := map[string]bool{}, ""
	for left, pages := table.Examined, 0; left > 0 && pages < textPages; pages++ {
		page, err := s.Platform.Query(ctx, textPartition(category), table.Query{Backward: true, After: after, Limit: left})
		if err != nil {
			return nil, err
		}
		for _, it := range page.Items {
			var texts []string
			if err := it.Decode(&texts); err != nil {
				return nil, err
			}
			if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, folded) }) {
				out[it.SK] = true
			}
		}
		if !page.More || len(page.Items) == 0 {
			break
		}
		after, left = page.Last, left-len(page.Items)
	}
	return out, nil
}

// batchSize is how many posts go with their votes into one batch read.
const batchSize = 50

// read reads the posts and the caller's votes for them, and orders them by
// what they are now: rows may lag behind.
func (s Store) read(ctx context.Context, in *ListInput, wanted []string) (posts []Post, voted map[string]bool, err error) {
	chunks := slices.Collect(slices.Chunk(wanted, batchSize))
	read := make([][]table.Item, len(chunks))
	group, ctx := errgroup.WithContext(ctx)
	for i, chunk := range chunks {
		var keys []table.Key
		for _, id := range chunk {
			keys = append(keys, Key(id))
			if s.Person != "" {
				keys = append(keys, VoteKey(s.Tenant, id, s.Person))
			}
		}
		group.Go(func() (err error) {
			read[i], err = s.both().BatchEventual(ctx, keys...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	voted = map[string]bool{}
	for _, it := range slices.Concat(read...) {
		switch {
		case !it.Found():
		case it.Type == "vote":
			voted[it.SK] = true
		default:
			p, err := FromItem(it)
			if err != nil {
				return nil, nil, err
			}
			if in.holds(p) {
				posts = append(posts, p)
			}
		}
	}
	slices.SortFunc(posts, in.before)
	return posts, voted, nil
}
