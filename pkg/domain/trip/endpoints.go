package trip

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/panics"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/estimate"
	"svc/pkg/domain/external"
	"svc/pkg/domain/settings"
	"svc/pkg/edge/api"
)

const tag = "Trips"

// OperatorRows returns the endpoints of operators.
func OperatorRows() []api.Row {
	policy := authz.Operators("tenant.trips:read", "VIEW_TRIPS")
	rows := []api.Row{
		api.Get("/api/v1/trips", "svc_list_trips", policy, list, NeedsZone(),
			api.Tag(tag), api.Summary("List trips"), api.Text("The tenant's trips, newest first. A trip must match all "+
				"filters. With filters a page may be short, and only `next_cursor` says whether more follow.")),
		api.Get("/api/v1/trips/{id}", "svc_get_trip", policy, get, api.Needs(needTrip), api.Versioned(),
			api.Tag(tag), api.Summary("Read a trip"), api.Text("The trip with its driver, its rider and the last 100 entries "+
				"of its log, oldest first.")),
		api.Get("/api/v1/trips/external/{externalId}", "svc_get_trip_by_external_id", policy,
			external.By(IDs, get, func(id string) *GetInput { return &GetInput{ID: id} }), api.Extension(), api.Versioned(),
			api.Tag(tag), api.Summary("Read a trip by an identifier of another system"), external.Text()),
	}
	return append(rows, operationRows()...)
}

// ActorRows returns the endpoints of riders and drivers.
func ActorRows() []api.Row {
	own := authz.Both("rider.trips:read", "driver.trips:read")
	own.Scopes[authz.Dashboard] = "" // an operator passes the checks, and the handler always returns 400
	request, cancels := authz.Riders("rider.trips:create").Needing(authz.Taxi), authz.Riders("rider.trips:cancel")
	accepts, drives := authz.Drivers("driver.trips:accept"), authz.Drivers("driver.trips:complete")
	return []api.Row{
		// Operators' agents do not get this row as a tool, because every call
		// would return a 400.
		api.Get("/api/v1/me/trips", "svc_my_trips", own, mine, api.NoTool(authz.Dashboard),
			api.Tag(tag), api.Summary("List one's own trips"), api.Text("A rider's trips are those requested, a driver's "+
				"those assigned; newest first.")),
		api.Get("/api/v1/me/trips/{id}", "svc_my_trip", authz.Both("rider.trips:read", "driver.trips:read"), getOwn,
			api.Extension(), api.Needs(needTrip), api.Tag(tag), api.Summary("Read one's own trip"), api.Text("A trip that the "+
				"rider requested or that the driver has. Another's trip is a 404.")),
		api.Post("/api/v1/me/trips", "svc_request_ride", request, requestRide, api.Created(), api.NeedsRecent(needTerms),
			api.Early(settings.EarlyOrigin), api.Tag(tag), api.Summary("Request a ride"),
			api.Confirm("A driver may come, and the ride may cost the rider money."),
			api.Text("Creates a trip in `PENDING`. It is dispatched only if the company's `dispatch.mode` says so. The trip "+
				"has an estimated fare only if the request names an estimate. If the rider has as many open trips as the "+
				"company allows, the response is a 409 `too_many_open_trips`.")),
		api.Post("/api/v1/me/trips/{id}/cancel", "svc_cancel_my_trip", cancels, cancel, api.Needs(needTrip),
			api.Tag(tag), api.Summary("Cancel one's own trip"),
			api.Confirm("The ride ends for rider and driver, and cannot be taken up again."),
			api.Text("A trip in `COLLECTING_OFFERS`, `IN_PROGRESS`, `COMPLETED` or `CANCELLED` cannot be cancelled. If the trip "+
				"has a `cancellationFee`, a rider who cancels while a driver has it owes the fee, which settlement posts.")),
		api.Post("/api/v1/me/trips/{id}/accept", "svc_accept_trip", accepts, act(Store.accept), api.Needs(needTrip),
			api.Tag(tag), api.Summary("Accept a trip"),
			api.Confirm("The driver commits to picking up the rider."),
			api.Text("The trip must be in `PENDING`, `SEARCHING` or `COLLECTING_OFFERS`. If several drivers accept at the "+
				"same time, one gets the trip, and the others get a 409.")),
		api.Post("/api/v1/me/trips/{id}/release", "svc_release_trip", accepts, unassign, api.Needs(needTrip),
			api.Extension(), api.Tag("Dispatch"), api.Summary("Give a trip back"),
			api.Confirm("The rider waits for another driver."),
			api.Text("From `ASSIGNED` or `DRIVER_ARRIVED` to `SEARCHING`, by the assigned driver. Where the company dispatches, "+
				"other drivers get offers, and this driver gets none of the trip.")),
		api.Post("/api/v1/me/trips/{id}/no-show", "svc_report_no_show", drives, noShow, api.Needs(needNoShow),
			api.Extension(), api.Tag("Dispatch"), api.Summary("End a trip whose rider did not come"),
			api.Confirm("The ride ends, and the rider may owe a fee."), api.Text(noShowText)),
		api.Post("/api/v1/me/trips/{id}/arrived", "svc_mark_arrived", drives, act(Store.Arrive), api.Needs(needTrip),
			api.Tag(tag), api.Summary("Arrive at the origin"),
			api.Confirm("The rider sees that the driver has arrived."), api.Text("From `ASSIGNED` to `DRIVER_ARRIVED`, by the "+
				"assigned driver.")),
		api.Post("/api/v1/me/trips/{id}/start", "svc_start_trip", drives, act(Store.Start), api.Needs(needTrip),
			api.Tag(tag), api.Summary("Start a trip"),
			api.Confirm("The rider must be in the vehicle."), api.Text("The rider has boarded. The trip goes "+
				"from `DRIVER_ARRIVED` to `IN_PROGRESS`. Only the assigned driver can start it.")),
		api.Post("/api/v1/me/trips/{id}/complete", "svc_complete_trip", drives, complete, api.Needs(needTrip),
			api.Tag(tag), api.Summary("Complete a trip"),
			api.Confirm("The fare becomes final. It goes into the receipt and the wallets."),
			api.Text("The trip goes from `IN_PROGRESS` to `COMPLETED`. Only the assigned driver can complete it. The final "+
				"fare is `finalFare`. Without it the fare follows from the prices of the service type and the measured values, "+
				"if there are prices and all measures that they need. Else it is the estimated fare, else null. Receipt and "+
				"settlement follow.")),
		rateRow(),
	}
}

// Rows returns all endpoints of trips.
func Rows() []api.Row { return append(OperatorRows(), ActorRows()...) }

func needTrip(t table.Tenant, p api.Peek) []table.Key {
	if id := p.Path("id"); ids.Valid(ids.Trip, id) {
		return []table.Key{Key(t, id)}
	}
	return nil
}

// needTerms names the tenant's settings, and the service type and the estimate of
// a request. They may be a second old, because the key of a service type would limit a
// tenant to 3,000 rides a second. No access check depends on them.
func needTerms(t table.Tenant, p api.Peek) []table.Key {
	keys := []table.Key{settings.Key(t)}
	if id := p.Body("serviceTypeId"); ids.Valid(ids.Service, id) {
		keys = append(keys, settings.ServiceKey(t, id))
	}
	if key, ok := estimate.Key(t, p.Actor().Subject, p.Body("estimateId")); ok {
		keys = append(keys, key)
	}
	return keys
}

// item returns the trip from the checks' batch. It returns a 404 if there is
// none.
func item(ctx context.Context, c *api.Caller, id string) (table.Item, error) {
	if !ids.Valid(ids.Trip, id) {
		return table.Item{}, fault.NotFound()
	}
	it, err := c.Item(ctx, Key(c.Tenant, id))
	if err == nil && !it.Found() {
		err = fault.NotFound()
	}
	return it, err
}

// storeOf returns the store for the caller's change. An operator's change has an
// audit entry.
func storeOf(ctx context.Context, c *api.Caller) (Store, error) {
	state, err := c.Live(ctx)
	s := Store{Tenant: c.Tenant, WriteShards: state.WriteShards, Now: c.Now, Flags: state.Flags,
		Read: c.Item, Commit: c.Commit, Match: c.Replaces}
	if c.Audience == authz.Dashboard {
		s.Also = Audited(c.Tenant, c.By())
	}
	return s, err
}

// GetInput names a trip.
type GetInput struct {
	ID string `path:"id" doc:"Identifier of the trip." example:"trp_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
}

// TripDetail is a trip with its related data.
//
//nolint:revive // the OpenAPI document names the schema after the type
type TripDetail struct {
	Trip
	Driver   api.Nullable[driver.Driver]     `json:"driver" doc:"The assigned driver."`
	Customer api.Nullable[customer.Customer] `json:"customer" doc:"The rider."`
	Log      []LogEntry                      `json:"log" doc:"The last 100 entries, oldest first."`
}

// get reads the stored part of the log concurrently with the checks, whose batch
// holds the trip. Then it reads the trip's driver and rider in one batch.
func get(ctx context.Context, c *api.Caller, in *GetInput) (*TripDetail, error) {
	var out TripDetail
	var stored []LogEntry
	group, gctx := panics.WithContext(ctx)
	if ids.Valid(ids.Trip, in.ID) {
		group.Go(func() (err error) {
			stored, err = storedLog(gctx, c.Tenant, in.ID)
			return err
		})
	}
	group.Go(func() error {
		it, err := item(gctx, c, in.ID)
		if err != nil {
			return err
		}
		if out.Trip, err = FromItem(it); err != nil {
			return err
		}
		c.Tagged(it.Version)
		return out.readPeople(gctx, c.Tenant)
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	out.Log = out.log(stored)
	return &out, nil
}

// getOwn returns a trip of the rider or driver who calls.
func getOwn(ctx context.Context, c *api.Caller, in *GetInput) (*Trip, error) {
	it, err := item(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	t, err := ownFromItem(it)
	owner := t.CustomerID
	if c.Audience == authz.Driver {
		if owner = ""; t.DriverID != nil {
			owner = *t.DriverID
		}
	}
	if err == nil && owner != c.Actor.Subject {
		err = fault.NotFound()
	}
	return &t, err
}

// ownFromItem decodes a trip as its rider and its driver see it.
func ownFromItem(it table.Item) (Trip, error) {
	t, err := FromItem(it)
	t.Members = external.Members{}
	return t, err
}

// readPeople reads the trip's rider, and its driver with the last known location,
// in one batch. The field of a record that does not exist stays null.
func (d *TripDetail) readPeople(ctx context.Context, t table.Tenant) error {
	riderKey, driverKey := customer.Key(t, d.CustomerID), table.Key{}
	keys := []table.Key{riderKey}
	if d.DriverID != nil {
		driverKey = driver.Key(t, *d.DriverID)
		keys = append(keys, driverKey, driver.LocationKey(t, *d.DriverID))
	}
	items, err := t.BatchEventual(ctx, keys...)
	if err != nil {
		return err
	}
	for _, it := range items {
		switch {
		case !it.Found():
		case it.Key == riderKey:
			r, err := customer.FromItem(it)
			if err != nil {
				return err
			}
			d.Customer.Value = &r.Customer
		case it.Key == driverKey:
			r, err := driver.FromItem(it)
			if err != nil {
				return err
			}
			shown := r.Shown()
			if err := shown.Locate(items[len(items)-1]); err != nil {
				return err
			}
			d.Driver.Value = &shown
		}
	}
	return nil
}

// RideInput is a rider's request.
type RideInput struct {
	Body Ride
}

// Resolve implements huma.Resolver. It checks that destLat and destLng come
// together, before a person is asked to confirm a ride that an agent requests.
func (in *RideInput) Resolve(huma.Context) []error {
	switch b := in.Body; {
	case b.DestLat == nil && b.DestLng != nil:
		return []error{&huma.ErrorDetail{Location: "body.destLat", Message: "is required with destLng"}}
	case b.DestLng == nil && b.DestLat != nil:
		return []error{&huma.ErrorDetail{Location: "body.destLng", Message: "is required with destLat"}}
	}
	return nil
}

func requestRide(ctx context.Context, c *api.Caller, in *RideInput) (*Trip, error) {
	d, err := deskOf(ctx, c)
	if err != nil {
		return nil, err
	}
	terms, err := d.terms(ctx, c.Actor.Subject, &in.Body)
	if err != nil {
		return nil, err
	}
	t, err := in.Body.New(c.Actor.Subject, terms, c.Now)
	if err != nil {
		return nil, err
	}
	origin, err := api.EarlyOf[settings.Origin](ctx, c)
	if err != nil {
		return nil, err
	}
	if err := terms.Settings.Serves(ctx, c.Tenant, d.Flags, origin, t.OriginLat, t.OriginLng); err != nil {
		return nil, err
	}
	return d.create(ctx, t)
}
