package feedback

import (
	"fmt"
	"time"

	"svc/pkg/data/table"
)

// Sort is a sort order of the roadmap.
type Sort string

// The sort orders. Among posts with equal counts, the newer comes first.
const (
	ByVotes    Sort = "votes"
	Newest     Sort = "newest"
	ByComments Sort = "comments"
)

// sorts lists all sort orders.
var sorts = []Sort{ByVotes, Newest, ByComments}

// rankPartition returns the partition with the rank rows of one sort and one status. A rank
// row is an item that names one post. Its range key is the post's position in the sort. A
// list reads the partition backward: the first post of the list has the last row.
//
// Each sort and status has one partition for all posts, one per type (kind), one per
// category and one per pair of both; "" means any type or category. Therefore a list
// reads only what it shows, even if matches are rare. A list merges the partitions of its
// statuses.
func rankPartition(by Sort, status Status, kind, category string) string {
	return narrowed(platform.Partition("POSTS", string(by), string(status)), kind, category)
}

// narrowed appends a type (kind) and a category, unless they are "", to the name of a
// partition. A category may contain any character, so it must be the last part.
func narrowed(partition, kind, category string) string {
	switch {
	case category != "":
		return partition + "#" + kind + "#" + category
	case kind != "":
		return partition + "#" + kind
	}
	return partition
}

// The declaration of rank rows (table.Kind).
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

// RankRows returns the rank rows that a post must have, computed from the post's item. It
// returns none if there is no post. After a change of a post, the projection writes these
// rows and deletes the post's other rank rows.
func RankRows(post table.Item) []table.Item {
	if !post.Found() {
		return nil
	}
	p := Post{ID: idOf(post), Type: post.Text("kind"), Status: Status(post.Text("status")),
		Category: post.Text("category"),
		Votes:    post.Int("voteCount"), Comments: post.Int("commentCount"), CreatedAt: post.Text("createdAt")}
	return p.rows()
}

// RankPartitions returns all partitions of rank rows (rankPartition) for the category. For
// "", it returns the partitions for any category.
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

// Counts maps the name of each counter of a post's item to a prefix of range keys. The
// counter's value is the number of items with that prefix in the post's partition.
var Counts = map[string]string{"voteCount": votePrefix, "commentCount": commentPrefix}

// firstRanked is how long after its creation a list also finds a post without rank rows
// (Store.unranked). The projection usually writes the rows within a second.
const firstRanked = time.Hour
