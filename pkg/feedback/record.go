package feedback

import (
	"fmt"
	"slices"
	"strings"

	"svc/pkg/search"
	"svc/pkg/table"
)

// Kinds are the kinds of platform data that the roadmap is kept in; a handle
// for it is db.Platform(Kinds...).
var Kinds = []string{"POST", "POSTS"}

// platform makes keys alone; it reaches no table.
var platform table.Platform

// Key is the key of a post.
func Key(id string) table.Key { return platform.Key("POST", "POST", id) }

func bodyKey(id string) table.Key { return platform.Key("BODY", "POST", id) }

// slugKey is the key of the row that leads from a slug to its post; its being
// created alone makes the slug unique.
func slugKey(slug string) table.Key { return platform.Key("SLUG", "POST", "SLUG", slug) }

const commentPrefix = "COMMENT#"

func commentKey(post, at, id string) table.Key {
	return platform.Key(commentPrefix+at+"#"+id, "POST", post)
}

// VoteKey is the key of a person's vote, in the tenant of the membership that
// cast it.
func VoteKey(t table.Tenant, post, person string) table.Key { return t.Key(post, "VOTES", person) }

// textPartition holds the folded texts that search reads, one row a post: of
// all posts, and again of each category.
func textPartition(category string) string {
	return narrowed(platform.Partition("POSTS", "text"), "", category)
}

// texts gives the post's rows for search.
func texts(p Post, t Texts) []table.Item {
	folded := make([]string, 0, 4)
	for _, text := range []string{p.Title, p.TitleEn, t.Body, value(t.BodyEn)} {
		if text != "" {
			folded = append(folded, search.Fold(text))
		}
	}
	rows := []table.Item{{Key: table.Key{PK: textPartition(""), SK: p.ID}, Type: "text", Doc: folded}}
	if p.Category != "" {
		rows = append(rows, table.Item{Key: table.Key{PK: textPartition(p.Category), SK: p.ID}, Type: "text", Doc: folded})
	}
	return rows
}

// AllPartition is where by-g1 has every post, by creation: what a rebuild of
// the rank rows goes through.
const AllPartition = "POSTS#all"

// authorPartition is where by-g2 has a person's own posts, by creation.
func authorPartition(person string) string { return platform.Partition("POSTS", "author", person) }

const byAuthor = 2

// document is what an item's doc holds of a post; the rest are attributes, for
// rank rows are computed of them and votes change them in place.
type document struct {
	Slug      string `json:"slug"`
	Title     string `json:"title"`
	TitleEn   string `json:"titleEn,omitempty"`
	UpdatedAt string `json:"updatedAt"`
}

// Item is the post as it is kept.
func (p Post) Item() table.Item {
	it := table.Item{Key: Key(p.ID), Type: "post", Version: p.Version, R: p.CreatedAt + "#" + p.ID,
		G: [4]string{AllPartition, authorPartition(p.Author)},
		Attrs: map[string]any{"status": string(p.Status), "kind": p.Type, "createdAt": p.CreatedAt, "author": p.Author, "authorTenant": p.Tenant,
			"voteCount": p.Votes, "commentCount": p.Comments},
		Doc: document{p.Slug, p.Title, p.TitleEn, p.UpdatedAt}}
	if p.Category != "" {
		it.Attrs["category"] = p.Category
	}
	return it
}

// FromItem reads a post from its item.
func FromItem(it table.Item) (Post, error) {
	var d document
	if err := it.Decode(&d); err != nil {
		return Post{}, fmt.Errorf("post: %w", err)
	}
	return Post{ID: idOf(it), Slug: d.Slug, Type: it.Text("kind"), Status: Status(it.Text("status")), Category: it.Text("category"),
		Title: d.Title, TitleEn: d.TitleEn, Votes: it.Int("voteCount"), Comments: it.Int("commentCount"), CreatedAt: it.Text("createdAt"),
		UpdatedAt: d.UpdatedAt, Author: it.Text("author"), Tenant: it.Text("authorTenant"), Version: it.Version}, nil
}

func idOf(it table.Item) string { return strings.TrimPrefix(it.PK, "POST#") }

// Items gives everything that a new post consists of but its author's vote:
// itself, its body, its slug, its texts for search and its rank rows.
func Items(p Post, t Texts) []table.Item {
	return slices.Concat([]table.Item{
		p.Item(),
		{Key: bodyKey(p.ID), Type: "body", Doc: t},
		{Key: slugKey(p.Slug), Type: "slug", Attrs: map[string]any{"post": p.ID}},
	}, texts(p, t), p.rows())
}

// VoteItem is a vote as it is kept.
func VoteItem(t table.Tenant, post, person, at string) table.Item {
	return table.Item{Key: VoteKey(t, post, person), Type: "vote", Attrs: map[string]any{"at": at}}
}

// comment is the document of a comment.
type comment struct {
	ID        string `json:"id"`
	Body      string `json:"body"`
	CreatedAt string `json:"createdAt"`
}

// CommentItem is a comment as it is kept.
func CommentItem(post, id, person, tenant, body, at string) table.Item {
	return table.Item{Key: commentKey(post, at, id), Type: "comment", Attrs: map[string]any{"author": person, "authorTenant": tenant},
		Doc: comment{id, body, at}}
}
