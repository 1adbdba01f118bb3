package deliver

import (
	"context"
	"time"

	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/webhook"
)

// retryFor is how long a delivery is tried, and how long it waits for an address that is
// not confirmed.
var retryFor = func() (all time.Duration) {
	for _, pause := range schedule {
		all += pause
	}
	return all
}()

// wait makes the attempt due again, because the endpoint's new address is not confirmed.
// The longer it waits, the longer are the pauses. The row that is due is the only one that
// goes on: another message for the same attempt finds that the attempt is not due.
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

// pauseFor returns the pause of what has waited for a confirmation.
func pauseFor(waited time.Duration) time.Duration { return min(max(waited, schedule[0]), time.Hour) }
