package feedback

import (
	"fmt"
	"time"

	"svc/pkg/table"
)

// Sort is an order of the roadmap.
type Sort string

// The sorts; of equals the newer comes first.
const (
	ByVotes    Sort = "votes"
	Newest     Sort = "newest"
	ByComments Sort = "comments"
)

var sorts = []Sort{ByVotes, Newest, ByComments}

// rankPartition holds the rows of one sort and one status, the first of the
// order last. Statuses are merged as a list asks for them.
func rankPartition(by Sort, status Status) string {
	return platform.Partition("POSTS", string(by), string(status))
}

// rows gives the post's rows, one for each sort. A row holds what lists filter
// by and names the post; counts and title come from the post itself.
func (p Post) rows() []table.Item {
	rows := make([]table.Item, len(sorts))
	for i, by := range sorts {
		position := p.CreatedAt + "#" + p.ID
		switch by {
		case ByVotes:
			position = fmt.Sprintf("%010d#%s", max(p.Votes, 0), position)
		case ByComments:
			position = fmt.Sprintf("%010d#%s", max(p.Comments, 0), position)
		}
		rows[i] = table.Item{Key: table.Key{PK: rankPartition(by, p.Status), SK: position}, Type: "rank",
			Attrs: map[string]any{"post": p.ID, "kind": p.Type}}
		if p.Category != "" {
			rows[i].Attrs["category"] = p.Category
		}
	}
	return rows
}

// RankRows gives the listing rows of a post's item, none where there is no
// post. It is pure: the projection keeps the rows in step with the post by
// putting these and deleting those of before that are not among them.
func RankRows(post table.Item) []table.Item {
	if !post.Found() {
		return nil
	}
	p := Post{ID: idOf(post), Type: post.Text("kind"), Status: Status(post.Text("status")), Category: post.Text("category"),
		Votes: post.Int("voteCount"), Comments: post.Int("commentCount"), CreatedAt: post.Text("createdAt")}
	return p.rows()
}

// firstRows is how long the rows last that a new post comes with. The
// projection puts lasting ones as soon as it sees the post; if the post has
// moved by then these are of no use and end by themselves.
const firstRows = time.Hour
