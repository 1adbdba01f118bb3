package poller

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// deliveredUntil returns the time before which everything is delivered when
// these records of a read are, the last that the shard has if there are none.
func deliveredUntil(began time.Time, records []types.Record) time.Time {
	if len(records) == 0 {
		return began
	}
	if last := records[len(records)-1].Dynamodb; last.ApproximateCreationDateTime != nil {
		return *last.ApproximateCreationDateTime
	}
	return time.Time{}
}

// note records that what was written to the shard before t is delivered. A
// stream that is written without pause never ends, so the end says too little.
func (c *consumer) note(shard string, t time.Time) {
	c.delivered[shard] = t
	for _, s := range c.shards {
		id := aws.ToString(s.ShardId)
		if c.checkpoint.Shards[id].Done || !c.parentDone(s) {
			continue
		}
		if t = earlier(t, c.delivered[id]); t.IsZero() {
			return // the shard has not been read
		}
	}
	c.at.Store(max(c.at.Load(), t.UnixMilli()))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
