package feedback_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/pkg/feedback"
	"svc/pkg/ids"
	"svc/pkg/table"
	"svc/pkg/timestamp"
)

// A post stays readable whatever is commented: the last comments are shown as
// far as the answer of a function has room, with what JSON makes of their signs.
func TestLargestComments(t *testing.T) {
	for _, sign := range []string{"\u0001", "<"} {
		w := newRoadmap(t, 1)
		id := w.submit(0, "Dark map", "").ID
		var comments []table.Item
		for i := range 101 {
			at := now.Add(time.Duration(i) * time.Second)
			comments = append(comments, feedback.CommentItem(id, ids.New(ids.Comment, at), w.people[0], w.tenant.ID(),
				strings.Repeat(sign, 9_990)+strconv.Itoa(i), timestamp.Format(at)))
		}
		if err := w.platform.Load(context.Background(), comments...); err != nil {
			t.Fatal(err)
		}
		var post feedback.PostDetail
		a := w.Want(200, &post, "GET", "/api/v1/feedback/"+id, w.tokens[0], "")
		answer, err := json.Marshal(map[string]string{"body": a.Body})
		if err != nil {
			t.Fatal(err)
		}
		shown := post.Comments
		if len(answer) > 6_000_000 || len(shown) < 70 || !strings.HasSuffix(shown[len(shown)-1].Body, "100") {
			t.Errorf("%q: %d comments in an answer of %d bytes", sign, len(shown), len(answer))
		}
	}
}

// What a search reads does not grow with the length of the posts: it finds what
// the newest say.
func TestSearchOfLongPosts(t *testing.T) {
	w := newRoadmap(t, 1)
	long := strings.Repeat("\U0001f695", 9_990)
	var posts []table.Item
	for i := range 300 {
		p, texts, err := feedback.Draft{Title: "Long", Body: long + "word"}.New(w.people[0], w.tenant.ID(), now.Add(time.Duration(i)*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		posts = append(posts, slices.DeleteFunc(feedback.Items(p, texts), func(it table.Item) bool { return it.Type != "text" })...)
	}
	if err := w.platform.Load(context.Background(), posts...); err != nil {
		t.Fatal(err)
	}
	w.Advance(time.Hour)
	w.submit(0, "Short", "")
	if got := w.find("q=body+of+short"); !slices.Equal(got, []string{"Short"}) {
		t.Errorf("found %v", got)
	}
	if u := w.Last().Usage; u.Sequential > 12 || u.ReadUnits > 1300 {
		t.Errorf("a search of long posts takes %+v", u)
	}
}
