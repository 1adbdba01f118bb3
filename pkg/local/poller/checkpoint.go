package poller

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"svc/pkg/local/folder"
)

// checkpoint is the progress of one function in one stream. The consumer writes
// it after each delivered batch. A crash between delivery and write repeats the
// delivery.
type checkpoint struct {
	file string

	Stream string              `json:"stream"`
	Shards map[string]position `json:"shards"`
}

// position is how far a shard of the stream has been read.
type position struct {
	// After is the sequence number of the last processed record.
	After string `json:"after,omitempty"`
	// Done says that the shard is closed and was read to its end.
	Done bool `json:"done,omitempty"`
}

// openCheckpoint returns the function's checkpoint of an earlier run. It returns an empty
// one if there is none, if the file is half written, or if the file is of another stream.
// If dir is "", the checkpoint is in memory only. name is the function's logical id.
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
	var stored checkpoint
	if err := json.Unmarshal(text, &stored); err != nil {
		log.Warn("checkpoint unreadable, the stream is delivered again from its start", "function", name)
		return c, nil
	}
	if stored.Stream == stream && stored.Shards != nil {
		c.Shards = stored.Shards
	}
	return c, nil
}

// set records how far a shard has been read, and saves the checkpoint.
func (c *checkpoint) set(shard string, at position) error {
	c.Shards[shard] = at
	return c.save()
}

// save writes the checkpoint to its file, if it has one.
func (c *checkpoint) save() error {
	if c.file == "" {
		return nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err := folder.ReplaceFile(c.file, text); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}
