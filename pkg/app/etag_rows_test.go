package app_test

import (
	"cmp"
	"net/http"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/edge/api"
)

// untagged has the PATCH rows without an ETag, each with the reason.
var untagged = map[string]string{
	"svc_set_driver_status":     "as specified",
	"svc_update_branding":       "as specified",
	"svc_update_me":             "a profile has one editor",
	"svc_choose_payment_method": "its one member has one value",
	"svc_update_webhook":        "its members do not depend on each other",
}

// changes has bodies where the document's example would change nothing.
var changes = map[string]string{"svc_update_business": `{"active":false}`,
	"svc_update_customer": `{"phone":"+1 212 555 0190"}`}

// TestEveryPatchTakesIfMatch: a PATCH with the ETag of another state is a 412 and
// changes nothing, and one with the ETag of this state succeeds once.
func TestEveryPatchTakesIfMatch(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	metro := s.newEstate(t, "metro")
	s.Still(t)
	for _, r := range app.Rows(s.DB) {
		if r.Method != http.MethodPatch {
			continue
		}
		if r.Versioned == (untagged[r.ID] != "") {
			t.Errorf("%s: a PATCH needs api.Versioned, or its reason in untagged", r.ID)
		}
		if !r.Versioned {
			continue
		}
		patch := func(body, tag string) apptest.Answer {
			q := apptest.Request{Method: r.Method, Path: pathOf(t, metro, r), Token: metro.tokens[authz.Dashboard], Body: body}
			if tag != "" {
				q.Header = map[string]string{"If-Match": tag}
			}
			return s.Do(t, q)
		}
		before := patch("{}", "").Must(t, 200).Header.Get("ETag")
		if a := patch(metro.body(r), `"0123456789abcdef"`); a.Status != 412 {
			t.Errorf("%s with another ETag: %d %s", r.ID, a.Status, a.Body)
		}
		if tag := patch("{}", before).Must(t, 200).Header.Get("ETag"); tag != before || before == "" {
			t.Errorf("%s: a PATCH of nothing, or one that was refused, changed %s to %s", r.ID, before, tag)
		}
		change := cmp.Or(changes[r.ID], metro.body(r))
		after := patch(change, before).Must(t, 200).Header.Get("ETag")
		if a := patch(change, before); after == before || a.Status != 412 {
			t.Errorf("%s: %s, then %s; again with the first: %d %s", r.ID, before, after, a.Status, a.Body)
		}
	}
}

func pathOf(t *testing.T, e estate, r api.Row) string {
	t.Helper()
	return pathTo(t, r, func(kind string, _ int) string { return e.ids[kind] })
}
