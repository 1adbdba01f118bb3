package emulator

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Stream is a function's subscription to the table's stream. In the template it
// is an event source of type DynamoDB. Properties that the template does not set
// have Lambda's defaults.
type Stream struct {
	Function         string        // logical id of the function in the template
	StartingPosition string        // TRIM_HORIZON or LATEST
	BatchSize        int           // maximum number of records in a batch
	Window           time.Duration // how long a batch collects records
	Patterns         []string      // a record must match one; if empty, all match
	Bisect           bool          // retry a failed batch in halves
	PartialFailures  bool          // the function reports failures record by record
	Retries          int           // attempts after the first; -1 for unlimited
	MaxAge           time.Duration // age at which a record is not retried any more; 0 for unlimited
	DeadLetters      bool          // records that failed all attempts go to a queue
	Timeout          time.Duration // timeout of one invocation
}

// Streams returns the stream subscriptions of a SAM template, sorted by function.
func Streams(text []byte) ([]Stream, error) {
	t, err := parse(text)
	if err != nil {
		return nil, err
	}
	return eventsOf(t, "DynamoDB", func(function string, properties map[string]any) (Stream, error) {
		s, err := newStream(properties)
		s.Function, s.Timeout = function, t.timeout(function)
		return s, err
	})
}

// newStream returns the subscription of a DynamoDB event with the properties p.
func newStream(p map[string]any) (Stream, error) {
	s, age := Stream{BatchSize: 100, Retries: -1}, -1
	for name, into := range map[string]*int{"BatchSize": &s.BatchSize, "MaximumRetryAttempts": &s.Retries,
		"MaximumRecordAgeInSeconds": &age} {
		if v, there := p[name]; there {
			n, ok := v.(int)
			if !ok {
				return s, fmt.Errorf("%s is not a number", name)
			}
			*into = n
		}
	}
	if s.BatchSize < 1 || s.BatchSize > 10000 {
		return s, fmt.Errorf("a BatchSize of %d is not within 1 to 10000", s.BatchSize)
	}
	s.MaxAge = time.Duration(max(age, 0)) * time.Second
	s.StartingPosition, _ = p["StartingPosition"].(string)
	seconds, _ := p["MaximumBatchingWindowInSeconds"].(int)
	s.Window = time.Duration(seconds) * time.Second
	s.Bisect, _ = p["BisectBatchOnFunctionError"].(bool)
	s.PartialFailures = slices.Contains(texts(p["FunctionResponseTypes"]), "ReportBatchItemFailures")
	s.DeadLetters = object(object(p["DestinationConfig"])["OnFailure"])["Destination"] != nil
	filters, _ := object(p["FilterCriteria"])["Filters"].([]any)
	for _, f := range filters {
		pattern, _ := object(f)["Pattern"].(string)
		var o map[string]any
		if err := json.Unmarshal([]byte(pattern), &o); err != nil || len(o) == 0 {
			return s, fmt.Errorf("the filter pattern %q is not a JSON object with members", pattern)
		}
		s.Patterns = append(s.Patterns, pattern)
	}
	return s, nil
}
