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

// ownEvents is the right that a rider's or driver's agent needs to read the person's
// events, at the API and by a subscription.
var ownEvents = authz.Both("rider.events:read", "driver.events:read")

// Person returns the rider or driver whose events the subscription is for. It is "" for
// the tenant's events, and for an endpoint that is no subscription.
func (s *Subscription) Person() string {
	if s == nil || s.Audience == string(authz.Dashboard) {
		return ""
	}
	return s.Actor
}

// wants reports whether an event is one of those that the subscription is for.
func (s *Subscription) wants(e event.Event) bool {
	return s == nil || (s.Resource == "" || e.Of(s.Resource)) && (s.Person() == "" || e.Concerns(s.Person()))
}

// needs returns the rights that a subscription of the audience needs.
func needs(audience string) []authz.Policy {
	if audience == string(authz.Dashboard) {
		return subscribers
	}
	return []authz.Policy{ownEvents}
}

// personOf returns the caller if that is a rider or driver, "" for an operator.
func personOf(c *api.Caller) string {
	if c.Actor.Audience == string(authz.Dashboard) {
		return ""
	}
	return c.Actor.Subject
}

// personalLife is for how long a tenant's endpoints say, from one subscription of a
// person on, that there may be some. It is long, so that few subscriptions write it.
const personalLife = 2 * maxSubscriptionLife

// own makes a change of the tenant's endpoints one of the subscriptions of the caller.
// It also says at the tenant's endpoints that persons have subscriptions: without that,
// the feed looks for none. The audit log does not show a person's address.
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

// maxListed is the maximum number of persons whom the endpoints of a sandbox list.
const maxListed = 50

// says reports whether nothing must be added: it lasts until the time, and the person,
// if any, is listed.
func (p *Personal) says(until, person string) bool {
	return p != nil && p.Until >= until && (person == "" || slices.Contains(p.Persons, person))
}

// list adds a person, if any.
func (p *Personal) list(person string) {
	if person == "" || slices.Contains(p.Persons, person) {
		return
	}
	p.Persons = append(slices.Clone(p.Persons), person)
	p.Persons = p.Persons[max(0, len(p.Persons)-maxListed):]
}

// announce says at the tenant's endpoints that persons may have subscriptions, unless
// they say so for long enough. listed is whom they must list, "" for nobody.
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
