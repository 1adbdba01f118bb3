package feedback_test

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/feedback"
	"svc/pkg/edge/api"
)

func TestSubmitAndRead(t *testing.T) {
	w := newRoadmap(t, 2)
	made := w.submit(0, "Mapa escuro",
		`,"type":"BUG","titleEn":"Dark map","bodyEn":"Too bright","category":"dispatch","bug":{"platform":"WEB",`+
			`"appVersion":"4.2"}`)
	if !made.HasVoted || made.VoteCount != 1 || !made.IsMine || made.Status != feedback.UnderReview ||
		made.Slug != "dark-map" || made.Comments == nil {
		t.Errorf("got %+v", made)
	}
	if diff := cmp.Diff(made, w.read(made.ID, w.tokens[0])); diff != "" {
		t.Errorf("by id (-made +read):\n%s", diff)
	}
	for _, slug := range []string{made.Slug, strings.ToUpper(made.Slug), "Dark-Map"} {
		if diff := cmp.Diff(made, w.read(slug, w.tokens[0])); diff != "" {
			t.Errorf("by slug %s (-made +read):\n%s", slug, diff)
		}
	}
	other := w.read(made.ID, w.foreign)
	if other.HasVoted || other.IsMine || other.VoteCount != 1 {
		t.Errorf("another tenant's operator: %+v", other)
	}
	a := w.Want(200, nil, "GET", "/api/v1/feedback/"+made.ID, w.foreign, "")
	if strings.Contains(a.Body, w.people[0]) || strings.Contains(a.Body, w.tenant.ID()) ||
		strings.Contains(strings.ToLower(a.Body), "author") {
		t.Errorf("author or tenant is shown: %s", a.Body)
	}
	if second := w.submit(1, "Dark map", ""); second.Slug == made.Slug || !strings.HasPrefix(second.Slug, "dark-map-") {
		t.Errorf("second slug %q", second.Slug)
	}
}

// A post with details of a bug is a BUG, unless its type says otherwise.
func TestBugImpliesType(t *testing.T) {
	w := newRoadmap(t, 1)
	for rest, want := range map[string]string{``: "IDEA", `,"bug":null`: "IDEA", `,"bug":{"platform":"IOS"}`: "BUG",
		`,"type":"BUG"`: "BUG", `,"type":"BUG","bug":{}`: "BUG", `,"type":"IDEA"`: "IDEA"} {
		a := w.Do("POST", "/api/v1/feedback", w.tokens[0], `{"title":"t","body":"b"`+rest+`}`)
		if a.Status != 201 || !strings.Contains(a.Body, `"type":"`+want+`"`) {
			t.Errorf("%s: %d %s, want %s", rest, a.Status, a.Body, want)
		}
	}
}

func TestSubmitRefuses(t *testing.T) {
	w := newRoadmap(t, 1)
	for body, field := range map[string]string{
		`{"body":"b"}`: "body.title", `{"title":"t"}`: "body.body", `{"title":" ","body":"b"}`: "body.title",
		`{"title":"` + strings.Repeat("t", 201) + `","body":"b"}`:         "body.title",
		`{"title":"t","body":"` + strings.Repeat("b", 10001) + `"}`:       "body.body",
		`{"title":"t","body":"b","type":"WISH"}`:                          "body.type",
		`{"title":"t","body":"b","type":"IDEA","bug":{}}`:                 "body.bug",
		`{"title":"t","body":"b","type":"BUG","bug":{"platform":"LYNX"}}`: "body.bug.platform",
		`{"title":"t","body":"b","author":"me"}`:                          "body.author",
	} {
		if a := w.Do("POST", "/api/v1/feedback", w.tokens[0], body); a.Status != 400 ||
			!strings.Contains(a.Body, `"field":"`+field+`"`) {
			t.Errorf("%.60s: got %d %s, want 400 on %s", body, a.Status, a.Body, field)
		}
	}
}

func TestVotes(t *testing.T) {
	w := newRoadmap(t, 2)
	id := w.submit(0, "Dark map", "").ID
	for _, tc := range []struct {
		name, method, token string
		want                feedback.Vote
	}{
		{"the author's is there", "POST", w.tokens[0], feedback.Vote{ID: id, HasVoted: true, VoteCount: 1}},
		{"another's", "POST", w.tokens[1], feedback.Vote{ID: id, HasVoted: true, VoteCount: 2}},
		{"another's again", "POST", w.tokens[1], feedback.Vote{ID: id, HasVoted: true, VoteCount: 2}},
		{"another tenant's", "POST", w.foreign, feedback.Vote{ID: id, HasVoted: true, VoteCount: 3}},
		{"vote withdrawn", "DELETE", w.tokens[1], feedback.Vote{ID: id, HasVoted: false, VoteCount: 2}},
		{"vote withdrawn again", "DELETE", w.tokens[1], feedback.Vote{ID: id, HasVoted: false, VoteCount: 2}},
		{"the author's vote withdrawn", "DELETE", w.tokens[0], feedback.Vote{ID: id, HasVoted: false, VoteCount: 1}},
	} {
		var got feedback.Vote
		w.Want(200, &got, tc.method, "/api/v1/feedback/"+id+"/vote", tc.token, "")
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
	if a := w.Want(200, nil, "POST", "/api/v1/feedback/dark-map/vote", w.tokens[1], "", "Idempotency-Key",
		"k"); a.Header.Get("Idempotent-Replayed") != "" {
		t.Error("the first answer is a replay")
	}
	if a := w.Want(200, nil, "POST", "/api/v1/feedback/dark-map/vote", w.tokens[1], "", "Idempotency-Key",
		"k"); a.Header.Get("Idempotent-Replayed") != "true" {
		t.Error("the second answer is no replay")
	}
}

func TestComments(t *testing.T) {
	w := newRoadmap(t, 2)
	id := w.submit(0, "Dark map", "").ID
	for i, text := range []string{"We need it", "So do we"} {
		sent := text + "\ufe00\U000e0041" // invisible characters, which can hide instructions to agents
		w.Advance(time.Second)
		var got feedback.Comment
		w.Want(201, &got, "POST", "/api/v1/feedback/"+id+"/comments", w.tokens[i], `{"body":"`+sent+`"}`)
		if !got.IsMine || got.Body != text || !ids.Valid(ids.Comment, got.ID) {
			t.Errorf("got %+v", got)
		}
	}
	seen := w.read(id, w.tokens[0])
	if len(seen.Comments) != 2 || seen.CommentCount != 2 || !seen.Comments[0].IsMine || seen.Comments[1].IsMine ||
		seen.Comments[1].Body != "So do we" {
		t.Errorf("got %+v", seen)
	}
	for _, body := range []string{``, `{}`, `{"body":" "}`, `{"body":"` + strings.Repeat("b", 10001) + `"}`} {
		if a := w.Do("POST", "/api/v1/feedback/"+id+"/comments", w.tokens[0], body); a.Status != 400 {
			t.Errorf("%.20q: got %d %s", body, a.Status, a.Body)
		}
	}
}

// The last hundred comments are shown, whatever their length.
func TestLongComments(t *testing.T) {
	w := newRoadmap(t, 1)
	id, long := w.submit(0, "Dark map", "").ID, strings.Repeat("ü", 10000)
	for i := range 101 {
		at := timestamp.Format(now.Add(time.Duration(i) * time.Second))
		it := feedback.CommentItem(id, ids.New(ids.Comment, now), "usr_1", "ten_1", strconv.Itoa(i)+long, at)
		if err := w.DB.Platform(feedback.Kinds...).Load(t.Context(), it); err != nil {
			t.Fatal(err)
		}
	}
	if seen := w.read(id, w.tokens[0]).Comments; len(seen) != 100 || !strings.HasPrefix(seen[0].Body, "1ü") ||
		!strings.HasPrefix(seen[99].Body, "100ü") {
		t.Errorf("%d comments are shown", len(seen))
	}
}

func TestAbsentPosts(t *testing.T) {
	w := newRoadmap(t, 1)
	for _, name := range []string{ids.New(ids.Post, now), "no-such-slug", "pst_1", "trp_01JT7M4C6Q8V2N5X9B3D1F7H0K",
		"A%23B", strings.Repeat("a", 3000)} {
		for _, path := range []string{"GET ", "POST /vote", "DELETE /vote", "POST /comments"} {
			method, rest, _ := strings.Cut(path, " ")
			body := ""
			if rest == "/comments" {
				body = `{"body":"b"}`
			}
			if a := w.Do(method, "/api/v1/feedback/"+name+rest, w.tokens[0], body); a.Status != 404 {
				t.Errorf("%s %.40s%s: got %d %s", method, name, rest, a.Status, a.Body)
			}
		}
	}
}

var now = apitest.Start

func TestStatusChanges(t *testing.T) {
	w := newRoadmap(t, 2)
	id := w.submit(0, "Dark map", "").ID
	by := audit.By{Who: "svc:robin", At: now.Add(time.Hour)}
	for _, status := range []string{"planned", "COMPLETED"} {
		if _, err := feedback.ChangeStatus(context.Background(), w.DB, by, "dark-map", status); err != nil {
			t.Fatal(err)
		}
		w.project(id)
	}
	got := w.read(id, w.tokens[0])
	if got.Status != feedback.Completed || got.VoteCount != 1 || got.UpdatedAt != "2026-03-01T13:00:00.000Z" {
		t.Errorf("got %+v", got)
	}
	for _, path := range []string{"POST /vote", "DELETE /vote", "POST /comments"} {
		method, rest, _ := strings.Cut(path, " ")
		body := ""
		if rest == "/comments" {
			body = `{"body":"b"}`
		}
		if a := w.Do(method, "/api/v1/feedback/"+id+rest, w.tokens[0], body); a.Status != 409 || a.Code() != "invalid_state" {
			t.Errorf("%s: got %d %s", path, a.Status, a.Body)
		}
	}
	entries, _, err := audit.List(context.Background(), w.tenant, "", 10)
	if err != nil || len(entries) != 2 || entries[0].What != "feedback.status" {
		t.Errorf("audit log: %+v, %v", entries, err)
	}
	if diff := cmp.Diff([]string{}, w.find("")); diff != "" {
		t.Errorf("roadmap-ready:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Dark map"}, w.find("status=ALL")); diff != "" {
		t.Errorf("all:\n%s", diff)
	}
	if _, err := feedback.ChangeStatus(context.Background(), w.DB, by, id, "DONE"); err == nil {
		t.Error("a status that does not exist was accepted")
	}
}

func TestSearch(t *testing.T) {
	w := newRoadmap(t, 3)
	submit := func(person int, title, extra string, voters ...int) {
		id := w.submit(person, title, extra).ID
		for _, i := range voters {
			w.Want(200, nil, "POST", "/api/v1/feedback/"+id+"/vote", w.tokens[i], "")
		}
		w.project(id)
	}
	submit(0, "Nachtmodus für die Straße", `,"titleEn":"Night mode","bodyEn":"The map is too bright","category":"map"`, 1,
		2)
	submit(1, "Export trips as CSV", `,"category":"reports"`, 2)
	submit(0, "GPS drifts in tunnels", `,"type":"BUG","category":"map"`)
	submit(2, "Receipts by mail", "")
	for _, tc := range []struct {
		query string
		want  []string
	}{
		{"", []string{"Nachtmodus für die Straße", "Export trips as CSV", "Receipts by mail", "GPS drifts in tunnels"}},
		{"sort=newest", []string{"Receipts by mail", "GPS drifts in tunnels", "Export trips as CSV",
			"Nachtmodus für die Straße"}},
		{"limit=2", []string{"Nachtmodus für die Straße", "Export trips as CSV"}},
		{"type=BUG", []string{"GPS drifts in tunnels"}},
		{"category=map", []string{"Nachtmodus für die Straße", "GPS drifts in tunnels"}},
		{"category=map&type=IDEA", []string{"Nachtmodus für die Straße"}},
		{"mine=1", []string{"Nachtmodus für die Straße", "GPS drifts in tunnels"}},
		{"mine=1&sort=newest&limit=1", []string{"GPS drifts in tunnels"}},
		{"q=" + url.QueryEscape("STRASSE"), []string{"Nachtmodus für die Straße"}},
		{"q=night+MODE", []string{"Nachtmodus für die Straße"}},
		{"q=too+bright", []string{"Nachtmodus für die Straße"}},
		{"q=body+of+gps", []string{"GPS drifts in tunnels"}},
		{"q=body+of&limit=3&sort=newest", []string{"Receipts by mail", "GPS drifts in tunnels", "Export trips as CSV"}},
		{"q=map", []string{"Nachtmodus für die Straße"}},
		{"q=body&mine=1&type=BUG", []string{"GPS drifts in tunnels"}},
		{"q=nothing", []string{}},
		{"status=PLANNED", []string{}},
		{"status=UNDER_REVIEW&type=BUG", []string{"GPS drifts in tunnels"}},
	} {
		if diff := cmp.Diff(tc.want, w.find(tc.query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.query, diff)
		}
	}
	for _, query := range []string{"status=OPEN", "sort=best", "mine=0", "mine=", "limit=0", "limit=201", "cursor=x",
		"type=WISH"} {
		if a := w.Do("GET", "/api/v1/feedback?"+query, w.tokens[0], ""); a.Status != 400 {
			t.Errorf("%s: got %d %s", query, a.Status, a.Body)
		}
	}
	var list api.Items[feedback.PostItem]
	w.Want(200, &list, "GET", "/api/v1/feedback", w.tokens[2], "")
	var voted []bool
	for _, it := range list.Items {
		voted = append(voted, it.HasVoted)
	}
	if diff := cmp.Diff([]bool{true, true, true, false}, voted); diff != "" {
		t.Errorf("hasVoted:\n%s", diff)
	}
}

// Counts are current even if the rows lag. A post that moved twice between two
// projections is shown once.
func TestListWhileRowsLag(t *testing.T) {
	w := newRoadmap(t, 3)
	first, second := w.submit(0, "First", ""), w.submit(0, "Second", "")
	for _, token := range w.tokens[1:] {
		w.Want(200, nil, "POST", "/api/v1/feedback/"+first.ID+"/vote", token, "")
	}
	if diff := cmp.Diff([]string{"First", "Second"}, w.find("")); diff != "" {
		t.Error(diff)
	}
	w.project(first.ID)
	w.Want(201, nil, "POST", "/api/v1/feedback/"+second.ID+"/comments", w.tokens[1], `{"body":"b"}`)
	w.project(second.ID)
	w.project(second.ID)
	if diff := cmp.Diff([]string{"Second", "First"}, w.find("sort=comments")); diff != "" {
		t.Error(diff)
	}
	w.Advance(2 * time.Hour)
	for _, sort := range []string{"votes", "newest", "comments"} {
		page, err := w.platform.Query(context.Background(), w.platform.Partition("POSTS", sort, "UNDER_REVIEW"), queryAll)
		live := slices.DeleteFunc(page.Items, func(it table.Item) bool { return !it.Live(w.Now()) })
		if err != nil || len(live) != 2 {
			t.Errorf("%s: %d live rows, %v", sort, len(live), err)
		}
	}
}

func TestLargeRoadmap(t *testing.T) {
	w := newRoadmap(t, 1)
	for i := range 120 {
		p, texts, err := feedback.Draft{Title: strings.Repeat("x", i+1),
			Body: strings.Repeat("long body ", 900)}.New(w.people[0], w.tenant.ID(), now.Add(time.Duration(i)*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		p.Votes = int64(i % 7)
		if err := w.platform.Load(context.Background(), feedback.Items(p, texts)...); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.find("q=long+body&limit=200"); len(got) != 120 {
		t.Errorf("found %d of 120", len(got))
	}
	if got := w.find("limit=200&sort=newest"); len(got) != 120 ||
		!slices.IsSortedFunc(got, func(a, b string) int { return len(b) - len(a) }) {
		t.Errorf("%d posts in order", len(got))
	}
}

// A list finds the only post of a type or category, however many other posts
// come before it, and a search finds the post by its text.
func TestRarePostsAreFound(t *testing.T) {
	testkit.LongHere(t)
	w := newRoadmap(t, 1)
	load := func(d feedback.Draft, votes int64, at time.Time, only ...string) {
		p, texts, err := d.New(w.people[0], w.tenant.ID(), at)
		if err != nil {
			t.Fatal(err)
		}
		p.Votes = votes
		items := slices.DeleteFunc(feedback.Items(p, texts), func(it table.Item) bool {
			return len(only) > 0 && !slices.ContainsFunc(only,
				func(prefix string) bool { return strings.HasPrefix(it.PK, prefix) })
		})
		if err := w.platform.Load(context.Background(), items...); err != nil {
			t.Fatal(err)
		}
	}
	load(feedback.Draft{Title: "Rare", Body: "Once", Type: feedback.Bug, Category: new("a#b")}, 1, now)
	for i := range table.Examined + 5 {
		load(feedback.Draft{Title: "Common", Body: "Often", Category: new("b")}, 9, now.Add(time.Duration(i+1)*time.Second),
			"POSTS#votes#UNDER_REVIEW", "POSTS#text")
	}
	for _, query := range []string{"type=BUG", "category=a%23b", "category=a%23b&type=BUG", "category=a%23b&q=once",
		"category=a%23b&type=BUG&q=once"} {
		if diff := cmp.Diff([]string{"Rare"}, w.find(query+"&limit=1")); diff != "" {
			t.Errorf("%s:\n%s", query, diff)
		}
	}
	for _, query := range []string{"category=a", "category=a%23b&type=IDEA", "category=a%23b&q=often"} {
		if got := w.find(query); len(got) > 0 {
			t.Errorf("%s: %v", query, got)
		}
	}
}

// A new post is in every list at once, in its order, although only the
// projection writes its rank rows. If the projection has not written them after
// an hour (firstRanked), the lists no longer show the post.
func TestNewPostsBeforeTheProjection(t *testing.T) {
	w := newRoadmap(t, 2)
	up := func(id string) { w.Want(200, nil, "POST", "/api/v1/feedback/"+id+"/vote", w.tokens[1], "") }
	ranked := w.submit(0, "Ranked", `,"type":"BUG","category":"map"`)
	w.project(ranked.ID)
	up(ranked.ID) // its rank rows still have one vote
	fresh := w.submit(0, "Fresh", `,"type":"BUG","category":"map"`)
	w.submit(0, "Idea", "")
	liked := w.submit(1, "Liked", "")
	up(liked.ID)
	w.Want(200, nil, "POST", "/api/v1/feedback/"+liked.ID+"/vote", w.tokens[0], "")
	for query, want := range map[string][]string{
		"":                            {"Liked", "Ranked", "Idea", "Fresh"},
		"limit=2":                     {"Liked", "Ranked"},
		"sort=newest":                 {"Liked", "Idea", "Fresh", "Ranked"},
		"sort=comments&limit=3":       {"Liked", "Idea", "Fresh"},
		"type=BUG":                    {"Ranked", "Fresh"},
		"category=map&sort=newest":    {"Fresh", "Ranked"},
		"category=map&type=IDEA":      {},
		"status=PLANNED":              {},
		"status=UNDER_REVIEW&limit=1": {"Liked"},
	} {
		if diff := cmp.Diff(want, w.find(query)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
	w.project(fresh.ID)
	w.Advance(2 * time.Hour)
	if diff := cmp.Diff([]string{"Ranked", "Fresh"}, w.find("")); diff != "" {
		t.Errorf("two hours later (-want +got):\n%s", diff)
	}
}

func TestPolicies(t *testing.T) {
	w := newRoadmap(t, 1)
	bare := w.Token(w.tenant, authz.Dashboard, ids.New(ids.Person, now))
	if a := w.Do("GET", "/api/v1/feedback", bare, ""); a.Status != 403 || a.Code() != "forbidden" {
		t.Errorf("without the permission: got %d %s", a.Status, a.Body)
	}
}

func TestBudgets(t *testing.T) {
	wire := &testkit.Wire{}
	w := over(t, testkit.TableOnWire(t, wire), 2)
	id := w.submit(0, "Dark map", "").ID
	wire.Rounds(true)
	within := func(name string, sequential int, reads, writes float64) {
		t.Helper()
		u := w.Last().Usage
		if u.Sequential > sequential || u.ReadUnits > reads || testkit.WriteUnits(u) > writes {
			t.Errorf("%s: %+v, want at most %d in sequence, %v and %v units", name, u, sequential, reads, writes)
		}
	}
	// post, body, slug, search row, vote and quota
	w.submit(0, "Dark map again", `,"category":"dispatch"`)
	within("submit", 2, 5, 12)
	w.find("")
	within("list", 2, 9, 0)
	w.find("q=dark")
	within("search", 2, 8, 0)
	w.read(id, w.tokens[0])
	within("read", 1, 9, 0)
	w.read("dark-map", w.tokens[0])
	within("read by slug", 3, 10, 0)
	w.Want(200, nil, "POST", "/api/v1/feedback/"+id+"/vote", w.tokens[1], "")
	within("vote", 2, 8, 4)
	w.Want(201, nil, "POST", "/api/v1/feedback/"+id+"/comments", w.tokens[1], `{"body":"b"}`)
	within("comment", 2, 8, 6)
}
