package main

import (
	"strings"
	"testing"
)

// Platform operators can filter the roadmap, and see a changed status.
func TestFeedback(t *testing.T) {
	w := share(t)
	list := func(args ...string) []string {
		t.Helper()
		slugs := []string{}
		for _, post := range read[[]struct{ Slug string }](w, append([]string{"feedback", "list"}, args...)...) {
			slugs = append(slugs, post.Slug)
		}
		return slugs
	}
	open, all := list(), list("--status", "ALL")
	if len(open) != 9 || len(all) != 12 || open[0] != "dark-theme-for-the-dispatch-map" {
		t.Errorf("%d open, %d in all: %v", len(open), len(all), open)
	}
	for _, tc := range []struct {
		args string
		want string
	}{
		{"--limit 1 --sort newest", "filter-by-driver-forgets-itself-after-a-reload"},
		{"--limit 1 --sort comments --type BUG", "position-freezes-in-the-harbor-tunnel"},
		{"--category payments", "receipts-with-the-rider-s-tax-number"},
		{"--q MOTORISTA", "request-a-ride-for-somebody-else"},
		{"--status REJECTED", "show-riders-the-driver-s-private-number"},
		{"--q nothing-like-it", ""},
	} {
		if got := strings.Join(list(strings.Fields(tc.args)...), " "); got != tc.want {
			t.Errorf("%s: %s", tc.args, got)
		}
	}
	w.ok("feedback", "status", "let-a-business-pause-its-orders", "REJECTED")
	if got := list("--category", "delivery"); len(got) > 0 {
		t.Errorf("open: %v", got)
	}
	w.ok("feedback", "delete", "let-a-business-pause-its-orders")
	if got := list("--category", "delivery", "--status", "ALL"); len(got) > 0 {
		t.Errorf("deleted: %v", got)
	}
	if out := w.ok("feedback", "list"); !strings.HasPrefix(out, "VOTES  TYPE") || strings.Count(out, "\n") != 9 {
		t.Errorf("for people: %s", out)
	}
}
