package feedback_test

import (
	"fmt"
	"sync"
	"testing"

	"svc/pkg/data/table"
)

var queryAll = table.Query{Limit: 1000}

func together(n int, do func(i int)) {
	begin := make(chan struct{})
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			<-begin
			do(i)
		})
	}
	close(begin)
	group.Wait()
}

// The count equals the number of votes, even with concurrent votes and
// removals.
func TestRaceVotes(t *testing.T) {
	w := newRoadmap(t, 12)
	id := w.submit(0, "Dark map", "").ID
	path := "/api/v1/feedback/" + id + "/vote"
	together(60, func(i int) {
		method := "POST"
		if i%3 == 0 {
			method = "DELETE"
		}
		if a := w.Insist(method, path, w.tokens[i%12], ""); a.Status != 200 {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	if got, want := w.read(id, w.tokens[0]).VoteCount, w.votes(id); got != want {
		t.Errorf("count %d with %d votes", got, want)
	}
	together(12, func(i int) { w.Insist("POST", path, w.tokens[i], "") })
	together(12, func(i int) { w.Insist("POST", path, w.tokens[i], "") })
	if got, want := w.read(id, w.tokens[0]).VoteCount, w.votes(id); got != want {
		t.Errorf("count %d with %d votes", got, want)
	}
}

func TestRaceOneOperatorsVote(t *testing.T) {
	w := newRoadmap(t, 2)
	id := w.submit(0, "Dark map", "").ID
	together(20, func(int) { w.Insist("POST", "/api/v1/feedback/"+id+"/vote", w.tokens[1], "") })
	if got := w.read(id, w.tokens[1]); got.VoteCount != 2 || !got.HasVoted {
		t.Errorf("got %+v", got)
	}
}

func TestRaceSameTitles(t *testing.T) {
	w := newRoadmap(t, 1)
	slugs := sync.Map{}
	together(10, func(int) {
		a := w.Insist("POST", "/api/v1/feedback", w.tokens[0], `{"title":"Dark map","body":"b"}`)
		if a.Status != 201 {
			t.Errorf("got %d %s", a.Status, a.Body)
			return
		}
		var got struct{ Slug string }
		a.Decode(t, &got)
		if _, twice := slugs.LoadOrStore(got.Slug, true); twice {
			t.Errorf("slug %s twice", got.Slug)
		}
	})
}

func TestRaceSameKeyMakesOnePost(t *testing.T) {
	w := newRoadmap(t, 1)
	together(15, func(int) {
		if a := w.Insist("POST", "/api/v1/feedback", w.tokens[0], `{"title":"Dark map","body":"b"}`, "Idempotency-Key",
			"one"); a.Status != 201 {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	if got := w.find("mine=1"); len(got) != 1 {
		t.Errorf("%d posts", len(got))
	}
}

func TestRaceComments(t *testing.T) {
	w := newRoadmap(t, 1)
	id := w.submit(0, "Dark map", "").ID
	together(15, func(i int) {
		if a := w.Insist("POST", "/api/v1/feedback/"+id+"/comments", w.tokens[0],
			fmt.Sprintf(`{"body":"comment %d"}`, i)); a.Status != 201 {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	if got := w.read(id, w.tokens[0]); got.CommentCount != 15 || len(got.Comments) != 15 {
		t.Errorf("count %d, %d comments", got.CommentCount, len(got.Comments))
	}
}
