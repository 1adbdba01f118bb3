package main

import "testing"

// The check of events can fail: for too many units, for a hot shard, and if nothing was
// measured.
func TestEventCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		writes, shard, sent float64
		ok                  bool
	}{
		"as wanted": {9, 5, 1, true}, "too many units": {9.5, 5, 1, false}, "a hot shard": {9, 6.5, 1, false},
		"a hot row of what was passed on": {9, 1, 6.5, false}, "nothing": {0, 0, 0, false},
	} {
		e := told{load{writes: tt.writes}, map[string]load{feedKey: {writes: tt.shard}, sentKey: {writes: tt.sent}}}
		if err := e.check(); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
