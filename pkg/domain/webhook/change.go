package webhook

import (
	"context"
	"slices"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// New returns a new webhook endpoint, which has no secret yet and is pending until it echoes
// a challenge. creator is the person who creates it. local is true in svc dev, where the
// address may be on the machine itself. Errors: a 400 with every fault.
func New(url, description string, types []string, creator string, now time.Time, local bool) (Record, error) {
	one := Record{Endpoint: Endpoint{ID: ids.New(ids.Webhook, now), URL: url, Description: description,
		Types: append([]string{}, types...), CreatedAt: timestamp.Format(now)}, CreatedBy: creator}
	one.challenge()
	return one, one.check(Endpoint{}, local)
}

// NewSecret returns a new secret of the endpoint with the id, plain and sealed. seal
// encrypts it.
func NewSecret(ctx context.Context, seal func(ctx context.Context, name string, plain []byte) ([]byte, error),
	t table.Tenant, id string) (secret, sealed []byte, err error) {
	secret = newSecret()
	sealed, err = seal(ctx, sealName(t, id), secret)
	return secret, sealed, err
}

// Replace gives the endpoint a new secret; sealed is its encrypted form. Until the given
// time, messages are signed with the old secret too.
func (r *Record) Replace(sealed []byte, until time.Time) {
	r.Previous, r.PreviousUntil, r.Secret = r.Secret, timestamp.Format(until), sealed
}

// Adding returns the change that adds an endpoint to the tenant's Book, the item with all
// its webhook endpoints.
func Adding(t table.Tenant, by audit.By, one Record) audit.Change[Book] {
	return audit.Change[Book]{Tenant: t, By: by, What: "webhook.create", Subject: one.ID,
		Key: Key(t), Kind: &Kind, Also: also(t),
		Edit: func(b *Book) error {
			return b.add(one, by.At)
		},
		Differing: func(_, _ Book) (before, after any) { return nil, one.Endpoint },
	}
}

// Editing returns the change of the tenant's endpoint with the id. The audit log names the
// change "webhook." and what. change edits the Book, the item with all endpoints, or the
// Record in it. Run sets out to the endpoint after the change, or as it was if the change
// removes it. The audit log shows no secrets.
func Editing(t table.Tenant, by audit.By, what, id string, out *Endpoint,
	change func(*Book, *Record) error) audit.Change[Book] {
	return audit.Change[Book]{Tenant: t, By: by, What: "webhook." + what, Subject: id,
		Key: Key(t), Kind: &Kind, Also: also(t), Shown: shownOf(id),
		Edit: func(b *Book) error {
			r := b.Find(id)
			if r == nil {
				return fault.NotFound()
			}
			*out = r.Endpoint
			if r.Subscription != nil && what != "delete" {
				return errSubscription
			}
			if err := change(b, r); err != nil {
				return err
			}
			if r := b.Find(id); r != nil {
				*out = r.Endpoint
			}
			return nil
		}}
}

// shownOf returns a function that returns what the audit log shows of the endpoint with
// the id.
func shownOf(id string) func(Book) any {
	return func(b Book) any {
		if r := b.Find(id); r != nil {
			return r.Endpoint
		}
		return nil
	}
}

// removed removes the endpoint r from the Book. It is passed to Editing as the change.
func removed(b *Book, r *Record) error {
	id := r.ID // r points into the list, which DeleteFunc changes
	b.Endpoints = slices.DeleteFunc(b.Endpoints, func(e Record) bool { return e.ID == id })
	return nil
}

// errSubscription is the 409 for a change of an agent's subscription by anybody else.
var errSubscription = fault.InvalidState("The endpoint is the subscription of an agent, which alone changes it. " +
	"You can remove it.")

// Ask adds to the transaction a request to the sender (pkg/background/deliver), and an audit
// entry, whose name is "webhook." and what. Errors: a 409 unless the endpoint is enabled and
// no agent's subscription.
func (r Record) Ask(tx *table.Tx, t table.Tenant, by audit.By, what string, q Request) error {
	if r.Subscription != nil {
		return errSubscription
	}
	if r.Status != Enabled {
		return fault.InvalidState("The webhook endpoint is %s. Only an enabled one gets events. "+
			"Start its receiver, then enable it.", r.Status)
	}
	tx.Create(q.Item(t, r.ID, ids.New(ids.Request, by.At), by.At))
	audit.Append(tx, t, by, "webhook."+what, r.ID, nil, q)
	return nil
}

// add adds an endpoint, or replaces the endpoint with the same id. An endpoint of a rider or
// driver is a subscription, which expires: add first removes those that have expired, so they
// do not count. Errors: a 409 if there are too many endpoints.
func (b *Book) add(one Record, now time.Time) error {
	b.Endpoints = slices.DeleteFunc(b.Endpoints, func(r Record) bool { return r.Subscription.expired(now) })
	if old := b.Find(one.ID); old != nil { // an echo of an earlier challenge must not count for the new endpoint
		one.Challenges, one.Challenged = old.Challenges+1, old.Challenged
		*old = one
		return nil
	}
	if one.Subscription.Person() != "" && len(b.Endpoints) >= MaxPersonal {
		return fault.InvalidState("You have %d subscriptions, the most there can be. End one first.", MaxPersonal)
	}
	if len(b.Endpoints) >= MaxEndpoints {
		return fault.InvalidState("The company has %d webhook endpoints, the most there can be. Remove one first.",
			MaxEndpoints)
	}
	b.Endpoints = append(b.Endpoints, one)
	return nil
}
