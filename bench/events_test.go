package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/pkg/background/feed"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/webhook"
)

// told is what one event consumes that is sent to one endpoint: in all, and at each key
// of the tenant.
type told struct {
	all  load
	keys map[string]load // by shape
}

// The bounds of what one event consumes. TestUnits fails if they are exceeded.
const (
	mostEventWrites = 9.0
	leastEvents     = 10_000.0 // events a second that the feed of one tenant takes
)

// The keys of a shard of the feed, of what was passed on of it, of the records of an
// endpoint's deliveries, and of a copy of the endpoints.
const (
	feedKey     = "T#{tenant}#EVENTS#n"
	sentKey     = feedKey + "#SENT"
	endpointKey = "T#{tenant}#WEBHOOK#{endpoint}#n"
	copyKey     = "T#{tenant}#WEBHOOK#COPY#n"
)

var aShard = regexp.MustCompile(`#EVENTS#\d+#SENT$`)

// hottest returns the key that limits the events of a tenant with one endpoint, if each
// comes in a transaction of its own and the shards get the same number.
func (e told) hottest() (hot ceiling) {
	for shape, n := range map[string]float64{feedKey: tenant.MaxShards, sentKey: tenant.MaxShards,
		endpointKey: tenant.MaxShards, copyKey: webhook.Copies} {
		if l := (load{}).plus(e.keys[shape], n); l.share() > hot.load.share() {
			hot = ceiling{shape, l}
		}
	}
	return hot
}

// most returns how many events a second such a tenant may have.
func (e told) most() float64 { return 1 / e.hottest().load.share() }

// check returns an error if an event consumes more than it may.
func (e told) check() error {
	switch {
	case e.keys[feedKey].writes == 0:
		return errors.New("an event writes nothing into the feed")
	case e.all.writes > mostEventWrites:
		return fmt.Errorf("an event with one endpoint takes %s write units, at most %s wanted", units(e.all.writes),
			units(mostEventWrites))
	case e.most() < leastEvents:
		return fmt.Errorf("one tenant with one endpoint has at most %.0f events a second, at least %.0f wanted", e.most(),
			leastEvents)
	}
	return nil
}

// measureEvent counts the units of one event of a trip, from the change in the stream to the
// record of its delivery. The stream functions must not run.
func (c *counted) measureEvent(ctx context.Context) (out told, err error) {
	const events = 4
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer receiver.Close()
	t := c.rt.DB.Tenant(c.tenant.ID)
	if err := c.endpoint(ctx, t, receiver.URL); err != nil {
		return out, err
	}
	var queue []webhook.Message
	put := func(_ context.Context, _ time.Duration, messages ...webhook.Message) error {
		queue = append(queue, messages...)
		return nil
	}
	step, sender := feed.Function{DB: c.rt.DB, Now: c.now, Send: put}, c.rt.Sender()
	sender.Later = put
	loads := map[string]load{}
	for range events {
		change, err := c.booked(ctx, t)
		if err != nil {
			return out, err
		}
		c.keys.take()
		if err := step.Change(ctx, change); err != nil {
			return out, err
		}
		for _, m := range queue {
			if err := sender.Handle(ctx, m); err != nil {
				return out, err
			}
		}
		if len(queue) != 1 {
			return out, fmt.Errorf("an event made %d messages", len(queue))
		}
		queue = nil
		taken, all := c.keys.take()
		out.all = out.all.plus(all, events)
		for key, l := range taken {
			shape := c.eventShape(key)
			loads[shape] = loads[shape].plus(l, events)
		}
	}
	out.keys = map[string]load{}
	for shape, l := range loads {
		switch {
		case scopeOf(shape) != "{tenant}" && !strings.Contains(shape, "#WEBHOOK#"):
			continue
		case !strings.Contains(shape, "#EVENTS#") && !strings.Contains(shape, "#WEBHOOK#"): // these are of one event only
			l = load{}.plus(l, float64(spread(shape, shardsOfUnits)))
		}
		out.keys[shape] = l
	}
	// Neither engine says what a batch of writes takes. Each of these items has less than a KB.
	for _, key := range []string{sentKey, endpointKey} {
		out.all.writes++
		out.keys[key] = out.keys[key].plus(load{writes: 1}, 1)
	}
	return out, out.check()
}

// eventShape returns the shape of a key. Keys of the first shard, which have no number,
// have the shape of the others.
func (c *counted) eventShape(key string) string {
	shape := aShard.ReplaceAllString(c.keys.shape(key), "#EVENTS#n#SENT")
	switch {
	case shape == "T#{tenant}#WEBHOOKS":
		return copyKey
	case strings.Contains(shape, "#WEBHOOK#{request}"):
		return endpointKey
	}
	return shape
}

// endpoint writes an enabled endpoint at the address, the only one, which gets what
// comes from now on, and its copies.
func (c *counted) endpoint(ctx context.Context, t table.Tenant, address string) error {
	one, err := webhook.New(address, "", nil, "usr_1", c.now(), true)
	if err != nil {
		return err
	}
	if _, one.Secret, err = webhook.NewSecret(ctx, c.rt.Sealer.Seal, t, one.ID); err != nil {
		return err
	}
	after, err := event.Newest(ctx, t)
	if err != nil {
		return err
	}
	one.Challenged = one.Challenges
	book := webhook.Book{Endpoints: []webhook.Record{one}}
	book.Verified(&book.Endpoints[0], after, nil, c.now())
	book.Copies = webhook.Copies
	tx := t.Write()
	tx.Put(webhook.Kind.Item(t, "", book))
	book.PutCopies(tx, t)
	return tx.Commit(ctx)
}

// booked stores a new trip of which the feed has nothing.
func (c *counted) booked(ctx context.Context, t table.Tenant) (stream.Change, error) {
	at := timestamp.Format(c.now())
	tr := trip.Trip{ID: ids.New(ids.Trip, c.now()), Status: trip.Pending, CustomerID: c.ids["rider"], Currency: "USD",
		OriginLat: "1", OriginLng: "1", RequestedAt: at, UpdatedAt: at, Version: 1}
	if err := t.Load(ctx, tr.Item(t, 1)); err != nil {
		return stream.Change{}, err
	}
	it, err := t.Get(ctx, trip.Key(t, tr.ID))
	return stream.Change{Key: it.Key, New: it}, err
}

// The check of events can fail: for too many units, for a hot shard, and if nothing was
// measured.
func TestEventCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		writes, shard, sent float64
		ok                  bool
	}{
		"as wanted": {9, 5, 1, true}, "too many units": {9.5, 5, 1, false}, "a hot shard": {9, 6.5, 1, false},
		"a hot row of what was passed on": {9, 1, 6.5, false}, "nothing": {0, 0, 0, false},
	} {
		e := told{load{writes: tt.writes}, map[string]load{feedKey: {writes: tt.shard}, sentKey: {writes: tt.sent}}}
		if err := e.check(); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
