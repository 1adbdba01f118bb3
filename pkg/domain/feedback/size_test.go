package feedback_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/feedback"
	"svc/pkg/local/testkit"
)

// A post stays readable, whatever its comments contain. It shows the last
// comments that fit into the function's response, including the JSON escapes.
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

// A process reads all texts once. The read units of a later search do not grow
// with the number or the length of the posts.
func TestSearchOfLongPosts(t *testing.T) {
	wire := &testkit.Wire{}
	w := over(t, testkit.TableOnWire(t, wire), 1)
	long := strings.Repeat("\U0001f695", 9_990)
	var posts []table.Item
	for i := range 300 {
		p, texts, err := feedback.Draft{Title: "Long", Body: long + "word"}.New(w.people[0], w.tenant.ID(),
			now.Add(time.Duration(i)*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		posts = append(posts, slices.DeleteFunc(feedback.Items(p, texts),
			func(it table.Item) bool { return it.Type != "text" })...)
	}
	if err := w.platform.Load(context.Background(), posts...); err != nil {
		t.Fatal(err)
	}
	w.find("q=word")
	w.Advance(time.Hour)
	w.submit(0, "Short", "")
	w.find("q=word") // the first search after an hour reads all texts again
	w.Advance(time.Minute)
	wire.Rounds(true)
	if got := w.find("q=body+of+short"); !slices.Equal(got, []string{"Short"}) {
		t.Errorf("found %v", got)
	}
	if u := w.Last().Usage; u.Sequential > 2 || u.ReadUnits > 12 {
		t.Errorf("a search of long posts takes %+v", u)
	}
}
