package poller

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

// A replay keeps every letter that a service adds meanwhile.
func TestLettersThatArriveDuringAReplayAreKept(t *testing.T) {
	dir, service := t.TempDir(), &letters{}
	service.dir = dir
	const before, meanwhile = 100, 400
	for i := range before {
		if err := service.add(DeadLetter{Function: "F", Shard: fmt.Sprint("old ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := range meanwhile {
			if err := service.add(DeadLetter{Function: "G", Shard: fmt.Sprint("new ", i)}); err != nil {
				t.Error(err)
			}
		}
	})
	isF := func(l DeadLetter) bool { return l.Function == "F" }
	replayed := 0
	for range 20 {
		done, failed, err := ReplayDeadLetters(dir, isF, func(DeadLetter) error { return nil })
		if err != nil || failed > 0 {
			t.Fatal(failed, err)
		}
		replayed += done
	}
	wait.Wait()
	left, err := DeadLetters(dir)
	if err != nil || replayed != before || len(left) != meanwhile || slices.ContainsFunc(left, isF) {
		t.Errorf("%d replayed, %d left of %d, %v", replayed, len(left), meanwhile, err)
	}
}
