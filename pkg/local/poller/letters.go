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
	Function string                     `json:"function"` // logical id in template.yaml
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

// add appends a dead letter to the file, without personal data (see erasure.Letter), and
// counts it.
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

// count returns the number of dead letters that add has counted.
func (l *letters) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// DeadLetters reads the dead letters in the data folder dir, oldest first. It skips a
// half-written line.
func DeadLetters(dir string) (all []DeadLetter, err error) {
	lines, err := readLetters(dir)
	for _, line := range lines {
		var one DeadLetter
		if json.Unmarshal(line, &one) == nil {
			all = append(all, one)
		}
	}
	return all, err
}

// readLetters returns the lines of the dead letters in a data folder.
func readLetters(dir string) ([][]byte, error) {
	text, err := os.ReadFile(filepath.Join(dir, lettersFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	return bytes.Split(text, []byte("\n")), nil
}

// ReplayDeadLetters calls again for each dead letter that chosen selects. It
// removes the letters for which again succeeds. It keeps the other letters, half-written
// lines, and the letters that a running service adds meanwhile. A second replay waits for
// the first. If a replay is killed, all letters stay. done and failed count the calls.
func ReplayDeadLetters(dir string, chosen func(DeadLetter) bool, again func(DeadLetter) error) (done, failed int,
	err error) {
	err = folder.Exclusive(dir, lettersFile+".replayed", func() error {
		lines, err := readLetters(dir)
		if err != nil {
			return err
		}
		after := map[string][]byte{} // the new text of a line; empty removes the line
		for _, line := range lines {
			var one DeadLetter
			if json.Unmarshal(line, &one) != nil || !chosen(one) {
				continue
			}
			cause := again(one)
			if cause == nil {
				after[string(line)], done = nil, done+1
				continue
			}
			failed, one.Error = failed+1, cause.Error()
			if after[string(line)], err = json.Marshal(one); err != nil {
				return fmt.Errorf("dead letter: %w", err)
			}
		}
		return changeLetters(dir, after)
	})
	return done, failed, err
}

// changeLetters replaces lines in the file of dead letters. after has the new text by the
// old line; an empty text removes the line.
func changeLetters(dir string, after map[string][]byte) error {
	if len(after) == 0 {
		return nil
	}
	return folder.Exclusive(dir, lettersFile, func() error {
		lines, err := readLetters(dir)
		if err != nil {
			return err
		}
		var text []byte
		for _, line := range lines {
			if now, known := after[string(line)]; known {
				line = now
			}
			if len(line) > 0 {
				text = append(append(text, line...), '\n')
			}
		}
		if err := folder.ReplaceFile(filepath.Join(dir, lettersFile), text); err != nil {
			return fmt.Errorf("dead letters: %w", err)
		}
		return nil
	})
}
