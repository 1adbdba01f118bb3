package feedback_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"svc/pkg/feedback"
	"svc/pkg/ids"
	"svc/pkg/timestamp"
)

// A post stays readable whatever is commented: of the largest comments the last
// are shown, as far as a function can answer them.
func TestLargestComments(t *testing.T) {
	w := newRoadmap(t, 1)
	id := w.submit(0, "Dark map", "").ID
	large := strings.Repeat("\u0001", 9_999) // six bytes each in JSON
	for i := range 60 {
		at := now.Add(time.Duration(i) * time.Second)
		body := large + string(rune('a'+i%26))
		if err := w.platform.Load(context.Background(), feedback.CommentItem(id, ids.New(ids.Comment, at), w.people[0], w.tenant.ID(), body, timestamp.Format(at))); err != nil {
			t.Fatal(err)
		}
	}
	a := w.Want(200, nil, "GET", "/api/v1/feedback/"+id, w.tokens[0], "")
	shown := w.read(id, w.tokens[0]).Comments
	if len(a.Body) > 2<<20 || len(shown) < 10 {
		t.Errorf("%d comments in %d bytes", len(shown), len(a.Body))
	}
	if last := shown[len(shown)-1]; !strings.HasSuffix(last.Body, string(rune('a'+59%26))) {
		t.Error("the last comment is not shown")
	}
	w.Want(201, nil, "POST", "/api/v1/feedback/"+id+"/comments", w.tokens[0], `{"body":"enough"}`)
}
