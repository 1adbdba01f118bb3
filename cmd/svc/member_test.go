package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/domain/member"
	"svc/pkg/domain/person"
)

// TestMemberCommands: the platform's operator invites, and sees the link; a role is copied; an
// invitation is taken back by its address, and by svc restore finish.
func TestMemberCommands(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := newCheckout(t).world
	opens := func(link string) bool {
		res, err := http.Get(link)
		testkit.Must(t, err)
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	}
	invite := func() string {
		return read[member.Invited](w, "member", "invite", "metro", "ben@new.example", "--role", "dispatcher").Link
	}
	first, second := invite(), invite()
	if !strings.HasPrefix(first, w.base+"/oauth/join?link=") || opens(first) || !opens(second) {
		t.Errorf("links %s and %s", first, second)
	}
	if out := w.ok("member", "list", "metro"); !strings.Contains(out, "ben@new.example") || !strings.Contains(out, "invited") {
		t.Errorf("the list:\n%s", out)
	}
	w.ok("member", "remove", "metro", "Ben@new.example")
	if opens(second) {
		t.Error("the link of an invitation that was taken back opens")
	}
	role, _ := person.RoleOf(person.Accountant)
	made := read[struct{ ID string }](w, "member", "add", "metro", "amy@new.example", "--role", "accountant", "--password",
		"correct horse battery")
	m := read[member.Member](w, "members", "get", "metro", made.ID)
	if m.Role != "accountant" || !slices.Equal(m.Permissions, role.Permissions) {
		t.Errorf("added with a role: %+v", m)
	}
	w.ok("member", "grant", "metro", "amy@new.example", "--role", "viewer")
	m = read[member.Member](w, "members", "get", "metro", made.ID)
	if m.Role != "viewer" || !slices.Contains(m.Permissions, "VIEW_WEBHOOKS") || !slices.Contains(m.Permissions,
		"MANAGE_WALLETS") {
		t.Errorf("granted a role: %+v", m)
	}
	m = read[member.Member](w, "members", "update", "metro", made.ID, "--role", "viewer")
	if role, _ = person.RoleOf(person.Viewer); !slices.Equal(m.Permissions, role.Permissions) {
		t.Errorf("with another role: %+v", m)
	}
	if out := w.ok("roles", "list", "metro"); !strings.Contains(out, "dispatcher") {
		t.Errorf("the roles:\n%s", out)
	}
	for _, args := range [][]string{{"member", "add", "metro", "x@new.example", "--role", "boss"},
		{"member", "grant", "metro", "amy@new.example"}} {
		if out, _, code := w.run(args...); code != 2 {
			t.Errorf("svc %s: %d %s", strings.Join(args, " "), code, out)
		}
	}
	link := invite()
	type finished struct {
		Tenant      string
		Invitations int
	}
	for _, one := range read[[]finished](w, "restore", "finish", "--yes") {
		if (one.Invitations == 1) != (one.Tenant == "metro") {
			t.Errorf("%+v", one)
		}
	}
	if opens(link) {
		t.Error("a link of a restored table opens")
	}
}
