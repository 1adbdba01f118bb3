package robots

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/dispatch"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/location"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
)

// Words for the notes of a ride in a sandbox, by which the rider chooses what the robots do.
const (
	ignore = "robot:ignore"  // no robot takes the ride
	cancel = "robot:cancel"  // the driver does not come, and the ride is cancelled
	slow   = "robot:late"    // the driver comes four times slower
	noShow = "robot:no_show" // the rider does not come, and the ride is cancelled
)

// asks reports whether the notes of the trip contain the word.
func asks(t trip.Trip, word string) bool { return t.Notes != nil && strings.Contains(*t.Notes, word) }

// How long robots (simulated drivers and riders) take for something, and their limits in one step.
const (
	thinks   = 2 * time.Second  // before a driver accepts
	boards   = 15 * time.Second // the shortest time between arrival and start
	gives    = 60 * time.Second // until a driver stops waiting for the rider
	refuses  = 10 * time.Second // until a driver who does not come cancels
	answered = 30 * time.Second // a search has ended if the trip is PENDING for so long
	aimless  = 3 * time.Minute  // the duration of a ride without a destination
	longest  = 90 * time.Second // the longest drive in one step, even if the last step was longer ago
	reports  = 2 * time.Minute  // between the positions of a robot without a ride
	actions  = 8                // the largest number of actions of a robot in one step
)

// accept lets robots take the trips that wait for a driver. ahead is additional time that
// counts as passed.
func (v *view) accept(ctx context.Context, ahead time.Duration) error {
	idle := v.idle()
	waiting := slices.DeleteFunc(slices.Clone(v.trips), func(t open) bool {
		return !t.Status.Acceptable() || asks(t.Trip, ignore) || v.since(&t.UpdatedAt)+ahead < thinks
	})
	if len(waiting) == 0 || len(idle) == 0 {
		return nil
	}
	offered, err := v.offers(ctx, idle)
	if err != nil {
		return err
	}
	slices.SortStableFunc(waiting, func(a, b open) int { return cmp.Compare(a.RequestedAt, b.RequestedAt) })
	for _, t := range waiting {
		id, ok := offered[t.ID]
		if !ok && !v.searched(t.Trip) {
			id, ok = v.next(idle, t.Trip)
		}
		if n := slices.Index(idle, id); ok && n >= 0 {
			idle = slices.Delete(idle, n, n+1)
			v.report(ctx, "accept", t.ID, v.take(ctx, id, t))
		}
	}
	return nil
}

// searched reports whether the service is searching a driver for the trip. If so, a robot
// takes the trip only with an offer.
func (v *view) searched(t trip.Trip) bool {
	return t.Dispatched && v.settings.Dispatch.Mode == settings.Offers &&
		(t.Status != trip.Pending || v.since(&t.UpdatedAt) < answered)
}

// idle returns the ids of the robot drivers that could take a trip.
func (v *view) idle() []string {
	return slices.DeleteFunc(slices.Clone(v.roster.Drivers), func(id string) bool {
		r, ok := v.drivers[id]
		return !ok || r.Disabled || r.Status != driver.Online || r.Trip != "" ||
			slices.ContainsFunc(v.trips, func(t open) bool { return t.DriverID != nil && *t.DriverID == id })
	})
}

// offers returns the robots among idle that hold an offer. The key is the trip that is
// offered, the value the robot's id.
func (v *view) offers(ctx context.Context, idle []string) (map[string]string, error) {
	out := map[string]string{}
	if v.settings.Dispatch.Mode != settings.Offers {
		return out, nil
	}
	keys := make([]table.Key, len(idle))
	for i, id := range idle {
		keys[i] = dispatch.OfferKey(v.tenant, id)
	}
	items, err := v.tenant.Batch(ctx, keys...)
	if err != nil {
		return nil, err
	}
	for i, it := range items {
		o, held, err := dispatch.Held(it, v.now)
		if err != nil {
			return nil, err
		}
		if held {
			out[o.TripID] = idle[i]
		}
	}
	return out, nil
}

// next returns the id of the nearest of the idle robots that drive the service type of
// the trip.
func (v *view) next(idle []string, t trip.Trip) (id string, ok bool) {
	best := 0.0
	for _, one := range idle {
		if !dispatch.Drives(v.drivers[one], t.ServiceTypeID) {
			continue
		}
		if d := v.place(one).metres(at(t.OriginLat, t.OriginLng)); !ok || d < best {
			id, best, ok = one, d, true
		}
	}
	return id, ok
}

// take accepts the trip for the robot driver with the id, and updates v so that the robot
// already drives in the same step.
func (v *view) take(ctx context.Context, id string, t open) error {
	if _, err := v.store().Accept(ctx, t.item, id); err != nil {
		return err
	}
	it, err := v.tenant.Get(ctx, t.item.Key)
	if err != nil {
		return err
	}
	next, err := trip.FromItem(it)
	if n := slices.IndexFunc(v.trips, func(one open) bool { return one.ID == t.ID }); err == nil {
		v.trips[n] = open{next, it}
	}
	if r := v.drivers[id]; next.Engaged {
		r.Status = driver.Busy
		v.drivers[id] = r
	}
	return err
}

// place returns where the robot with the id is: at its stored position, else at a corner
// that depends on the id only.
func (v *view) place(id string) point {
	if l, ok, err := driver.LocationFromItem(v.positions[id]); ok && err == nil {
		return at(l.Lat, l.Lng)
	}
	return cornerOf(id).in(v.roster)
}

// run is one robot driver in one step.
type run struct {
	*view
	driver.Record
	position table.Item
	place    point
	left     time.Duration // the time that the robot may still use in this step
	moved    time.Duration // the time since the stored position that the robot has not driven yet
	saved    int           // positions in this step; each is recorded a millisecond later than the one before
}

// drive lets the robot continue its trip or, without a trip, report its position. ahead
// is additional time that counts as passed.
func (v *view) drive(ctx context.Context, r driver.Record, ahead time.Duration) error {
	one := &run{view: v, Record: r, position: v.positions[r.ID], place: v.place(r.ID), left: ahead}
	l, ok, err := driver.LocationFromItem(one.position)
	if err != nil {
		return err
	}
	if one.moved = longest; ok {
		one.moved = min(longest, v.since(&l.RecordedAt))
	}
	for _, t := range v.trips {
		if t.DriverID != nil && *t.DriverID == r.ID && t.Status.Driven() {
			return one.ride(ctx, t)
		}
	}
	return one.wander(ctx, l, ok)
}

// wander reports the position of a robot without a ride, at a corner nearby. was is the
// stored position, if known.
func (r *run) wander(ctx context.Context, was driver.Location, known bool) error {
	if r.Status == driver.Offline {
		return nil
	}
	pause := reports + time.Duration(chance(60, r.ID))*time.Second
	if known && r.since(&was.RecordedAt) < pause && r.StatusUpdatedAt <= was.RecordedAt {
		return nil
	}
	next := nearest(r.roster, r.place)
	if known {
		next = next.side(r.ID + was.RecordedAt)
	}
	if kilometres(r.place, next.in(r.roster)) > 1 { // the robot comes back from a ride out of town
		_, err := r.move(ctx, next.in(r.roster), speed)
		return err
	}
	return r.save(ctx, next.in(r.roster), 0)
}

// ride lets the robot continue its trip. In an advance of the sandbox's time, the robot
// may take several steps of the trip.
func (r *run) ride(ctx context.Context, t open) error {
	for range actions {
		done, err := r.act(ctx, t)
		if err != nil || !done || r.left <= 0 {
			return err
		}
		it, err := r.tenant.Get(ctx, trip.Key(r.tenant, t.ID))
		if err != nil || !it.Found() {
			return err
		}
		next, err := trip.FromItem(it)
		if err != nil || !next.Status.Driven() {
			return err
		}
		t = open{next, it}
	}
	return nil
}

// act takes the trip's next step if it is time for it: the robot drives to the rider and
// arrives, or starts, or drives on to the destination. done reports whether the trip has a
// new status.
func (r *run) act(ctx context.Context, t open) (done bool, err error) {
	by, s := trip.ByDriver(r.ID), r.store()
	switch t.Status {
	case trip.Assigned:
		if from, err := s.Earliest(t.Trip); err != nil || r.now.Before(from) {
			return false, err
		}
		if asks(t.Trip, cancel) {
			return r.stop(ctx, t, t.AcceptedAt, refuses, "The driver does not come ("+cancel+").")
		}
		r.moved = min(r.moved, r.since(t.AcceptedAt))
		pace := speed
		if asks(t.Trip, slow) {
			pace /= 4
		}
		to := at(t.OriginLat, t.OriginLng)
		if r.place.metres(to) > far { // the robot appears 800 metres west of the rider
			r.place = point{to.lat, to.lng - 800/east(to.lat)}
		}
		if there, err := r.move(ctx, to, pace); err != nil || !there {
			return false, err
		}
		_, err = s.Arrive(ctx, t.item, by)
	case trip.DriverArrived:
		if asks(t.Trip, noShow) {
			return r.stop(ctx, t, t.ArrivedAt, gives, "The rider did not come ("+noShow+").")
		}
		if !r.waits(t.ArrivedAt, boards+time.Duration(chance(20, t.ID))*time.Second) {
			return false, nil
		}
		_, err = s.Start(ctx, t.item, by)
	case trip.InProgress:
		return r.carry(ctx, t)
	}
	return err == nil, err
}

// carry drives the rider, and completes the trip at its destination. done reports whether
// it did.
func (r *run) carry(ctx context.Context, t open) (done bool, err error) {
	r.moved = min(r.moved, r.since(t.StartedAt))
	from, way := at(t.OriginLat, t.OriginLng), aimless.Seconds()*speed
	if t.DestLat == nil {
		if !r.waits(t.StartedAt, aimless) {
			return false, nil
		}
	} else {
		to := at(*t.DestLat, *t.DestLng)
		way = from.metres(to)
		if there, err := r.move(ctx, to, speed); err != nil || !there {
			return false, err
		}
	}
	km := money.Amount(fmt.Sprintf("%.3f", way/1000))
	seconds := number[money.Amount](max(way/speed, r.since(t.StartedAt).Seconds()))
	_, err = r.store().Complete(ctx, t.item, trip.ByDriver(r.ID), trip.Measured{Distance: &km, Duration: seconds})
	return err == nil, err
}

// stop cancels the trip when the duration after has passed since from. The log of the
// trip says that the service cancelled it.
func (r *run) stop(ctx context.Context, t open, from *string, after time.Duration, reason string) (bool, error) {
	if !r.waits(from, after) {
		return false, nil
	}
	_, err := r.store().Cancel(ctx, t.item, trip.BySystem(), &reason)
	return err == nil, err
}

// waits reports whether the duration after has passed since the timestamp from. If it has
// not, waits takes the rest from the time that is left in this step, if that is enough.
func (r *run) waits(from *string, after time.Duration) bool {
	lacks := after - r.since(from)
	if lacks > r.left {
		return false
	}
	r.left -= max(0, lacks)
	return true
}

// move drives towards to at pace metres per second, and reports the position. there
// reports whether the robot has arrived.
func (r *run) move(ctx context.Context, to point, pace float64) (there bool, err error) {
	lasts := time.Duration(r.place.metres(to) / pace * float64(time.Second))
	drives := min(lasts, r.moved+r.left)
	r.left = max(0, r.left-max(0, drives-r.moved))
	r.moved = max(0, r.moved-drives)
	next, heading := r.place.towards(to, pace*drives.Seconds())
	if next.metres(to) <= arrives {
		next, there = to, true
	}
	if next == r.place && r.position.Found() {
		return there, nil
	}
	r.place = next
	return there, r.save(ctx, next, heading)
}

// save stores the robot's position as PUT /api/v1/me/location does. heading is in
// degrees, 0 for north.
func (r *run) save(ctx context.Context, p point, heading int) error {
	items, err := r.tenant.Batch(ctx, driver.LocationKey(r.tenant, r.ID), location.ListingKey(r.tenant, r.ID),
		driver.Key(r.tenant, r.ID))
	if err != nil {
		return err
	}
	pace := json.Number(fmt.Sprint(speed))
	l := driver.Location{Lat: degrees(p.lat), Lng: degrees(p.lng), Heading: number[json.Number](float64(heading)),
		Speed: &pace, RecordedAt: timestamp.Format(r.now.Add(time.Duration(r.saved) * time.Millisecond))}
	r.saved++
	_, err = location.Reporter{Tenant: r.tenant, Driver: r.ID, Now: r.now,
		State:  func(context.Context) (table.Item, error) { return items[2], nil },
		Commit: func(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) }}.
		Store(ctx, l, items[0], items[1])
	return err
}
