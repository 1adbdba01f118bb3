package deliver

import (
	"context"
	"time"

	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/webhook"
)

// retryFor is how long a delivery is tried. It is also the longest time that a delivery
// waits until the endpoint's new address is confirmed.
var retryFor = func() (all time.Duration) {
	for _, pause := range schedule {
		all += pause
	}
	return all
}()

// wait plans the attempt for a later time, because the endpoint's new address is not
// confirmed yet. waited is how long the endpoint has waited for the confirmation; the
// pause grows with it. Only the due task continues the delivery: for any other message
// about the same attempt, wait finds a later time stored and does nothing.
func (w Worker) wait(ctx context.Context, t table.Tenant, m webhook.Message, sent webhook.Sent,
	waited time.Duration) error {
	now := w.Now()
	if sent.NextAt != nil && sent.Status == webhook.Waiting && *sent.NextAt > timestamp.Format(now) {
		return nil
	}
	next := now.Add(pauseFor(waited))
	sent.Status, sent.NextAt = webhook.Waiting, timestamp.Ptr(next)
	if sent.Attempts == nil {
		sent.Attempts, sent.UpdatedAt = []webhook.Attempt{}, timestamp.Format(now)
	}
	tx := t.Write()
	tx.Put(sent.Item(t, m.Endpoint, now))
	w.Book(m).Add(tx, webhook.TaskOf(m, next))
	return table.Retry(ctx, tx.Commit)
}

// pauseFor returns the pause before a delivery to an unconfirmed address is looked at
// again: as long as it has waited so far, from 5 seconds to an hour.
func pauseFor(waited time.Duration) time.Duration { return min(max(waited, schedule[0]), time.Hour) }
