package demo_test

import (
	"testing"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/domain/feedback"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
	"svc/pkg/local/demo"
)

// The roadmap shows posts of every status, in every list and without a
// projection. Their counts equal the number of votes and comments.
func TestRoadmap(t *testing.T) {
	db := testkit.Table(t)
	if _, err := demo.Load(t.Context(), db, apitest.Start); err != nil {
		t.Fatal(err)
	}
	stand := apitest.New(t, db, feedback.Rows()...)
	metro, err := tenant.Store{DB: db}.BySlug(t.Context(), "metro")
	if err != nil {
		t.Fatal(err)
	}
	token := stand.Token(db.Tenant(metro.ID), authz.Dashboard, demo.People()[0].ID, "VIEW_FEEDBACK")
	seen := map[feedback.Status]int{}
	for _, sort := range []string{"votes", "newest", "comments"} {
		var list api.Items[feedback.PostItem]
		stand.Want(200, &list, "GET", "/api/v1/feedback?status=ALL&sort="+sort, token, "")
		for _, it := range list.Items {
			seen[it.Status]++
			var post feedback.PostDetail
			stand.Want(200, &post, "GET", "/api/v1/feedback/"+it.Slug, token, "")
			if post.ID != it.ID || int64(len(post.Comments)) != post.CommentCount || !ids.Valid(ids.Post,
				it.ID) || post.VoteCount < 1 {
				t.Errorf("%s: %+v", sort, post)
			}
		}
	}
	for _, status := range feedback.Statuses {
		if seen[status] == 0 {
			t.Errorf("no post is %s", status)
		}
	}
	var list api.Items[feedback.PostItem]
	stand.Want(200, &list, "GET", "/api/v1/feedback?q=tax+number&status=ALL", token, "")
	if len(list.Items) != 1 || list.Items[0].HasVoted {
		t.Errorf("search: %+v", list.Items)
	}
	stand.Want(200, &list, "GET", "/api/v1/feedback?mine=1&status=ALL", token, "")
	if len(list.Items) < 3 || !list.Items[0].HasVoted {
		t.Errorf("own posts: %+v", list.Items)
	}
}
