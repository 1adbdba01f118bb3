package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/dispatch"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/location"
	"svc/pkg/domain/trip"
)

// shortest and longest bound how long an offer is valid, in seconds. SQS can delay the
// message for the end of an offer by fifteen minutes at most.
const shortest, longest = 5, 900

// find offers the trip to the next drivers, unless a driver still holds an offer.
func (v *view) find(ctx context.Context) error {
	switch {
	case v.search.Ended && v.trip.Status == trip.Pending:
		return v.close(ctx) // no driver took the trip
	case v.search.Ended: // the driver gave the trip back
		v.search = dispatch.Search{Asked: v.search.Asked}
	}
	live, err := v.live()
	if err != nil {
		return err
	}
	switch {
	case live > 0:
		return v.follow(ctx, live)
	case len(v.search.Now) == 0 && v.search.Wave > 0 && !v.search.Over(v.now.Add(v.ahead)):
		return nil // the wave found no driver; its due task searches again
	case v.search.Wave >= v.settings.MaxWaves:
		return v.stop(ctx, "No driver took the trip.")
	}
	return v.wave(ctx)
}

// follow sets the trip's status by live, the number of drivers who hold an offer of the
// trip.
func (v *view) follow(ctx context.Context, live int) error {
	if v.trip.Status == statusOf(live) {
		return nil
	}
	return v.change(ctx, nil, func(t trip.Trip) (trip.Trip, error) { return v.offered(t, live) })
}

// statusOf returns the status of a trip of which live drivers hold an offer.
func statusOf(live int) trip.Status {
	if live > 1 {
		return trip.CollectingOffers
	}
	return trip.Searching
}

// offered returns t with the status of a trip of which live drivers hold an offer.
func (v *view) offered(t trip.Trip, live int) (trip.Trip, error) {
	switch want := statusOf(live); {
	case t.Status == want:
		return t, nil
	case want == trip.CollectingOffers:
		return t.Collect(trip.BySystem(), v.now)
	}
	return t.Search(trip.BySystem(), v.now)
}

// wave gives offers to the nearest drivers. If it finds none, the trip stays in
// SEARCHING, and the next wave looks again.
func (v *view) wave(ctx context.Context) error {
	most := v.settings.WaveSize
	if v.settings.AutoAssign {
		most = 1
	}
	radius, _ := v.settings.SearchRadiusKm.Decimal().Float64()
	found, err := location.Nearby(ctx, v.tenant, location.Search{Place: location.At(v.trip.OriginLat, v.trip.OriginLng),
		Kilometres: radius, Most: most, Now: v.now, Suits: v.suits})
	if err != nil {
		return err
	}
	span := time.Duration(min(max(v.settings.OfferTimeoutSeconds, shortest), longest)) * time.Second
	until := v.now.Add(span)
	if v.settings.AutoAssign && len(found) == 1 {
		return v.assign(ctx, found[0], until)
	}
	next := dispatch.Search{Wave: v.search.Wave + 1, Until: timestamp.Format(until), Asked: v.search.Asked}
	for _, c := range found {
		next.Now = append(next.Now, c.ID)
	}
	next.Asked = append(slices.Clone(next.Asked), next.Now...)
	slots, err := v.slots(ctx, next.Now)
	if err != nil {
		return err
	}
	also := func(tx *table.Tx) error {
		next.Put(tx, v.state, errMoved)
		if v.open.Found() {
			tx.Delete(v.open.Key)
		}
		if err := v.withdraw(tx); err != nil { // the last wave has offers left if it ends ahead of its time
			return err
		}
		for i, c := range found {
			dispatch.NewOffer(v.trip, c.Kilometres, until).Give(tx, slots[i], v.now, errMoved)
		}
		v.Book().Add(tx, due.Task{Tenant: v.tenant.ID(), Kind: kind, ID: v.id, At: until})
		return nil
	}
	err = v.change(ctx, also, func(t trip.Trip) (trip.Trip, error) {
		t, err := v.offered(t, len(found))
		for _, c := range found {
			t = t.Note(trip.EventOffered, trip.BySystem(), trip.LogData{DriverID: &c.ID}, v.now)
		}
		return t, err
	})
	if err == nil && v.Later != nil {
		if late := v.Later(ctx, Message{v.tenant.ID(), v.id}, span+time.Second); late != nil {
			slog.WarnContext(ctx, "the end of a wave waits for the sweep", "tenant", v.tenant.ID(), "trip", v.id, "cause", late)
		}
	}
	return err
}

// assign gives the trip to the driver c at once, without waiting until the driver accepts
// an offer. It also stores an offer for the driver, valid until the given time. So
// another search that finds the same driver in an outdated index does not assign a second
// trip.
func (v *view) assign(ctx context.Context, c location.Candidate, until time.Time) error {
	slots, err := v.slots(ctx, []string{c.ID})
	if err != nil {
		return err
	}
	err = v.change(ctx, func(tx *table.Tx) error {
		if v.open.Found() {
			tx.Delete(v.open.Key)
		}
		dispatch.NewOffer(v.trip, c.Kilometres, until).Give(tx, slots[0], v.now, errMoved)
		return nil
	}, func(t trip.Trip) (trip.Trip, error) { return t.Assign(trip.BySystem(), c.ID, v.now) })
	if errors.Is(err, fault.InvalidState("")) {
		err = errMoved // the trip or the driver is taken
	}
	return err
}

// slots reads the item of each driver in which the driver's offer is stored, if there is
// one.
func (v *view) slots(ctx context.Context, drivers []string) ([]table.Item, error) {
	keys := make([]table.Key, len(drivers))
	for i, id := range drivers {
		keys[i] = dispatch.OfferKey(v.tenant, id)
	}
	return v.tenant.Batch(ctx, keys...)
}

// mostOwn is how many of a driver's newest trips suits examines.
const mostOwn = 10

// suits reports whether the driver takes the service type, was not asked before,
// holds no offer, and drives nobody now.
func (v *view) suits(ctx context.Context, r driver.Record) (bool, error) {
	if !dispatch.Drives(r, v.trip.ServiceTypeID) || v.wasAsked(r.ID) {
		return false, nil
	}
	it, err := v.tenant.Get(ctx, dispatch.OfferKey(v.tenant, r.ID))
	if err != nil {
		return false, err
	}
	if _, holds, err := dispatch.Held(it, v.now); holds || err != nil {
		return false, err
	}
	partition, index := trip.Own(v.tenant, authz.Driver, r.ID)
	page, err := v.tenant.Query(ctx, partition, table.Query{Index: index, Backward: true, Limit: mostOwn})
	if err != nil {
		return false, err
	}
	own, err := table.DecodeAll(page.Items, trip.FromItem)
	for _, t := range own {
		if !t.Status.Driven() {
			continue
		}
		later, err := t.Ahead(v.now)
		if t.Status != trip.Assigned || !later || err != nil {
			return false, err
		}
	}
	return err == nil, err
}
