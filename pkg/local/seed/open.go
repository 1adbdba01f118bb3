package seed

import (
	"time"

	"svc/pkg/domain/trip"
)

// still has the statuses of unfinished trips. Trips with a status were requested least to
// most seconds ago.
var still = []struct {
	status      trip.Status
	least, most int
}{
	{trip.InProgress, 1030, 3600}, {trip.Pending, 5, 240}, {trip.Assigned, 150, 700}, {trip.InProgress, 1030,
		2400}, {trip.DriverArrived, 820, 1100},
	{trip.Searching, 10, 200}, {trip.Scheduled, 3600, 172_800}, {trip.InProgress, 1030, 1800}, {trip.CollectingOffers, 10,
		150}, {trip.WaitingCustomer, 600, 1200},
}

// open creates the unfinished trips. Call it once, after the last finished
// trip.
func (g *generator) open() ([]ride, error) {
	var out []ride
	for n := range g.p.open() {
		kind := still[n%len(still)]
		at := g.now.Add(-g.seconds(kind.least, kind.most)).Truncate(time.Millisecond)
		rider := g.rider(at)
		r, _, _, err := g.request(rider, at)
		if err != nil {
			return nil, err
		}
		rider.free = g.now.Add(time.Hour)
		// This fate makes drive stop at the status.
		if fate, driven := map[trip.Status]int{trip.Assigned: 0, trip.DriverArrived: 10,
			trip.InProgress: 13}[kind.status]; driven {
			driver := g.driver(at)
			driver.free, driver.open = rider.free, true
			if _, err := g.drive(&r, driver, at, fate); err != nil {
				return nil, err
			}
		} else if kind.status != trip.Pending {
			// The trip gets the status without a transition. In production, dispatch or an
			// external system sets this status.
			r.trip.Status = kind.status
		}
		out = append(out, r)
	}
	return out, nil
}
