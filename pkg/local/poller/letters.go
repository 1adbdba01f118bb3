package poller

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/local/folder"
)

// DeadLetter is a record that a function failed on in every attempt.
type DeadLetter struct {
	At       time.Time                  `json:"at"`
	Function string                     `json:"function"` // logical id
	Shard    string                     `json:"shard"`
	Error    string                     `json:"error"`
	Record   events.DynamoDBEventRecord `json:"record"`
}

const lettersFile = "dead-letters.jsonl"

// letters appends dead letters to dead-letters.jsonl in the data folder, one
// object per line. Without a folder it only counts them.
type letters struct {
	dir string

	mu sync.Mutex
	n  int
}

func (l *letters) add(one DeadLetter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dir != "" {
		text, err := json.Marshal(one)
		if err != nil {
			return fmt.Errorf("dead letter: %w", err)
		}
		err = folder.Exclusive(l.dir, lettersFile, func() error {
			f, err := os.OpenFile(filepath.Join(l.dir, lettersFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			_, err = f.Write(append(text, '\n'))
			return errors.Join(err, f.Close())
		})
		if err != nil {
			return fmt.Errorf("dead letter: %w", err)
		}
	}
	l.n++
	return nil
}

func (l *letters) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// DeadLetters reads the dead letters in a data folder, oldest first. It skips
// a torn line.
func DeadLetters(dir string) ([]DeadLetter, error) {
	var all []DeadLetter
	for _, name := range []string{lettersFile + ".replayed", lettersFile} { // a killed replay leaves the first one
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("dead letters: %w", err)
		}
		for line := range bytes.Lines(text) {
			var one DeadLetter
			if json.Unmarshal(line, &one) == nil {
				all = append(all, one)
			}
		}
	}
	return all, nil
}

// ReplayDeadLetters calls the function again for each dead letter that chosen
// selects. It removes the letters for which again succeeds. It keeps the others,
// and those that a running service adds meanwhile. A second replay waits for this
// one.
func ReplayDeadLetters(dir string, chosen func(DeadLetter) bool, again func(DeadLetter) error) (done, failed int,
	err error) {
	err = folder.Exclusive(dir, lettersFile+".replayed", func() error {
		all, err := takeLetters(dir)
		if err != nil || len(all) == 0 {
			return err
		}
		back := &letters{dir: dir}
		for _, one := range all {
			if chosen(one) {
				cause := again(one)
				if cause == nil {
					done++
					continue
				}
				failed, one.Error = failed+1, cause.Error()
			}
			if err := back.add(one); err != nil {
				return err
			}
		}
		return os.Remove(filepath.Join(dir, lettersFile+".replayed"))
	})
	return done, failed, err
}

// takeLetters moves all dead letters into one file that no service appends to.
// The file exists until the replay ends, even if the replay is killed.
func takeLetters(dir string) (all []DeadLetter, err error) {
	file := filepath.Join(dir, lettersFile)
	err = folder.Exclusive(dir, lettersFile, func() error {
		if all, err = DeadLetters(dir); err != nil || len(all) == 0 {
			return err
		}
		var text []byte
		for _, one := range all {
			line, err := json.Marshal(one)
			if err != nil {
				return fmt.Errorf("dead letters: %w", err)
			}
			text = append(append(text, line...), '\n')
		}
		if err := folder.ReplaceFile(file+".replayed", text); err != nil {
			return fmt.Errorf("dead letters: %w", err)
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("dead letters: %w", err)
		}
		return nil
	})
	return all, err
}
