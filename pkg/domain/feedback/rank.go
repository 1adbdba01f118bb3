package feedback

import (
	"fmt"
	"time"

	"svc/pkg/data/table"
)

// Sort is a sort order of the roadmap.
type Sort string

// The sorts. Among equal posts, the newer comes first.
const (
	ByVotes    Sort = "votes"
	Newest     Sort = "newest"
	ByComments Sort = "comments"
)

var sorts = []Sort{ByVotes, Newest, ByComments}

// rankPartition returns the partition with the rows of one sort and one status.
// A list reads it backward: the first post of the list has the last row. Each
// sort and status has one partition for all posts, one per type, one per category
// and one per pair of type and category. Therefore a list reads only what it
// shows, even if matches are rare. A list merges the partitions of its statuses.
// "" means any type or category.
func rankPartition(by Sort, status Status, kind, category string) string {
	return narrowed(platform.Partition("POSTS", string(by), string(status)), kind, category)
}

// narrowed returns the partition of a type or category within a partition. A
// category may contain any character, so it must be the last part.
func narrowed(partition, kind, category string) string {
	switch {
	case category != "":
		return partition + "#" + kind + "#" + category
	case kind != "":
		return partition + "#" + kind
	}
	return partition
}

var _ = table.Kind[any]{Type: "rank", Personal: "nothing"}

// rows returns the post's rank rows, one for each sort and each combination of
// filters. A row contains only the post's id. Lists show the post itself.
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
			partitions = append(partitions, rankPartition(by, p.Status, "", p.Category),
				rankPartition(by, p.Status, p.Type, p.Category))
		}
		for _, partition := range partitions {
			rows = append(rows, table.Item{Key: table.Key{PK: partition, SK: position}, Type: "rank",
				Attrs: map[string]any{"post": p.ID}})
		}
	}
	return rows
}

// RankRows returns the rank rows of a post's item, none if there is no post. It
// reads and writes nothing. After a change of a post, the projection puts these
// rows and deletes earlier ones that are not among them.
func RankRows(post table.Item) []table.Item {
	if !post.Found() {
		return nil
	}
	p := Post{ID: idOf(post), Type: post.Text("kind"), Status: Status(post.Text("status")),
		Category: post.Text("category"),
		Votes:    post.Int("voteCount"), Comments: post.Int("commentCount"), CreatedAt: post.Text("createdAt")}
	return p.rows()
}

// RankPartitions returns the partitions of the rank rows of a category, or of
// all posts for "".
func RankPartitions(category string) (out []string) {
	for _, by := range sorts {
		for _, status := range Statuses {
			for _, kind := range []string{"", Idea, Bug} {
				out = append(out, rankPartition(by, status, kind, category))
			}
		}
	}
	return out
}

// Counts maps each counter of a post's item to a range key prefix: the counter
// counts the items in the post's partition that have the prefix.
var Counts = map[string]string{"voteCount": votePrefix, "commentCount": commentPrefix}

// firstRanked is how long a list also finds a new post by its time of creation.
// The projection usually writes the post's rank rows within a second.
const firstRanked = time.Hour
