package feedback

import (
	"cmp"
	"fmt"
	"strings"

	"svc/pkg/base/codec"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/table"
)

// Kinds are the prefixes of the keys of the roadmap's items. db.Platform(Kinds...) returns
// a handle for them.
var Kinds = []string{"POST", "POSTS"}

// platform builds the keys of items that belong to no tenant. It has no
// connection to a table.
var platform table.Platform

// Key returns the key of a post.
func Key(id string) table.Key { return platform.Key("POST", id, "POST") }

// bodyKey returns the key of the item with a post's long texts (Texts).
func bodyKey(id string) table.Key { return platform.Key("POST", id, "BODY") }

// slugKey returns the key of the item that maps a slug, in any letter case, to its post. A
// slug is unique because Submit writes the item on the condition that it does not exist.
func slugKey(slug string) table.Key {
	return platform.Key("POST", "SLUG", strings.ToLower(slug), "SLUG")
}

// commentPrefix begins the range key of each comment of a post.
const commentPrefix = "COMMENT#"

// commentKey returns the key of a comment. at is the time when it was written, so the keys
// of a post's comments are in the order of time.
func commentKey(post, at, id string) table.Key {
	return platform.Key("POST", post, commentPrefix+at+"#"+id)
}

// VoteKey returns the key of a person's vote for a post. A person has one vote,
// however many tenants the person is a member of.
func VoteKey(post, person string) table.Key { return platform.Key("POST", post, votePrefix+person) }

// votePrefix begins the range key of each vote for a post.
const votePrefix = "VOTE#"

// textPartition returns the partition of the search rows. A search row is an item with the
// folded texts of one post (plaintext.Fold). Rejected posts have a partition of their own,
// which only a search for rejected posts reads. The range key begins with the time when
// the row was written, so a search can read only the new rows (texts.update).
func textPartition(status Status) string {
	if status == Rejected {
		return platform.Partition("POSTS", "text", string(Rejected))
	}
	return platform.Partition("POSTS", "text")
}

// textKey returns the key of the post's search row.
func (p Post) textKey() table.Key {
	return table.Key{PK: textPartition(p.Status), SK: cmp.Or(p.TextAt, p.ID)}
}

// The declaration of search rows (table.Kind).
var _ = table.Kind[any]{Type: "text", Personal: "nothing"}

// textItem returns the post's search row.
func textItem(p Post, t Texts) table.Item {
	return table.Item{Key: p.textKey(), Type: "text", Attrs: map[string]any{"post": p.ID}, Doc: foldedTexts(p, t)}
}

// postOfText returns the post id of a search row.
func postOfText(row table.Item) string { return cmp.Or(row.Text("post"), row.SK) }

// foldedTexts returns the folded texts that a search examines: title and body, each also
// in English if there is an English one.
func foldedTexts(p Post, t Texts) []string {
	all := make([]string, 0, 4)
	for _, text := range []string{p.Title, p.TitleEn, t.Body, codec.OrZero(t.BodyEn)} {
		if text != "" {
			all = append(all, plaintext.Fold(text))
		}
	}
	return all
}

// AllPartition is the partition of by-g1 with every post, by creation. Lists read
// its newest posts (Store.unranked), and a rebuild of the rank rows reads all.
const AllPartition = "POSTS#all"

// byCreation is the index of AllPartition.
const byCreation = 1

// authorPartition returns the partition of by-g2 with a person's own posts, by
// creation.
func authorPartition(person string) string { return platform.Partition("POSTS", "author", person) }

// byAuthor is the index of authorPartition.
const byAuthor = 2

// document is the attribute doc of a post's item. The other fields of a Post are
// attributes of their own: rank rows are computed from them, and a vote changes one of
// them without a rewrite of the item.
type document struct {
	Slug      string `json:"slug"`
	Title     string `json:"title"`
	TitleEn   string `json:"titleEn,omitempty"`
	UpdatedAt string `json:"updatedAt"`
	TextAt    string `json:"textAt,omitempty"`
}

// The declaration of the items at Key (table.Kind).
var _ = table.Kind[any]{Type: "post", Personal: "nothing"}

// Item returns the stored form of the post.
func (p Post) Item() table.Item {
	it := table.Item{Key: Key(p.ID), Type: "post", Version: p.Version, R: p.CreatedAt + "#" + p.ID,
		G: [4]string{AllPartition, authorPartition(p.Author)},
		Attrs: map[string]any{"status": string(p.Status), "kind": p.Type, "createdAt": p.CreatedAt, "author": p.Author,
			"authorTenant": p.Tenant, "voteCount": p.Votes, "commentCount": p.Comments},
		Doc: document{p.Slug, p.Title, p.TitleEn, p.UpdatedAt, p.TextAt}}
	if p.Category != "" {
		it.Attrs["category"] = p.Category
	}
	return it
}

// FromItem decodes a post from its item.
func FromItem(it table.Item) (Post, error) {
	var d document
	if err := it.Decode(&d); err != nil {
		return Post{}, fmt.Errorf("post: %w", err)
	}
	return Post{ID: idOf(it), Slug: d.Slug, Type: it.Text("kind"), Status: Status(it.Text("status")),
		Category: it.Text("category"),
		Title:    d.Title, TitleEn: d.TitleEn, Votes: it.Int("voteCount"), Comments: it.Int("commentCount"),
		CreatedAt: it.Text("createdAt"),
		UpdatedAt: d.UpdatedAt, Author: it.Text("author"), Tenant: it.Text("authorTenant"), TextAt: d.TextAt,
		Version: it.Version}, nil
}

// idOf returns the post's id from an item of the post's partition.
func idOf(it table.Item) string { return strings.TrimPrefix(it.PK, "POST#") }

// Items returns all items of a post except votes and comments: the post, its long texts,
// its slug, its search row and its rank rows.
func Items(p Post, t Texts) []table.Item { return append(items(p, t), p.rows()...) }

// The declaration of the items with long texts (table.Kind).
var _ = table.Kind[any]{Type: "body", Personal: "nothing"}

// items returns the items that Submit writes for a new post, except the author's vote: the
// post, its long texts, its slug and its search row.
func items(p Post, t Texts) []table.Item {
	return []table.Item{
		p.Item(),
		{Key: bodyKey(p.ID), Type: "body", Doc: t},
		{Key: slugKey(p.Slug), Type: "slug", Attrs: map[string]any{"post": p.ID}},
		textItem(p, t),
	}
}

// The declaration of the items that hold votes (table.Kind).
var _ = table.Kind[any]{Type: "vote", Personal: "nothing", Once: "a vote is created or deleted"}

// VoteItem returns the stored form of a person's vote for a post. at is the time of the vote.
func VoteItem(post, person, at string) table.Item {
	return table.Item{Key: VoteKey(post, person), Type: "vote", Attrs: map[string]any{"at": at}}
}

// comment is the attribute doc of a comment's item.
type comment struct {
	ID        string `json:"id"`
	Body      string `json:"body"`
	CreatedAt string `json:"createdAt"`
}

// The declaration of the items that hold comments (table.Kind).
var _ = table.Kind[any]{Type: "comment", Personal: "nothing", Once: "comments are not edited"}

// CommentItem returns the stored form of the comment with the id. post, person and tenant
// are ids; the person wrote the text body at the time at.
func CommentItem(post, id, person, tenant, body, at string) table.Item {
	return table.Item{Key: commentKey(post, at, id), Type: "comment",
		Attrs: map[string]any{"author": person, "authorTenant": tenant}, Doc: comment{id, body, at}}
}
