package location

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
	"svc/pkg/edge/api"
)

// tag is the group of this endpoint in the OpenAPI document.
const tag = "Dispatch"

// Rows returns the endpoint of locations.
func Rows() []api.Row {
	return []api.Row{
		api.Put("/api/v1/me/location", "svc_report_location", authz.Drivers("driver.status:write"), report,
			api.Extension(), api.Needs(needs), api.Tag(tag), api.Summary("Report where the driver is"),
			api.Text("Send the position every few seconds while the driver works, and the newest one first after a time "+
				"without network. A position that was recorded before the stored one changes nothing: the response has the "+
				"stored one, and `stored` is false. So it does not matter in which order positions arrive, or from how many "+
				"devices. A position from more than a minute in the future is a 400. With `sentAt` a wrong clock of the phone "+
				"is corrected. Without it, the server's time is taken once reports are late by the same lag for three "+
				"seconds."),
			api.NoEvent("it comes every few seconds; `GET /drivers/locations` has the last one")),
	}
}

// needs returns the keys of the driver's stored position and of the driver's entry in the
// list by place. Both items are read together with the access checks.
func needs(t table.Tenant, p api.Peek) []table.Key {
	id := p.Actor().Subject
	return []table.Key{driver.LocationKey(t, id), ListingKey(t, id)}
}

// Input is the body of a report.
type Input struct {
	Body Position
}

// Position is a position that a phone sends.
type Position struct {
	driver.Location
	SentAt *string `json:"sentAt,omitempty" nullable:"true" maxLength:"100" example:"2026-01-31T08:00:01Z" doc:"The time of the phone when it sends the request, set anew for each attempt. If it is wrong by more than a minute, the clock of the phone is, and recordedAt is corrected. Without it a wrong clock is known only after some reports."`
}

// Reported is the response to a report: the stored position.
type Reported struct {
	driver.Location
	Stored     bool   `json:"stored" doc:"Whether the request's position is stored. Else the stored one was recorded later, or at the same time."`
	Late       bool   `json:"late" doc:"Whether the request's position says nothing about now, because its recordedAt is more than five minutes old: the driver gets no rides by it. If the phone has just measured it, its clock is slow."`
	ServerTime string `json:"serverTime" format:"date-time" doc:"The time of the server."`
}

// tolerance is how far in the future the time of a position may be. A position from
// further in the future would block the true ones, which do not replace a later position.
const tolerance = time.Minute

// report stores the position unless a later one is stored. Most reports write
// one item outside of a transaction.
func report(ctx context.Context, c *api.Caller, in *Input) (*Reported, error) {
	l, err := in.Body.normalized(c.Now)
	if err != nil {
		return nil, err
	}
	id := c.Actor.Subject
	was, err := c.Item(ctx, driver.LocationKey(c.Tenant, id))
	if err != nil {
		return nil, err
	}
	entry, err := c.Item(ctx, ListingKey(c.Tenant, id))
	if err != nil {
		return nil, err
	}
	return Reporter{Tenant: c.Tenant, Driver: id, Now: c.Now, Commit: c.Commit,
		State: func(ctx context.Context) (table.Item, error) {
			state, err := c.Live(ctx)
			return state.Actor, err
		}}.Store(ctx, l, was, entry)
}

// Reporter stores the positions of one driver.
type Reporter struct {
	Tenant table.Tenant
	Driver string
	Now    time.Time
	State  func(context.Context) (table.Item, error) // the driver's item
	// Commit commits a transaction. answer is the response.
	Commit func(ctx context.Context, tx *table.Tx, answer any) error
}

// Store stores the position l unless a later one is stored, and returns the response. was
// is the item of the stored position, and entry the item of the driver's entry in the list
// by place, as the caller read them.
func (r Reporter) Store(ctx context.Context, l driver.Location, was, entry table.Item) (out *Reported, err error) {
	sent := l
	err = table.Retry(ctx, func(ctx context.Context) (err error) {
		var late lateness
		if l, late, err = r.timed(sent, was); err != nil {
			return err
		}
		if out, err = r.stored(was, l); out != nil || err != nil {
			return err
		}
		out = &Reported{l, true, !IsFresh(l, r.Now), timestamp.Format(r.Now)}
		if err = r.write(ctx, l, late, was, entry, out); err == nil {
			return nil
		}
		if !table.Overtaken(err) {
			return err
		}
		items, err := r.Tenant.Batch(ctx, was.Key, entry.Key) // another request, maybe of another device, came first
		if err != nil {
			return err
		}
		was, entry = items[0], items[1]
		return table.ErrConflict
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// stored returns the response if the position in the item was is as recent as l or more
// recent. Otherwise it returns nil. It compares the times at which the phone recorded the
// positions, because positions may arrive in another order.
func (r Reporter) stored(was table.Item, l driver.Location) (*Reported, error) {
	old, ok, err := driver.LocationFromItem(was)
	if !ok || err != nil || old.RecordedAt < l.RecordedAt {
		return nil, err
	}
	return &Reported{old, false, !IsFresh(l, r.Now), timestamp.Format(r.Now)}, nil
}

// The bounds within which timed takes a phone's clock for slow. A lag is the time from
// recordedAt to the arrival. Positions that a phone kept while it had no network arrive at
// shorter intervals than they were recorded, so their lags differ.
const (
	slowest  = 24 * time.Hour  // a longer lag is not taken for a slow clock
	steady   = 2 * time.Second // the lags of a slow clock differ by at most this
	shortest = 3 * time.Second // a clock counts as slow after it has lagged this long
)

// lateness says since when a driver's reports arrive with the same lag: the time from
// recordedAt to the arrival.
type lateness struct {
	since time.Time
	lag   time.Duration
}

// timed returns the position l, with the server's time if the phone's clock is slow. The
// clock counts as slow if reports arrive with the same lag for a while. was is the item of
// the stored position. The caller must store the returned lateness with the position.
func (r Reporter) timed(l driver.Location, was table.Item) (driver.Location, lateness, error) {
	recorded, err := timestamp.Parse(l.RecordedAt)
	now := lateness{r.Now, r.Now.Sub(recorded)}
	if err != nil || now.lag <= tolerance || now.lag > slowest {
		return l, now, err
	}
	since, err := timestamp.Parse(was.Text("lateSince"))
	before := lateness{since, time.Duration(was.Int("lag")) * time.Millisecond}
	if err != nil || before.lag <= tolerance || (now.lag-before.lag).Abs() > steady {
		return l, now, nil //nolint:nilerr // an older build stored the position
	}
	if r.Now.Sub(since) >= shortest {
		l.RecordedAt = timestamp.Format(r.Now)
	}
	return l, before, nil
}

// The declaration of the items that hold a driver's position (table.Kind).
var _ = table.Kind[any]{Type: "location", Personal: "of a driver", Erasure: "deletes"}

// write stores the position l and, if it changes, the driver's entry in the list by place.
// was and entry are the items that they replace, and answer is the response. Errors:
// table.ErrCondition if a later position is stored.
func (r Reporter) write(
	ctx context.Context, l driver.Location, late lateness, was, entry table.Item, answer any,
) error {
	state, err := r.State(ctx)
	if err != nil {
		return err
	}
	it := table.Item{Key: was.Key, Type: "location", Doc: l, Preserve: was.Unknown(), Attrs: map[string]any{
		"recordedAt": l.RecordedAt, "lateSince": timestamp.Format(late.since), "lag": late.lag.Milliseconds()}}
	condition, args := "attribute_not_exists(pk)", []any(nil)
	if was.Found() {
		condition, args = "'recordedAt' < ?", []any{l.RecordedAt}
	}
	next, changed, err := relist(entry, state.Text("status"), l, r.Now)
	if err != nil {
		return err
	}
	first := !state.Flag(driver.Located)
	if !changed && !first {
		return r.Tenant.PutIf(ctx, it, condition, args...)
	}
	tx := r.Tenant.Write()
	tx.Put(it).If(condition, args...)
	if first {
		tx.Update(driver.Key(r.Tenant, r.Driver), table.Change{Set: map[string]any{driver.Located: true},
			Add: map[string]any{"version": 1}}).If("attribute_exists(pk)").Else(table.ErrConflict)
	}
	if !changed {
		return r.Commit(ctx, tx, answer)
	}
	listed := next.item(r.Tenant, r.Driver, entry, r.Now)
	if entry.Found() {
		tx.Put(listed).If("'version' = ?", entry.Version)
	} else {
		tx.Create(listed)
	}
	return r.Commit(ctx, tx, answer)
}

// corrected returns when the position was measured, by the server's clock. recorded and
// sent are times of the phone, and now is the server's. A late position may have been
// kept while there was no network, or the phone's clock may be slow; sent tells which.
// recorded stays as it is if it is plausible: a satellite may have set it although the
// phone's clock is wrong. It also stays if it is after sent, because then the two times
// come from different clocks.
func corrected(recorded, sent, now time.Time) time.Time {
	age, wrong := sent.Sub(recorded), now.Sub(sent).Abs()
	if now.Sub(recorded).Abs() <= tolerance || age < 0 || wrong <= tolerance || wrong > slowest {
		return recorded
	}
	return now.Add(-age)
}

// normalized rounds the numbers and returns the position with its time in the stored
// form. A negative heading, speed or accuracy becomes nil: phones send it for an unknown
// value. Errors: a 400 with every fault.
func (b Position) normalized(now time.Time) (driver.Location, error) {
	l := &b.Location
	var wrong fault.Faults
	wrong.Unless(money.Within(&l.Lat, 90), "body.lat", "expected degrees from -90 to 90")
	wrong.Unless(money.Within(&l.Lng, 180), "body.lng", "expected degrees from -180 to 180")
	for _, m := range []struct {
		field string
		n     **json.Number
		most  int64
	}{{"heading", &l.Heading, 360}, {"speed", &l.Speed, 1000}, {"accuracy", &l.Accuracy, 10_000_000}} {
		if *m.n == nil {
			continue
		}
		n := **m.n
		wrong.Unless(money.Within(&n, m.most), "body."+m.field, "expected a number up to %d", m.most)
		if *m.n = &n; strings.HasPrefix(string(n), "-") {
			*m.n = nil
		}
	}
	at, err := timestamp.ParseInput(l.RecordedAt)
	wrong.Unless(err == nil && !at.IsDate(), "body.recordedAt", "expected a date with a time, as in %s",
		timestamp.Format(now))
	recorded := at.From(time.UTC)
	if b.SentAt != nil {
		sent, unreadable := timestamp.ParseInput(*b.SentAt)
		wrong.Unless(unreadable == nil && !sent.IsDate(), "body.sentAt", "expected a date with a time, as in %s",
			timestamp.Format(now))
		if err == nil && unreadable == nil {
			recorded = corrected(recorded, sent.From(time.UTC), now)
		}
	}
	wrong.Unless(err != nil || !recorded.After(now.Add(tolerance)), "body.recordedAt",
		"is more than a minute in the future; the time now is %s. Set the clock of the phone", timestamp.Format(now))
	l.RecordedAt = timestamp.Format(recorded)
	return *l, wrong.Err()
}
