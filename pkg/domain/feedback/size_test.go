package feedback_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/base/codec"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/feedback"
)

// A post stays readable, whatever its comments contain. It shows the last
// comments that fit into the function's response, including the JSON escapes.
func TestLargestComments(t *testing.T) {
	testkit.LongHere(t)
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
		answer, err := codec.Marshal(map[string]string{"body": a.Body}) // as the gateway sends it
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
	testkit.LongHere(t)
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

// Many new posts, or many long comments, of a few people do not make the
// requests of others expensive.
func TestOthersPayLittle(t *testing.T) {
	testkit.LongHere(t)
	wire := &testkit.Wire{}
	w := over(t, testkit.TableOnWire(t, wire), 1)
	id := w.submit(0, "Dark map", "").ID
	var items []table.Item
	for i := range 1000 {
		p, texts, err := feedback.Draft{Title: strings.Repeat("道", 190), Body: "b"}.New(ids.New(ids.Person, now),
			w.tenant.ID(), now.Add(time.Duration(i)*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, feedback.Items(p, texts)...)
	}
	for i := range 400 {
		at := now.Add(time.Duration(i) * time.Second)
		items = append(items, feedback.CommentItem(id, ids.New(ids.Comment, at), w.people[0], w.tenant.ID(),
			strings.Repeat("\U0001f695", 10_000), timestamp.Format(at)))
	}
	if err := w.platform.Load(context.Background(), items...); err != nil {
		t.Fatal(err)
	}
	w.Advance(10 * time.Minute)
	wire.Rounds(true)
	for _, c := range []struct {
		path       string
		sequential int
		units      float64
	}{{"?limit=5", 2, 20}, {"?limit=1&status=PLANNED", 2, 20},
		{"/" + id, 5, 680}} { // five megabytes, and what an engine reads beyond each

		w.Want(200, nil, "GET", "/api/v1/feedback"+c.path, w.tokens[0], "")
		if u := w.Last().Usage; u.Sequential > c.sequential || u.ReadUnits > c.units {
			t.Errorf("%s: %d in sequence and %v units, want at most %d and %v", c.path, u.Sequential, u.ReadUnits,
				c.sequential, c.units)
		}
	}
}

// Long comments of one operator use up a quota of their own, so they leave room
// for those of others.
func TestQuotaOfCommentTexts(t *testing.T) {
	w := newRoadmap(t, 4)
	id := w.submit(0, "Dark map", "").ID
	long := `{"body":"` + strings.Repeat("\U0001f695", 9_900) + `"}`
	comment := func(token string) int {
		return w.Do("POST", "/api/v1/feedback/"+id+"/comments", token, long).Status
	}
	var counts []int
	for _, token := range append(w.tokens, w.foreign) {
		n := 0
		for ; comment(token) == 201; n++ {
			if n > 100 {
				t.Fatal("no bound")
			}
		}
		counts = append(counts, n)
	}
	if want := []int{6, 6, 1, 0, 6}; !slices.Equal(counts, want) {
		t.Errorf("comments of 39,600 bytes: %v, want %v", counts, want)
	}
	if a := w.Do("POST", "/api/v1/feedback/"+id+"/comments", w.tokens[2], `{"body":"short"}`); a.Status != 201 {
		t.Errorf("a short comment within the quota: %d %s", a.Status, a.Body)
	}
}
