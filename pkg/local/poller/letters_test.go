package poller

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// The file of the letters names items, and has nothing of the persons whom they tell of.
func TestLettersHaveNoPersons(t *testing.T) {
	dir := t.TempDir()
	one := DeadLetter{Function: "F"}
	one.Record.Change.NewImage = map[string]events.DynamoDBAttributeValue{
		"pk": events.NewStringAttribute("T#t#CUSTOMER#c"), "type": events.NewStringAttribute("customer"),
		"doc": events.NewStringAttribute(`{"name":"Zwenda"}`)}
	if err := (&letters{dir: dir}).add(one); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, lettersFile))
	if err != nil || strings.Contains(string(text), "Zwenda") || !strings.Contains(string(text), "T#t#CUSTOMER#c") {
		t.Errorf("%s, %v", text, err)
	}
}

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

// A cut write costs no other letter, and a replay keeps what is left of it.
func TestLettersAfterATornLine(t *testing.T) {
	dir := t.TempDir()
	const torn = `{"function":"F","er`
	file := filepath.Join(dir, lettersFile)
	if err := os.WriteFile(file, []byte(torn), 0o600); err != nil {
		t.Fatal(err)
	}
	service := &letters{dir: dir}
	for range 2 {
		if err := service.add(DeadLetter{Function: "G"}); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := DeadLetters(dir); err != nil || len(all) != 2 || all[0].Function != "G" {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, want := range []int{2, 0} {
		done, failed, err := ReplayDeadLetters(dir, func(DeadLetter) bool { return true },
			func(DeadLetter) error { return nil })
		if err != nil || done != want || failed > 0 {
			t.Errorf("%d replayed, %d failed, %v", done, failed, err)
		}
		text, err := os.ReadFile(file)
		if err != nil || strings.TrimSpace(string(text)) != torn {
			t.Errorf("%q is left, %v", text, err)
		}
	}
}

// TestKilledReplayKeepsLetters: a replay that does not come to its end keeps all letters,
// also those that it has processed.
func TestKilledReplayKeepsLetters(t *testing.T) {
	dir := t.TempDir()
	service := &letters{dir: dir}
	for i := range 3 {
		if err := service.add(DeadLetter{Function: "F", Shard: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	func() {
		defer func() { _ = recover() }()
		_, _, _ = ReplayDeadLetters(dir, func(DeadLetter) bool { return true }, func(l DeadLetter) error {
			if l.Shard == "2" {
				panic("killed")
			}
			return nil
		})
	}()
	if all, err := DeadLetters(dir); err != nil || len(all) != 3 {
		t.Errorf("%d letters are left, %v", len(all), err)
	}
}
