package poller

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// deliveredUntil returns the time up to which a shard is delivered after the
// delivery of the records. The records are the result of a read that began at
// the given time. If there are none, the read has reached the end of the shard.
func deliveredUntil(began time.Time, records []received) time.Time {
	if len(records) == 0 {
		return began
	}
	return records[len(records)-1].Change.ApproximateCreationDateTime.Time
}

// note records that everything written to the shard before t is delivered. It then
// updates c.at, the time up to which all open shards are delivered. It does not wait for
// the end of the shard, because a read of a stream that is written without pause never
// reaches the end.
func (c *consumer) note(shard string, t time.Time) {
	c.delivered[shard] = t
	for _, s := range c.shards {
		id := aws.ToString(s.ShardId)
		if c.checkpoint.Shards[id].Done || !c.parentDone(s) {
			continue
		}
		if t = earlier(t, c.delivered[id]); t.IsZero() {
			return // shard s has not been read yet
		}
	}
	c.at.Store(max(c.at.Load(), t.UnixMilli()))
}

// earlier returns the earlier one of two times.
func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
