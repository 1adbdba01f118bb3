package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// checkpoint is how far one function is in one stream. It is written after
// each delivered batch: a crash between delivery and write delivers again.
type checkpoint struct {
	file string

	Stream string              `json:"stream"`
	Shards map[string]position `json:"shards"`
}

// position is a place in a shard.
type position struct {
	// After is the sequence number of the last record dealt with.
	After string `json:"after,omitempty"`
	// Done says that the shard is closed and was read to its end.
	Done bool `json:"done,omitempty"`
}

// openCheckpoint reads what a run before left; another stream's or a torn file
// counts as none.
func openCheckpoint(dir, name, stream string, log *slog.Logger) (*checkpoint, error) {
	c := &checkpoint{Stream: stream, Shards: map[string]position{}}
	if dir == "" {
		return c, nil
	}
	dir = filepath.Join(dir, "streams")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("checkpoint of %s: %w", name, err)
	}
	c.file = filepath.Join(dir, name+".json")
	text, err := os.ReadFile(c.file)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint of %s: %w", name, err)
	}
	var kept checkpoint
	if err := json.Unmarshal(text, &kept); err != nil {
		log.Warn("checkpoint unreadable, the stream is delivered again from its start", "function", name)
		return c, nil
	}
	if kept.Stream == stream && kept.Shards != nil {
		c.Shards = kept.Shards
	}
	return c, nil
}

func (c *checkpoint) set(shard string, at position) error {
	c.Shards[shard] = at
	return c.save()
}

func (c *checkpoint) save() error {
	if c.file == "" {
		return nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err := replaceFile(c.file, text); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// replaceFile writes a file, readable by its owner only, that is there whole
// or not at all.
func replaceFile(name string, text []byte) error {
	if err := os.WriteFile(name+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// letters is where records go that a function could not deal with:
// dead-letters.jsonl in the data folder, one object a line.
type letters struct {
	dir string

	mu sync.Mutex
	n  int
}

type letter struct {
	At       time.Time                  `json:"at"`
	Function string                     `json:"function"`
	Shard    string                     `json:"shard"`
	Error    string                     `json:"error"`
	Record   events.DynamoDBEventRecord `json:"record"`
}

func (l *letters) add(one letter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dir != "" {
		text, err := json.Marshal(one)
		if err != nil {
			return fmt.Errorf("dead letter: %w", err)
		}
		f, err := os.OpenFile(filepath.Join(l.dir, "dead-letters.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("dead letter: %w", err)
		}
		_, err = f.Write(append(text, '\n'))
		if err = errors.Join(err, f.Close()); err != nil {
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
