package ids_test

import (
	"strings"
	"testing"
	"time"

	"svc/pkg/base/ids"
)

func TestValid(t *testing.T) {
	good := ids.New(ids.Trip, time.Now())
	for id, want := range map[string]bool{
		good: true, strings.ToLower(good): false, good + "0": false, good[:len(good)-1]: false, "drv" + good[3:]: false,
		"": false, "trp_": false,
		"trp_" + strings.Repeat("Z", 26): false, "trp_" + strings.Repeat("0", 26): true, "trp_" +
			strings.Repeat("U", 26): false, good + "#": false,
	} {
		if ids.Valid(ids.Trip, id) != want {
			t.Errorf("%q: want %v", id, want)
		}
	}
}

func TestIDsSortByTime(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if a, b := ids.New(ids.Trip, at), ids.New(ids.Trip, at.Add(time.Millisecond)); a >= b {
		t.Errorf("%s, then %s", a, b)
	}
}

func TestCodeAlphabet(t *testing.T) {
	seen := map[rune]bool{}
	for range 2000 {
		code := ids.Code()
		if len(code) != 8 || strings.ContainsAny(code, "ILOU") {
			t.Fatal(code)
		}
		for _, r := range code {
			seen[r] = true
		}
	}
	if len(seen) != 32 {
		t.Errorf("%d of 32 characters are used", len(seen))
	}
}

// again reports whether a second pick differs from the first.
func again(text string, n int) bool {
	first := ids.Pick(text, n)
	return ids.Pick(text, n) != first
}

func TestPick(t *testing.T) {
	counts := make([]int, 4)
	for range 4000 {
		n := ids.Pick(ids.Secret(), 4)
		counts[n]++
	}
	for shard, n := range counts {
		if n < 700 {
			t.Errorf("shard %d is picked %d times of 4,000", shard, n)
		}
	}
	if ids.Pick("x", 1) != 0 || ids.Pick("x", 0) != 0 || again("x", 7) {
		t.Error("a pick depends on more than its text")
	}
}

// TestAnyTimeMakesAnIdentifier: people type times, and no time may end the process.
func TestAnyTimeMakesAnIdentifier(t *testing.T) {
	last := ids.New(ids.Trip, time.Unix(0, 0))[:14]
	for _, year := range []int{-200_000_000, -1, 0, 1, 1753, 1899, 1969, 1970, 2026, 9999, 10889, 10890, 200_000_000} {
		at := time.Date(year, 12, 30, 8, 0, 0, 0, time.UTC)
		id := ids.New(ids.Trip, at)
		if !ids.Valid(ids.Trip, id) || id[:14] < last {
			t.Errorf("year %d: %s after %s", year, id, last)
		}
		last = id[:14]
		if one := ids.Derived(ids.Log, at, "x"); !ids.Valid(ids.Log, one) || one != ids.Derived(ids.Log, at, "x") {
			t.Errorf("year %d: %s", year, one)
		}
	}
}
