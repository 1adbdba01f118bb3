package main

import (
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/oauth"
)

// A member who left and joined again has only the tokens of the new
// membership. Only those are listed as live.
func TestTokensOfAMemberAgain(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	const email = "operator@metro.example"
	w := start(t)
	list := func() []oauth.Token { return read[[]oauth.Token](w, "token", "list", "metro") }
	old := w.token("dashboard", email)
	actor := list()[0].Actor
	live := func() (ids []string) {
		for _, one := range list() {
			if one.Actor == actor {
				ids = append(ids, one.ID)
			}
		}
		return ids
	}
	others := len(list()) - len(live())
	w.ok("member", "remove", "metro", email)
	w.expect("/api/v1/me", old, 401, "unauthorized")
	if ids := live(); len(ids) > 0 {
		t.Errorf("listed as live, of a membership that ended: %v", ids)
	}
	w.ok("member", "add", "metro", email, "--all")
	w.expect("/api/v1/me", old, 401, "unauthorized")
	if ids := live(); len(ids) > 0 {
		t.Errorf("listed as live, of an earlier membership: %v", ids)
	}
	fresh := w.token("dashboard", email)
	w.expect("/api/v1/me", fresh, 200, "")
	ids := live()
	if len(ids) != 1 || len(list()) != others+1 {
		t.Fatalf("%v are listed of the member, and %d in all, of which %d are others'", ids, len(list()), others)
	}
	w.ok("token", "revoke", ids[0])
	w.expect("/api/v1/me", fresh, 401, "unauthorized")
	if ids := live(); len(ids) > 0 {
		t.Errorf("listed as live, revoked: %v", ids)
	}
}
