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
// order last: of all posts, and again of each type, each category and each pair
// of them, so that a list reads what it shows however rare that is. Statuses
// are merged as a list asks for them. "" is any type, any category.
func rankPartition(by Sort, status Status, kind, category string) string {
	return narrowed(platform.Partition("POSTS", string(by), string(status)), kind, category)
}

// narrowed is the partition of a type or category within another. A category
// may hold any character, so it stands last.
func narrowed(partition, kind, category string) string {
	switch {
	case category != "":
		return partition + "#" + kind + "#" + category
	case kind != "":
		return partition + "#" + kind
	}
	return partition
}

// rows gives the post's rows, for each sort and each way to narrow a list down.
// A row only names the post; what is shown comes from the post itself.
func (p Post) rows() []table.Item {
	var rows []table.Item
	for _, by := range sorts {
		position := p.CreatedAt + "#" + p.ID
		switch by {
		case ByVotes:
			position = fmt.Sprintf("%010d#%s", max(p.Votes, 0), position)
		case ByComments:
			position = fmt.Sprintf("%010d#%s", max(p.Comments, 0), position)
		}
		partitions := []string{rankPartition(by, p.Status, "", ""), rankPartition(by, p.Status, p.Type, "")}
		if p.Category != "" {
			partitions = append(partitions, rankPartition(by, p.Status, "", p.Category), rankPartition(by, p.Status, p.Type, p.Category))
		}
		for _, partition := range partitions {
			rows = append(rows, table.Item{Key: table.Key{PK: partition, SK: position}, Type: "rank", Attrs: map[string]any{"post": p.ID}})
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
