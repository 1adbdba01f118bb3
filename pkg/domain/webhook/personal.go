package webhook

import (
	"context"
	"slices"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// ownEvents is the access that a rider's or driver's agent needs to read the person's
// events, through the API or a subscription.
var ownEvents = authz.Both("rider.events:read", "driver.events:read")

// Person returns the rider or driver whose events the subscription is for. It is "" for
// the tenant's events, and for an endpoint that is no subscription.
func (s *Subscription) Person() string {
	if s == nil || s.Audience == string(authz.Dashboard) {
		return ""
	}
	return s.Actor
}

// wants reports whether the subscription includes the event. Without a subscription, the
// result is true.
func (s *Subscription) wants(e event.Event) bool {
	return s == nil || (s.Resource == "" || e.Of(s.Resource)) && (s.Person() == "" || e.Concerns(s.Person()))
}

// needs returns the access that a subscription of the audience needs.
func needs(audience string) []authz.Policy {
	if audience == string(authz.Dashboard) {
		return subscribers
	}
	return []authz.Policy{ownEvents}
}

// personOf returns the id of the caller if it is a rider or driver, "" for an operator.
func personOf(c *api.Caller) string {
	if c.Actor.Audience == string(authz.Dashboard) {
		return ""
	}
	return c.Actor.Subject
}

// personalLife is for how long, after a rider or driver subscribes, Book.Personal says that
// riders or drivers may have subscriptions. It is long, so that few subscriptions must write
// the tenant's Book, the item with all its webhook endpoints.
const personalLife = 2 * maxSubscriptionLife

// own directs a change of the tenant's Book (the item with all its endpoints) to the
// caller's own Book, if the caller is a rider or driver. It then also notes in the tenant's
// Book that persons have subscriptions, because otherwise the feed does not look for them.
// The audit log does not show the address of the subscription, whose id is id.
func own(c *api.Caller, change audit.Change[Book], id string) audit.Change[Book] {
	person := personOf(c)
	if person == "" {
		return change
	}
	change.Key, change.Differing = BookKey(c.Tenant, person), nil
	change.Shown = func(b Book) any {
		if r := b.Find(id); r != nil {
			return struct {
				ID     string   `json:"id"`
				Types  []string `json:"types"`
				Status string   `json:"status"`
			}{r.ID, r.Types, r.Status}
		}
		return nil
	}
	change.Also = func(ctx context.Context, tx *table.Tx, _, now Book) error {
		state, err := c.Live(ctx)
		if err != nil {
			return err
		}
		listed := ""
		if tenant.IsSandbox(state.Flags) {
			listed = person
		}
		return announce(ctx, tx, c.Tenant, now, c.Now, listed)
	}
	return change
}

// maxListed is the maximum number of persons in Personal.Persons.
const maxListed = 50

// says reports whether the note p, that persons may have subscriptions, needs no change: it
// lasts until the time until, and lists the person, if person is not "".
func (p *Personal) says(until, person string) bool {
	return p != nil && p.Until >= until && (person == "" || slices.Contains(p.Persons, person))
}

// list adds a person to the list Persons, if person is not "". It drops the oldest persons
// if there are more than maxListed.
func (p *Personal) list(person string) {
	if person == "" || slices.Contains(p.Persons, person) {
		return
	}
	p.Persons = append(slices.Clone(p.Persons), person)
	p.Persons = p.Persons[max(0, len(p.Persons)-maxListed):]
}

// announce notes in the tenant's Book that persons may have subscriptions, unless the
// Book says so for long enough. own is the person's Book. listed is the person to list in
// Persons, "" for nobody.
func announce(ctx context.Context, tx *table.Tx, t table.Tenant, own Book, now time.Time, listed string) error {
	it, err := t.Get(ctx, Key(t))
	if err != nil {
		return err
	}
	book, err := Kind.FromItem(it)
	if err != nil {
		return err
	}
	last := timestamp.Format(now)
	for _, r := range own.Endpoints {
		last = max(last, r.Subscription.RefreshBefore)
	}
	next := Personal{Until: timestamp.Format(now.Add(personalLife))}
	switch {
	case len(own.Endpoints) == 0 || book.Personal.says(last, listed):
		return nil
	case book.Personal.Live(now):
		next.Start, next.Persons = book.Personal.Start, book.Personal.Persons
	default:
		after, err := event.Newest(ctx, t)
		if err != nil {
			return err
		}
		next.Start = Start{After: after, Enabling: book.Version + 1}
	}
	next.list(listed)
	book.Personal = &next
	audit.Put(tx, it, Kind.Item(t, "", book))
	book.PutCopies(tx, t)
	return nil
}
