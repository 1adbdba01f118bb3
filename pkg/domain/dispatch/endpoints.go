package dispatch

import (
	"cmp"
	"context"
	"slices"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/location"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
	"svc/pkg/edge/api"
)

// tag is the group of these endpoints in the OpenAPI document.
const tag = "Dispatch"

// Rows returns the endpoints of dispatch.
func Rows() []api.Row {
	accepts := authz.Drivers("driver.trips:accept")
	return []api.Row{
		api.Get("/api/v1/me/offers", "svc_list_my_offers", accepts, offers, api.Extension(), api.Needs(needOffer),
			api.Tag(tag), api.Summary("List the trips that are offered to the driver"),
			api.Text("Where the company's `dispatch.mode` is `offers`, the nearest drivers who are online get offers, each at "+
				"most one at a time. The driver accepts the trip, declines it, or lets the offer expire. An offer of a trip that "+
				"somebody else has taken is not shown.")),
		api.Post("/api/v1/me/trips/{id}/decline", "svc_decline_trip", accepts, decline, api.Extension(),
			api.Needs(needTripAndOffer), api.Tag(tag), api.Summary("Decline an offered trip"),
			api.Confirm("The trip is offered to other drivers, and not to this driver again."),
			api.Text("The driver must hold an offer of the trip. Without one the response is a 404, and a 409 if it has "+
				"expired.")),
		api.Get("/api/v1/me/open-trips", "svc_list_open_trips", accepts, open, api.Extension(), api.Needs(needAround),
			api.Tag(tag), api.Summary("List the open trips around the driver"),
			api.Text("Where the company's `dispatch.mode` is `open`: the trips that any driver may accept, nearest first, at "+
				"most 50, no farther than `dispatch.searchRadiusKm`. The list is empty in another mode, and if the driver has "+
				"reported no position for five minutes. A trip that was taken a moment ago may still be shown.")),
	}
}

// needOffer returns the key of the offer that the calling driver may hold.
func needOffer(t table.Tenant, p api.Peek) []table.Key {
	return []table.Key{OfferKey(t, p.Actor().Subject)}
}

// needTripAndOffer returns the keys of the driver's offer and of the trip in the path.
func needTripAndOffer(t table.Tenant, p api.Peek) []table.Key {
	keys := needOffer(t, p)
	if id := p.Path("id"); ids.Valid(ids.Trip, id) {
		keys = append(keys, trip.Key(t, id))
	}
	return keys
}

// needAround returns the keys of the driver's location and of the tenant's settings.
func needAround(t table.Tenant, p api.Peek) []table.Key {
	return []table.Key{driver.LocationKey(t, p.Actor().Subject), settings.Key(t)}
}

// offers returns the driver's offer, or an empty list. The offer is read together with the
// access checks. Then the trip is read: an offer of a trip that is taken is not shown.
func offers(ctx context.Context, c *api.Caller, _ *struct{}) (*api.Items[TripOffer], error) {
	out := &api.Items[TripOffer]{Items: []TripOffer{}}
	it, err := c.Item(ctx, OfferKey(c.Tenant, c.Actor.Subject))
	if err != nil {
		return nil, err
	}
	o, ok, err := Held(it, c.Now)
	if !ok || err != nil {
		return out, err
	}
	if it, err = c.Tenant.Get(ctx, trip.Key(c.Tenant, o.TripID)); err != nil {
		return nil, err
	}
	if it.Found() && trip.Status(it.Text("status")).Acceptable() {
		out.Items = append(out.Items, o)
	}
	return out, nil
}

// input has the trip's id from the path.
type input struct {
	ID string `path:"id" doc:"Identifier of the trip." example:"trp_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
}

// errExpired is the 409 for a driver who declines an offer that has ended.
var errExpired = fault.InvalidState("The offer has expired.")

// decline ends the driver's offer and adds an entry to the trip's log.
// pkg/background/dispatch gets the change of the trip from the table's stream. If nobody
// else holds an offer of the trip, it begins the next wave.
func decline(ctx context.Context, c *api.Caller, in *input) (*trip.Changed, error) {
	if !ids.Valid(ids.Trip, in.ID) {
		return nil, fault.NotFound()
	}
	held, err := c.Item(ctx, OfferKey(c.Tenant, c.Actor.Subject))
	if err != nil {
		return nil, err
	}
	if !held.Found() || held.Text("trip") != in.ID {
		return nil, fault.NotFound()
	}
	it, err := c.Item(ctx, trip.Key(c.Tenant, in.ID))
	if err != nil {
		return nil, err
	}
	o, ok, err := Held(held, c.Now)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errExpired
	}
	shards, err := c.WriteShards(ctx)
	if err != nil {
		return nil, err
	}
	s := trip.Store{Tenant: c.Tenant, WriteShards: shards, Now: c.Now, Commit: c.Commit,
		Also: func(tx *table.Tx, _, _ trip.Trip, _ any) { o.end(tx, held, c.Now, errExpired) }}
	return s.Change(ctx, it, func(t trip.Trip) (trip.Trip, error) {
		if !t.Status.Acceptable() {
			return t, fault.InvalidState("A trip that is %s cannot be declined.", t.Status)
		}
		return t.Note(trip.EventDeclined, trip.ByDriver(c.Actor.Subject), trip.LogData{}, c.Now), nil
	})
}

// mostOpen is how many open trips a driver sees.
const mostOpen = 50

// open lists the open trips around the driver's last position, which is read together with
// the access checks. A trip stays in the list for a moment after somebody has taken it. A
// driver who accepts it then gets a 409.
func open(ctx context.Context, c *api.Caller, _ *struct{}) (*api.Items[OpenTrip], error) {
	out := &api.Items[OpenTrip]{Items: []OpenTrip{}}
	d, err := settings.Kind.Get(ctx, c.Item, settings.Key(c.Tenant))
	if err != nil || d.Dispatch.Mode != settings.Open {
		return out, err
	}
	it, err := c.Item(ctx, driver.LocationKey(c.Tenant, c.Actor.Subject))
	if err != nil {
		return nil, err
	}
	l, ok, err := driver.LocationFromItem(it)
	if err != nil || !ok || !location.IsFresh(l, c.Now) {
		return out, err
	}
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	r, err := driver.FromItem(state.Actor)
	if err != nil {
		return nil, err
	}
	radius, _ := d.Dispatch.SearchRadiusKm.Decimal().Float64()
	here := location.At(l.Lat, l.Lng)
	entries, err := location.Around(ctx, c.Tenant, openTrips, here, radius)
	if err != nil {
		return nil, err
	}
	return nearest(entries, here, radius, r)
}

// nearest returns the trips of the entries that the driver may see, nearest first, at most
// mostOpen. A trip must begin within radius kilometres of here, the driver's position, and
// have a service type that the driver takes.
func nearest(entries []table.Item, here location.Place, radius float64, r driver.Record) (*api.Items[OpenTrip], error) {
	type one struct {
		OpenTrip
		km float64
	}
	var all []one
	for _, it := range entries {
		ride, err := table.DecodeDoc[OpenTrip](it)
		if err != nil {
			return nil, err
		}
		km := here.Kilometres(location.At(ride.OriginLat, ride.OriginLng))
		if km > radius || !Drives(r, ride.ServiceTypeID) {
			continue
		}
		ride.DistanceToOrigin = distance(km)
		all = append(all, one{ride, km})
	}
	slices.SortStableFunc(all, func(a, b one) int { return cmp.Compare(a.km, b.km) })
	out := &api.Items[OpenTrip]{Items: []OpenTrip{}}
	for _, a := range all[:min(len(all), mostOpen)] {
		out.Items = append(out.Items, a.OpenTrip)
	}
	return out, nil
}
