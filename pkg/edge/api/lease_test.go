package api

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestLeaseOf: a person's fifth stream takes the oldest of that person. When the share
// is used up, the oldest stream of whoever has most goes, and nobody loses the only one.
func TestLeaseOf(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		open  string // the persons, the oldest first; a capital's lease is over
		new   string
		share int
		want  string // "" for a rejection
	}{
		{"", "a", 1, "a"}, {"a", "a", 1, "a"}, {"b", "a", 1, ""}, {"B", "a", 1, "a"},
		{"aaaa", "a", 16, "aaaa"}, {"baaaa", "a", 16, "baaaa"}, {"aaa", "a", 16, "aaaa"},
		{"bcd", "a", 3, ""}, {"bcdb", "a", 4, "cdba"}, {"abcd", "a", 4, "bcda"}, {"bbaa", "a", 4, "bbaa"},
		{"bbba", "a", 4, "bbaa"}, {"bbbbaaaa", "a", 8, "bbbbaaaa"}, {"bbbba", "c", 5, "bbbac"},
		{"AbCd", "e", 3, "bde"}, {"AAAA", "b", 4, "b"},
	} {
		l := &leases{}
		for i, who := range strings.Split(c.open, "") {
			one := lease{ID: fmt.Sprint(i), Person: strings.ToLower(who), Until: now.Add(time.Minute)}
			if one.Person != who {
				one.Until = now
			}
			l.Open = append(l.Open, one)
		}
		if c.open == "" {
			l.Open = nil
		}
		var oldest string
		if len(l.Open) > 0 {
			oldest = l.Open[0].ID
		}
		done := l.admit(lease{ID: "new", Person: c.new, Until: now.Add(time.Hour)}, c.share, now)
		got := ""
		for _, o := range l.Open {
			got += o.Person
		}
		if done != (c.want != "") || done && (got != c.want || l.Open[len(l.Open)-1].ID != "new") {
			t.Errorf("%s asks for one of %d beside %q: %t, %q, want %q", c.new, c.share, c.open, done, got, c.want)
		}
		if c.open == "aaaa" && l.Open[0].ID == oldest {
			t.Error("the oldest one stays")
		}
	}
	for all, want := range map[int]int{1: 1, 2: 1, 3: 1, 8: 4, 64: 32, 1000: 32} {
		if got := shareOf(all); got != want {
			t.Errorf("one of %d streams' tenants may have %d, want %d", all, got, want)
		}
	}
}

// TestStreamGivesWay: a stream whose lease a newer one has ends. When to come back it has
// said at its beginning.
func TestStreamGivesWay(t *testing.T) {
	got := play(t, leaf{after: "c0"}, nil, nil, leaf{after: "c0"}, errTaken)
	if len(got.polls) != 2 || len(got.text) != 1 || !strings.HasPrefix(got.text[0], "retry: ") {
		t.Errorf("polls at %v, %q", got.polls, got.text)
	}
}
