package poller

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/background/erasure"
	"svc/pkg/local/folder"
)

// DeadLetter is a record that a function failed on in every attempt, or that no
// attempt can process.
type DeadLetter struct {
	At       time.Time                  `json:"at"`
	Function string                     `json:"function"` // logical id
	Shard    string                     `json:"shard"`    // "" if the function gave the record up itself
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
		one.Record = erasure.Letter(one.Record)
		text, err := json.Marshal(one)
		if err != nil {
			return fmt.Errorf("dead letter: %w", err)
		}
		if err := appendLine(l.dir, text); err != nil {
			return fmt.Errorf("dead letter: %w", err)
		}
	}
	l.n++
	return nil
}

// GiveUp stores records that no retry of the function can process. They are
// stored without a shard, because the function that calls GiveUp does not know it.
func (p *Poller) GiveUp(_ context.Context, function string, records []events.DynamoDBEventRecord, cause error) error {
	for _, r := range records {
		if err := p.letters.add(DeadLetter{At: time.Now().UTC(), Function: function, Error: cause.Error(),
			Record: r}); err != nil {
			return err
		}
	}
	return nil
}

// appendLine appends a line to the dead letters in a data folder. If the last
// write was cut, it ends that line first.
func appendLine(dir string, line []byte) error {
	return folder.Exclusive(dir, lettersFile, func() error {
		f, err := os.OpenFile(filepath.Join(dir, lettersFile), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		text := append(bytes.Clone(line), '\n')
		last := make([]byte, 1)
		if size, err := f.Seek(0, io.SeekEnd); err == nil && size > 0 {
			if _, err := f.ReadAt(last, size-1); err == nil && last[0] != '\n' {
				text = append([]byte{'\n'}, text...)
			}
		}
		_, err = f.Write(text)
		return errors.Join(err, f.Close())
	})
}

func (l *letters) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// DeadLetters reads the dead letters in a data folder, oldest first. It skips
// a torn line.
func DeadLetters(dir string) ([]DeadLetter, error) {
	all, _, err := readLetters(dir)
	return all, err
}

// readLetters reads the dead letters in a data folder, oldest first. torn has
// the lines that a cut write left incomplete.
func readLetters(dir string) (all []DeadLetter, torn [][]byte, err error) {
	for _, name := range []string{lettersFile + ".replayed", lettersFile} { // a killed replay leaves the first one
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, nil, fmt.Errorf("dead letters: %w", err)
		}
		for line := range bytes.Lines(text) {
			var one DeadLetter
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			if json.Unmarshal(line, &one) == nil {
				all = append(all, one)
			} else {
				torn = append(torn, line)
			}
		}
	}
	return all, torn, nil
}

// ReplayDeadLetters calls again for each dead letter that chosen selects. It
// removes the letters for which again succeeds. It keeps the others,
// torn lines, and the letters that a running service adds meanwhile. A second
// replay waits for this one.
func ReplayDeadLetters(dir string, chosen func(DeadLetter) bool, again func(DeadLetter) error) (done, failed int,
	err error) {
	err = folder.Exclusive(dir, lettersFile+".replayed", func() error {
		all, torn, err := takeLetters(dir)
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
		for _, line := range torn {
			if err := appendLine(dir, line); err != nil {
				return fmt.Errorf("dead letters: %w", err)
			}
		}
		return os.Remove(filepath.Join(dir, lettersFile+".replayed"))
	})
	return done, failed, err
}

// takeLetters moves all dead letters and torn lines into one file that no
// service appends to. The file exists until the replay ends, even if the replay
// is killed.
func takeLetters(dir string) (all []DeadLetter, torn [][]byte, err error) {
	file := filepath.Join(dir, lettersFile)
	err = folder.Exclusive(dir, lettersFile, func() error {
		if all, torn, err = readLetters(dir); err != nil || len(all) == 0 {
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
		for _, line := range torn {
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
	return all, torn, err
}
