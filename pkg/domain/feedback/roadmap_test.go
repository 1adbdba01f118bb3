package feedback_test

import (
	"context"
	"fmt"
	"testing"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/projection"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/feedback"
	"svc/pkg/edge/api"
)

// roadmap is a test server with operators of two tenants.
type roadmap struct {
	*apitest.Stand
	t        testing.TB
	tenant   table.Tenant
	platform table.Platform
	people   []string // ids
	tokens   []string
	foreign  string // a token of another tenant's operator
}

func newRoadmap(t testing.TB, people int) *roadmap {
	t.Helper()
	return over(t, testkit.Table(t), people)
}

func over(t testing.TB, db *table.DB, people int) *roadmap {
	t.Helper()
	w := &roadmap{Stand: apitest.New(t, db, feedback.Rows()...), t: t, platform: db.Platform(feedback.Kinds...)}
	w.tenant = w.Tenant("USD", 1)
	for range people {
		id := ids.New(ids.Person, apitest.Start)
		w.people, w.tokens = append(w.people, id), append(w.tokens, w.Token(w.tenant, authz.Dashboard, id, "VIEW_FEEDBACK"))
	}
	w.foreign = w.Token(w.Tenant("EUR", 1), authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_FEEDBACK")
	return w
}

// submit submits a post as person i; extra contains further members of the
// body.
func (w *roadmap) submit(i int, title, extra string) feedback.PostDetail {
	w.t.Helper()
	w.Advance(1_000_000_000)
	var got feedback.PostDetail
	w.Want(201, &got, "POST", "/api/v1/feedback", w.tokens[i], fmt.Sprintf(`{"title":%q,"body":"Body of %s"%s}`, title,
		title, extra))
	return got
}

// project writes the rank rows of the current post.
func (w *roadmap) project(id string) {
	w.t.Helper()
	step := projection.Step{Now: w.Now, RankRows: feedback.RankRows}
	if _, err := step.Platform(context.Background(), w.platform, []table.Key{feedback.Key(id)}); err != nil {
		w.t.Fatal(err)
	}
}

// find lists as person 0 and returns the titles.
func (w *roadmap) find(query string) []string {
	w.t.Helper()
	var list api.Items[feedback.PostItem]
	w.Want(200, &list, "GET", "/api/v1/feedback?"+query, w.tokens[0], "")
	titles := []string{}
	for _, it := range list.Items {
		titles = append(titles, it.Title)
	}
	return titles
}

func (w *roadmap) read(id string, token string) feedback.PostDetail {
	w.t.Helper()
	var got feedback.PostDetail
	w.Want(200, &got, "GET", "/api/v1/feedback/"+id, token, "")
	return got
}

// votes counts the vote items of a post.
func (w *roadmap) votes(id string) int64 {
	w.t.Helper()
	n := int64(0)
	for _, person := range w.people {
		it, err := w.platform.Get(context.Background(), feedback.VoteKey(id, person))
		if err != nil {
			w.t.Fatal(err)
		}
		if it.Found() {
			n++
		}
	}
	return n
}
