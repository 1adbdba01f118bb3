package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// DeadLetter is a record that a function could not deal with.
type DeadLetter struct {
	At       time.Time                  `json:"at"`
	Function string                     `json:"function"` // logical id
	Shard    string                     `json:"shard"`
	Error    string                     `json:"error"`
	Record   events.DynamoDBEventRecord `json:"record"`
}

const lettersFile = "dead-letters.jsonl"

// DeadLetters reads the dead letters in a data folder, oldest first. A line
// that is torn is left out.
func DeadLetters(dir string) ([]DeadLetter, error) {
	var all []DeadLetter
	for _, name := range []string{lettersFile + ".replayed", lettersFile} { // the first is there after a replay that broke
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

// ReplayDeadLetters hands each dead letter that is chosen to again; what fails
// and what is not chosen stays. A service that runs may go on adding to them.
func ReplayDeadLetters(dir string, chosen func(DeadLetter) bool, again func(DeadLetter) error) (done, failed int, err error) {
	file := filepath.Join(dir, lettersFile)
	all, err := DeadLetters(dir)
	if err != nil || len(all) == 0 {
		return 0, 0, err
	}
	// Everything is in one file that nobody else writes to, until each letter is
	// either done or back in the other.
	var text []byte
	for _, one := range all {
		line, err := json.Marshal(one)
		if err != nil {
			return 0, 0, fmt.Errorf("dead letters: %w", err)
		}
		text = append(append(text, line...), '\n')
	}
	if err := replaceFile(file+".replayed", text); err != nil {
		return 0, 0, fmt.Errorf("dead letters: %w", err)
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, 0, fmt.Errorf("dead letters: %w", err)
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
		if err := back.add(letter(one)); err != nil {
			return done, failed, err
		}
	}
	return done, failed, os.Remove(file + ".replayed")
}

// StreamRange is a run of records of one shard, as a dead-letter message of
// AWS Lambda names it.
type StreamRange struct {
	Stream string // ARN
	Shard  string
	First  string // sequence numbers, both of them in the range
	Last   string
}

// ErrTrimmed says that the stream no longer has the records: it keeps a day.
var ErrTrimmed = errors.New("the stream no longer has these records; svc rebuild does what they would have done")

// emptyPages in a row end the reading: a page may be empty though more follows.
const emptyPages = 10

// ReadStream reads the records of a range again.
func ReadStream(ctx context.Context, streams *dynamodbstreams.Client, r StreamRange) ([]events.DynamoDBEventRecord, error) {
	it, err := streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: aws.String(r.Stream), ShardId: aws.String(r.Shard),
		ShardIteratorType: types.ShardIteratorTypeAtSequenceNumber, SequenceNumber: aws.String(r.First)})
	var trimmed *types.TrimmedDataAccessException
	var gone *types.ResourceNotFoundException
	switch {
	case errors.As(err, &trimmed) || errors.As(err, &gone):
		return nil, ErrTrimmed
	case err != nil:
		return nil, fmt.Errorf("finding the place in the stream: %w", err)
	}
	var out []events.DynamoDBEventRecord
	for next, empty := it.ShardIterator, 0; next != nil && empty < emptyPages; {
		page, err := streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: next})
		if errors.As(err, &trimmed) {
			return nil, ErrTrimmed
		}
		if err != nil {
			return nil, fmt.Errorf("reading the stream: %w", err)
		}
		for _, raw := range page.Records {
			rec, err := recordOf(raw, r.Stream)
			if err != nil {
				return nil, err
			}
			if later(rec.seq, r.Last) {
				return out, nil
			}
			out = append(out, rec.event)
			if rec.seq == r.Last {
				return out, nil
			}
		}
		next = page.NextShardIterator
		if empty++; len(page.Records) > 0 {
			empty = 0
		}
	}
	if len(out) == 0 {
		return nil, ErrTrimmed
	}
	return out, nil
}
