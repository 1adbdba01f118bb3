package feedback_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/feedback"
)

// written is a post with its texts, from which byHand computes a list.
type written struct {
	feedback.Post
	feedback.Texts
}

// write loads n posts of two people, the oldest with the most votes.
func (w *roadmap) write(n int) []written {
	w.t.Helper()
	var all []written
	var items []table.Item
	for i := range n {
		d := feedback.Draft{Title: fmt.Sprintf("Título %d", i), Body: fmt.Sprintf("Corpo n%d fim", i), Type: feedback.Idea}
		if i%3 == 0 {
			d.TitleEn, d.BodyEn = new(fmt.Sprintf("Title %d", i)), new(strings.Repeat("Straße ", i%5))
		}
		if i%7 == 0 {
			d.Type, d.Category = feedback.Bug, new("map")
		}
		p, texts, err := d.New(w.people[i%2], w.tenant.ID(), now.Add(time.Duration(i)*time.Second))
		if err != nil {
			w.t.Fatal(err)
		}
		p.Votes, p.Comments = int64(n-i), int64(i%13)
		p.Status = feedback.Statuses[i%11%5]
		all, items = append(all, written{p, texts}), append(items, feedback.Items(p, texts)...)
	}
	if err := w.platform.Load(context.Background(), items...); err != nil {
		w.t.Fatal(err)
	}
	return all
}

// byHand returns the titles that a list should show, computed from all posts.
func byHand(all []written, q, status, kind, category, sort, author string) []string {
	all = slices.Clone(all)
	all = slices.DeleteFunc(all, func(p written) bool {
		texts := []string{p.Title, p.TitleEn, p.Body}
		if p.BodyEn != nil {
			texts = append(texts, *p.BodyEn)
		}
		missing := slices.ContainsFunc(strings.Fields(plaintext.Fold(q)), func(word string) bool {
			return !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(plaintext.Fold(s), word) })
		})
		return missing ||
			(status == "" && !p.Status.Open()) || (status != "" && status != "ALL" && string(p.Status) != status) ||
			(kind != "" && p.Type != kind) || (category != "" && p.Category != category) ||
			(author != "" && p.Author != author)
	})
	slices.SortFunc(all, func(a, b written) int {
		switch {
		case sort == "votes" && a.Votes != b.Votes:
			return int(b.Votes - a.Votes)
		case sort == "comments" && a.Comments != b.Comments:
			return int(b.Comments - a.Comments)
		}
		return strings.Compare(b.CreatedAt, a.CreatedAt)
	})
	titles := []string{}
	for _, p := range all[:min(len(all), 50)] {
		titles = append(titles, p.Title)
	}
	return titles
}

// A search finds every post, including the oldest, with every other filter and
// in every order.
func TestSearchFindsEveryPost(t *testing.T) {
	testkit.Long(t)
	w := newRoadmap(t, 2)
	all := w.write(1200) // some searches match more than a thousand
	for _, q := range []string{"título", "n7 ", "TITLE 0", "strasse strasse", "corpo n1199 fim", "nowhere"} {
		for _, filter := range []struct{ status, kind, category string }{
			{}, {status: "ALL"}, {status: "REJECTED"}, {kind: "BUG"}, {category: "map", status: "ALL"},
		} {
			for _, sort := range []string{"votes", "newest", "comments"} {
				for _, mine := range []string{"", "1"} {
					if mine != "" && sort != "votes" {
						continue // the list sorts these in memory, as it does with few matches
					}
					query := url.Values{"q": {q}, "sort": {sort}}
					author := ""
					for name, value := range map[string]string{"status": filter.status, "type": filter.kind,
						"category": filter.category, "mine": mine} {
						if value != "" {
							query.Set(name, value)
						}
					}
					if mine != "" {
						author = w.people[0]
					}
					want := byHand(all, q, filter.status, filter.kind, filter.category, sort, author)
					if diff := cmp.Diff(want, w.find(query.Encode())); diff != "" {
						t.Fatalf("%s (-want +got):\n%s", query.Encode(), diff)
					}
				}
			}
		}
	}
}

// A search without a status filter does not find a rejected post. If the post
// gets another status, the search finds it again, even in a process that
// searched before.
func TestRejectedPostsLeaveTheSearch(t *testing.T) {
	w := newRoadmap(t, 1)
	id := w.submit(0, "Spam", "").ID
	check := func(step, query string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, w.find(query)); diff != "" {
			t.Errorf("%s: %s", step, diff)
		}
	}
	textRows := func() int {
		page, err := w.platform.Query(t.Context(), w.platform.Partition("POSTS", "text"), queryAll)
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Items)
	}
	move := func(status string) {
		t.Helper()
		w.Advance(time.Minute)
		if _, err := feedback.ChangeStatus(t.Context(), w.DB, audit.By{Who: "svc:test", At: w.Now()}, id,
			status); err != nil {
			t.Fatal(err)
		}
	}
	check("new", "q=body+of", "Spam")
	move("REJECTED")
	if check("rejected", "q=body+of", []string{}...); textRows() != 0 {
		t.Error("its texts are still read")
	}
	check("asked for", "q=body+of&status=REJECTED", "Spam")
	check("all", "q=body+of&status=ALL", "Spam")
	w.Advance(30 * time.Minute)
	move("PLANNED")
	check("planned", "q=body+of", "Spam")
	if restarted := over(t, w.DB, 1); len(restarted.find("q=body+of&status=PLANNED")) != 1 {
		t.Error("a new process does not find it")
	}
}

// One operator cannot fill the roadmap. All operators of one tenant cannot use
// up the quota of other tenants.
func TestQuotaOfPosts(t *testing.T) {
	testkit.Long(t)
	w := newRoadmap(t, 6)
	long := fmt.Sprintf(`,"bodyEn":%q`, strings.Repeat("\U0001f695", 9_900))
	submit := func(token string) int {
		return w.Do("POST", "/api/v1/feedback", token, `{"title":"T","body":"b"`+long+`}`).Status
	}
	fill := func(token string) (n int) {
		for submit(token) == 201 {
			if n++; n > 200 {
				t.Fatal("no bound")
			}
		}
		return n
	}
	if n := fill(w.tokens[0]); n != 26 {
		t.Errorf("one operator submitted %d posts of 40,000 bytes", n)
	}
	a := w.Do("POST", "/api/v1/feedback", w.tokens[0], `{"title":"T","body":"b"`+long+`}`)
	if a.Status != 429 || a.Header.Get("Retry-After") == "" {
		t.Errorf("beyond the quota: %d %s", a.Status, a.Body)
	}
	total := 0
	for _, token := range w.tokens[1:] {
		total += fill(token)
	}
	if total != 105-26 {
		t.Errorf("the others of the tenant submitted %d", total)
	}
	if submit(w.foreign) != 201 {
		t.Error("another tenant is refused")
	}
	w.Advance(24 * time.Hour)
	if submit(w.tokens[0]) != 201 {
		t.Error("refused the next day")
	}
}

// A hundred comments of one operator do not hide the comments of others.
func TestCommentsOfOneHideNoOthers(t *testing.T) {
	w := newRoadmap(t, 2)
	id := w.submit(0, "Dark map", "").ID
	comment := func(i int, text string) int {
		w.Advance(time.Second)
		return w.Do("POST", "/api/v1/feedback/"+id+"/comments", w.tokens[i], `{"body":"`+text+`"}`).Status
	}
	comment(1, "first")
	comment(1, "second")
	n := 0
	for comment(0, fmt.Sprint(n)) == 201 {
		if n++; n > 500 {
			t.Fatal("no bound")
		}
	}
	if n != 200 {
		t.Errorf("%d comments of one operator", n)
	}
	got := w.read(id, w.tokens[0]).Comments
	if len(got) != 100 || got[0].Body != "first" || got[1].Body != "second" || got[99].Body != "199" ||
		got[2].Body != "102" {
		t.Errorf("%d comments, %q, %q, %q", len(got), got[0].Body, got[1].Body, got[99].Body)
	}
	if comment(1, "third") != 201 {
		t.Error("another operator is refused")
	}
}

// An operator of two tenants has one vote.
func TestOneVotePerPerson(t *testing.T) {
	w := newRoadmap(t, 2)
	id := w.submit(0, "Dark map", "").ID
	elsewhere := w.Token(w.Tenant("EUR", 1), authz.Dashboard, w.people[1], "VIEW_FEEDBACK")
	for _, token := range []string{w.tokens[1], elsewhere} {
		var vote feedback.Vote
		w.Want(200, &vote, "POST", "/api/v1/feedback/"+id+"/vote", token, "")
		if vote.VoteCount != 2 || !w.read(id, token).HasVoted {
			t.Errorf("%+v", vote)
		}
	}
	var vote feedback.Vote
	w.Want(200, &vote, "DELETE", "/api/v1/feedback/"+id+"/vote", elsewhere, "")
	if vote.VoteCount != 1 || w.read(id, w.tokens[1]).HasVoted {
		t.Errorf("vote withdrawn in another tenant: %+v", vote)
	}
}

func TestDelete(t *testing.T) {
	w := newRoadmap(t, 2)
	post := w.submit(0, "Dark map", "")
	path := "/api/v1/feedback/" + post.ID
	w.Want(200, nil, "POST", path+"/vote", w.tokens[1], "")
	for i := range 120 {
		w.Want(201, nil, "POST", path+"/comments", w.tokens[i%2], `{"body":"b"}`)
	}
	by := audit.By{Who: "svc:test", At: w.Now()}
	if _, err := feedback.Delete(t.Context(), w.DB, by, post.Slug); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, "/api/v1/feedback/" + post.Slug} {
		w.Want(404, nil, "GET", p, w.tokens[0], "")
	}
	if got := append(w.find("q=body+of"), w.find("")...); len(got) != 0 {
		t.Errorf("still listed: %v", got)
	}
	for _, pk := range []string{feedback.Key(post.ID).PK, w.platform.Partition("POSTS", "text")} {
		if page, err := w.platform.Query(t.Context(), pk, queryAll); err != nil || len(page.Items) > 0 {
			t.Errorf("%s: %d items left, %v", pk, len(page.Items), err)
		}
	}
	if again := w.submit(0, "Dark map", ""); again.Slug != "dark-map" {
		t.Errorf("its slug is kept: %s", again.Slug)
	}
	entries, _, err := audit.List(t.Context(), w.tenant, "", 10)
	if err != nil || len(entries) != 1 || entries[0].What != "feedback.delete" {
		t.Errorf("audit log: %+v, %v", entries, err)
	}
	if _, err := feedback.Delete(t.Context(), w.DB, by, post.ID); err == nil {
		t.Error("deleted twice")
	}
}

// The projection removes the rank rows of a deleted post, so the rows do not
// shorten a list.
func TestDeletedPostsDoNotShortenLists(t *testing.T) {
	w := newRoadmap(t, 2)
	kept, gone := w.submit(0, "Kept", ""), w.submit(0, "Gone", "")
	w.project(kept.ID)
	w.project(gone.ID)
	_, err := feedback.Delete(t.Context(), w.DB, audit.By{Who: "svc:test", At: w.Now()}, gone.Slug)
	testkit.Must(t, err)
	w.project(gone.ID)
	if got := w.find("sort=newest&limit=1"); len(got) != 1 || got[0] != "Kept" {
		t.Errorf("the first of the roadmap: %v", got)
	}
}

// A new status keeps what a newer build has stored with the post.
func TestNewerBuildsDataSurvives(t *testing.T) {
	w := newRoadmap(t, 1)
	id := w.submit(0, "Dark map", "").ID
	tx := w.platform.Write()
	tx.Update(feedback.Key(id), table.Change{Set: map[string]any{"newer": "attribute"}})
	testkit.Must(t, tx.Commit(t.Context()))
	_, err := feedback.ChangeStatus(t.Context(), w.DB, audit.By{Who: "svc:test", At: now}, id, "PLANNED")
	testkit.Must(t, err)
	it, err := w.platform.Get(t.Context(), feedback.Key(id))
	testkit.Must(t, err)
	if it.Text("status") != "PLANNED" || it.Text("newer") != "attribute" {
		t.Errorf("status %q, newer %q", it.Text("status"), it.Text("newer"))
	}
}
