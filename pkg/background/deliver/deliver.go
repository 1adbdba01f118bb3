package deliver

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"reflect"
	"time"

	"svc/pkg/access/signing"
	"svc/pkg/base/ids"
	"svc/pkg/base/panics"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/webhook"
)

// Worker sends events to webhook endpoints.
type Worker struct {
	DB      *table.DB
	Now     func() time.Time
	Secrets signing.Sealer
	Client  http.RoundTripper
	// Later puts messages into the queue. A delay is at most MaxDelay.
	Later func(ctx context.Context, delay time.Duration, messages ...webhook.Message) error
	// Mail tells a person that an endpoint of the tenant was disabled; nil tells nobody.
	Mail func(ctx context.Context, tenant, person, subject, text string) error
}

// MaxDelay is the longest delay in the queue. An attempt after a longer pause has only a
// due task.
const MaxDelay = 15 * time.Minute

// schedule has the pauses before the second and each later attempt of a delivery.
var schedule = []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour}

// jitter returns the pause, changed at random by up to a fifth.
func jitter(pause time.Duration) time.Duration {
	return pause + time.Duration((mathrand.Float64()*0.4-0.2)*float64(pause)) //nolint:gosec // jitter is no secret
}

// Book returns the list of due tasks (pkg/data/due) in which the next attempt of the
// message is stored.
func (w Worker) Book(m webhook.Message) due.Book { return webhook.Due(w.DB, w.Now, m.Shard) }

// Sweep calls do with the message of each due task. Several lists have such tasks; an
// error in one list does not delay the others.
func (w Worker) Sweep(ctx context.Context, do func(context.Context, webhook.Message) error) error {
	group := panics.NewGroup()
	group.SetLimit(2)
	for _, book := range webhook.AllDue(w.DB, w.Now) {
		group.Go(func() error {
			return book.Sweep(ctx, func(ctx context.Context, k due.Task) error {
				var m webhook.Message
				if err := json.Unmarshal([]byte(k.ID), &m); err != nil {
					return err
				}
				return do(ctx, m)
			})
		})
	}
	return group.Wait()
}

// Handle processes one message: a challenge to an endpoint, an operator's request, an
// attempt to deliver an event, or the advance of a sandbox's time. After an error the
// queue must deliver the message again. A panic is returned as an error.
func (w Worker) Handle(ctx context.Context, m webhook.Message) (err error) {
	defer panics.Catch(&err)
	t := w.DB.Tenant(m.Tenant)
	switch {
	case w.Secrets == nil:
		return errors.New("this process cannot send webhooks: it has no key to open their secrets")
	case m.Challenge > 0:
		return w.challenge(ctx, t, m)
	case m.Request != "":
		return w.request(ctx, t, m)
	case m.Event != "":
		return w.send(ctx, t, m)
	case m.Advance > 0:
		return w.advance(ctx, t, time.Duration(m.Advance)*time.Second)
	}
	return nil
}

// send makes one attempt to deliver an event. If the endpoint changes while the
// connection is opened, nothing is sent, and send tries once more with the endpoint's new
// state.
func (w Worker) send(ctx context.Context, t table.Tenant, m webhook.Message) error {
	err := w.attempt(ctx, t, m)
	if errors.Is(err, errEnded) {
		err = w.attempt(ctx, t, m)
	}
	return err // after a second change the queue delivers the message again
}

// attempt makes attempt number m.Attempt and records its result. It does nothing if the
// endpoint was removed, the attempt was made before, or the event is no longer in the
// feed. It returns errEnded if the endpoint changed before the message was sent.
func (w Worker) attempt(ctx context.Context, t table.Tenant, m webhook.Message) error {
	items, err := t.Batch(ctx, webhook.KeyFor(t, m.Person, m.Shard), event.Key(t, m.Shard, m.Number),
		webhook.DeliveryKey(t, m.Endpoint, m.Shard, m.Event))
	if err != nil {
		return err
	}
	if m.Attempt > 1 && !items[2].Found() { // older builds stored the delivery under shard 0
		if items[2], err = t.Get(ctx, webhook.DeliveryKey(t, m.Endpoint, 0, m.Event)); err != nil {
			return err
		}
	}
	book, err := w.spread(ctx, t, m, items[0])
	if err != nil {
		return err
	}
	r, sent := book.Find(m.Endpoint), webhook.Sent{}
	if items[2].Found() {
		if sent, err = webhook.SentFromItem(items[2]); err != nil {
			return err
		}
	}
	if r == nil || sent.Made >= m.Attempt || !items[1].Live(w.Now()) {
		return nil // the endpoint is removed, the attempt was made, or the event has left the feed
	}
	e, err := table.DecodeDoc[event.Event](items[1])
	if err != nil || e.ID != m.Event || m.Person != "" && !e.Concerns(m.Person) {
		return err
	}
	sent.EventID, sent.Type, sent.Shard, sent.Number = e.ID, e.Type, m.Shard, m.Number
	if m.Round {
		sent.Tries = 0
	}
	if waited, waits := r.Waits(w.Now(), retryFor); waits {
		return w.wait(ctx, t, m, sent, waited)
	}
	if r.Status != webhook.Enabled {
		sent.Status, sent.NextAt = webhook.Failed, nil
		return w.record(ctx, t, m, sent, webhook.Attempt{At: timestamp.Format(w.Now()), Result: webhook.Disabled}, nil)
	}
	secrets, err := r.Open(ctx, w.Secrets, t, w.Now())
	if err != nil {
		return fmt.Errorf("secret of %s: %w", r.ID, err)
	}
	body := []byte(items[1].Raw())
	if s := r.Subscription; s != nil {
		if body, err = s.Body(e, items[1].Raw()); err != nil {
			return err
		}
		if err := w.stands(ctx, t, r); err != nil {
			return unlessEnded(err)
		}
	}
	at := timestamp.Format(w.Now())
	out := w.post(ctx, t, r, e.ID, body, secrets, false)
	if out.word == webhook.Disabled {
		return errEnded
	}
	return w.conclude(ctx, t, m, r, sent, at, out)
}

// conclude records the result (out) of the attempt that was made at the time at. It also
// plans the next attempt, if there is to be one.
func (w Worker) conclude(ctx context.Context, t table.Tenant, m webhook.Message, r *webhook.Record, sent webhook.Sent,
	at string, out outcome) error {
	attempt := webhook.Attempt{At: at, Result: out.word, Millis: out.took.Milliseconds()}
	if out.err != nil {
		return out.err
	}
	moved, err := w.saveState(ctx, t, r, out.word)
	if err != nil {
		return err
	}
	sent.Tries++
	if out.word == webhook.Succeeded || out.word == webhook.Gone && !moved || sent.Tries > len(schedule) {
		sent.Status, sent.NextAt = webhook.Failed, nil
		if out.word == webhook.Succeeded {
			sent.Status = webhook.Succeeded
		}
		return w.record(ctx, t, m, sent, attempt, nil)
	}
	pause := max(jitter(schedule[sent.Tries-1]), out.after)
	next := w.Now().Add(pause)
	sent.Status, sent.NextAt = webhook.Waiting, timestamp.Ptr(next)
	return w.record(ctx, t, m, sent, attempt, &next)
}

// record stores the result of attempt number m.Attempt. If next is not nil, the same
// transaction adds the due task of the next attempt at that time.
func (w Worker) record(ctx context.Context, t table.Tenant, m webhook.Message, sent webhook.Sent,
	made webhook.Attempt, next *time.Time) error {
	sent.Made, sent.UpdatedAt = m.Attempt, made.At
	sent.Attempts = append(sent.Attempts, made)
	sent.Attempts = sent.Attempts[max(0, len(sent.Attempts)-webhook.MaxAttempts):]
	it := sent.Item(t, m.Endpoint, w.Now())
	if next == nil {
		return t.Load(ctx, it) // a transaction would cost twice as much, and nothing else is written
	}
	m.Attempt, m.Round = m.Attempt+1, false
	tx := t.Write()
	tx.Put(it)
	w.Book(m).Add(tx, webhook.TaskOf(m, *next))
	if err := table.Retry(ctx, tx.Commit); err != nil {
		return err
	}
	if delay := next.Sub(w.Now()); delay <= MaxDelay {
		if err := w.Later(ctx, max(delay, 0), m); err != nil {
			slog.WarnContext(ctx, "webhook: the next attempt waits until the sweep", "error", err)
		}
	}
	return nil
}

// saveState updates an endpoint after an attempt with the result word. It stores since
// when the endpoint fails, and disables the endpoint after a 410 or after
// webhook.FailingFor of failures. moved reports whether the endpoint's address has
// changed meanwhile; then a 410 says nothing about the new address.
func (w Worker) saveState(ctx context.Context, t table.Tenant, r *webhook.Record, word string) (moved bool, err error) {
	failed := word != webhook.Succeeded
	since := r.FailingSince
	switch {
	case !failed && since == nil, failed && since != nil && word != webhook.Gone && !w.late(*since):
		return false, nil
	case failed && word != webhook.Gone && w.lately(r.RecoveredAt):
		return false, nil
	}
	err = w.change(ctx, t, r.Subscription.Person(), r.ID, func(one *webhook.Record, _ *table.Tx) {
		moved = one.URL != r.URL
		switch {
		case one.Status != webhook.Enabled || moved:
		case !failed:
			if one.FailingSince != nil {
				one.FailingSince, one.RecoveredAt = nil, timestamp.Format(w.Now())
			}
		case word == webhook.Gone:
			one.Disable(webhook.Gone, w.Now())
		case one.FailingSince == nil && w.lately(one.RecoveredAt):
		case one.FailingSince == nil:
			one.FailingSince = timestamp.Ptr(w.Now())
		case w.late(*one.FailingSince):
			one.Disable(webhook.Failing, w.Now())
		}
	})
	return moved, err
}

// late reports whether an endpoint that has failed since the timestamp has failed for
// longer than webhook.FailingFor.
func (w Worker) late(since string) bool {
	at, err := timestamp.Parse(since)
	return err == nil && w.Now().Sub(at) > webhook.FailingFor
}

// lately reports whether an endpoint recovered within the last minute; recovered is the
// timestamp. saveState ignores a failure in that minute, and stores a later one.
// Otherwise an endpoint that fails now and then would be rewritten for almost every
// event.
func (w Worker) lately(recovered string) bool {
	at, err := timestamp.Parse(recovered)
	return err == nil && w.Now().Sub(at) < time.Minute
}

// edit applies f to the tenant's endpoints or, if person is not "", to the person's
// subscriptions, and stores them. f returns false if nothing is to be written. Writes
// that f adds to the transaction are committed together with the endpoints.
func edit(ctx context.Context, t table.Tenant, person string, f func(*webhook.Book, *table.Tx) bool) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		it, err := t.Get(ctx, webhook.BookKey(t, person))
		if err != nil {
			return err
		}
		book, err := webhook.Kind.FromItem(it)
		if err != nil {
			return err
		}
		tx := t.Write()
		if !f(&book, tx) {
			return nil
		}
		audit.Put(tx, it, webhook.Kind.Item(t, "", book))
		book.PutCopies(tx, t)
		return tx.Commit(ctx)
	})
}

// change applies f to the endpoint with the id, if it still exists, and stores it. If f
// disables a company's endpoint, change sends a mail to the operator who created it.
func (w Worker) change(ctx context.Context, t table.Tenant, person, id string,
	f func(*webhook.Record, *table.Tx)) error {
	var told *webhook.Record
	err := edit(ctx, t, person, func(book *webhook.Book, tx *table.Tx) bool {
		told = nil
		r := book.Find(id)
		if r == nil {
			return false
		}
		was := *r
		f(r, tx)
		if reflect.DeepEqual(was, *r) {
			return false
		}
		if person == "" && was.Status == webhook.Enabled && r.Status == webhook.Disabled {
			one := *r
			told = &one
		}
		return true
	})
	if err != nil || told == nil || w.Mail == nil {
		return err
	}
	if err := w.Mail(ctx, t.ID(), told.CreatedBy, "A webhook endpoint was disabled", "Events are no longer sent to the "+
		"webhook endpoint "+told.ID+" ("+*told.Reason+"). Mend the receiver, then enable the endpoint again and replay what "+
		"it missed."); err != nil {
		slog.WarnContext(ctx, "webhook: a mail was not sent", "error", err)
	}
	return nil
}

// challenge asks a pending endpoint whether it wants events. The challenge is recorded
// before it is sent, so each request of an operator leads to at most one challenge. The
// endpoint gets nothing else until it has echoed one.
func (w Worker) challenge(ctx context.Context, t table.Tenant, m webhook.Message) error {
	var r webhook.Record
	err := w.change(ctx, t, m.Person, m.Endpoint, func(one *webhook.Record, _ *table.Tx) {
		r = webhook.Record{}
		if one.Status == webhook.Pending && one.Challenges == m.Challenge && one.Challenged < m.Challenge {
			one.Challenged = m.Challenge
			r = *one
		}
	})
	if err != nil || r.ID == "" {
		return err
	}
	secrets, err := r.Open(ctx, w.Secrets, t, w.Now())
	if err != nil {
		return fmt.Errorf("secret of %s: %w", r.ID, err)
	}
	text := rand.Text()
	body, err := json.Marshal(webhook.Challenge{Type: "verification", Challenge: text,
		Timestamp: timestamp.Format(w.Now())})
	if err != nil {
		return err
	}
	if err := w.stands(ctx, t, &r); err != nil {
		return unlessEnded(err)
	}
	out := w.post(ctx, t, &r, "challenge_"+text, body, secrets, true)
	if out.err != nil || out.word == webhook.Disabled {
		return out.err
	}
	var echo webhook.Echo
	if out.word == webhook.Succeeded && (json.Unmarshal(out.echo, &echo) != nil ||
		subtle.ConstantTimeCompare([]byte(echo.Challenge), []byte(text)) != 1) {
		out.word = "challenge_failed"
	}
	after, err := event.Newest(ctx, t)
	if err != nil {
		return err
	}
	var gone []int64
	if r.Held != nil {
		if gone, err = event.At(ctx, t, len(after), w.Now().Add(-retryFor)); err != nil {
			return err
		}
	}
	return edit(ctx, t, m.Person, func(book *webhook.Book, tx *table.Tx) bool {
		one := book.Find(m.Endpoint)
		switch {
		case one == nil || one.Status != webhook.Pending || one.Challenges != m.Challenge:
			return false
		case out.word != webhook.Succeeded:
			one.Reason = &out.word
		default:
			if missed := book.Verified(one, after, gone, w.Now()); missed != nil {
				tx.Create(missed.Item(t, m.Endpoint, ids.New(ids.Request, w.Now()), w.Now()))
			}
		}
		return true
	})
}

// perPage is how many events of a shard, or deliveries of an endpoint, are read at once.
const perPage = 100
