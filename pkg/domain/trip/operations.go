package trip

import (
	"context"
	"slices"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/phone"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/estimate"
	"svc/pkg/domain/external"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// operationRows returns the endpoints by which operators change trips.
func operationRows() []api.Row {
	write := authz.Operators("tenant.trips:write", "CREATE_TRIPS")
	remove := authz.Operators("tenant.trips:delete", "DELETE_TRIPS")
	tag := api.Tag("Trip operations")
	return []api.Row{
		api.Post("/api/v1/trips", "svc_book_trip", write.Needing(authz.Taxi), book, api.Created(), api.Needs(needBooking),
			api.Early(readEarly), api.Extension(), tag, api.Summary("Book a trip for a rider"),
			api.Confirm("A driver may come, and the ride may cost the rider money."),
			api.Text("Creates a trip for somebody who calls: in `PENDING`, with `driverId` in `ASSIGNED`, with `scheduledFor` "+
				"in `SCHEDULED`. The rider is `customerId`, or the customer with the number `phone`. If no customer has it, the "+
				"booking makes one, who has no mail address. If several have it, the response is a 409 with their identifiers in "+
				"`details`. The trip has an estimated fare if its service type has prices and it has the coordinates of "+
				"both places. The limit of a rider's open trips applies.")),
		api.Patch("/api/v1/trips/{id}", "svc_update_trip", write, edit, api.Needs(needTrip), api.Extension(),
			api.Versioned(), tag, api.Summary("Change what your programs store with a trip"),
			api.Confirm("Your programs find the trip by another identifier, or other metadata with it."),
			api.Text("`externalId` and `metadata`, of a trip in any status. `null` clears one. The trip's `updatedAt` stays.")),
		api.Post("/api/v1/trips/{id}/assign", "svc_assign_trip", write, assign, api.Needs(needAssigned),
			api.Extension(), api.Versioned(), tag,
			api.Summary("Give a trip to a driver"),
			api.Confirm("The driver gets the ride at once, and a driver who had it loses it."),
			api.Text("From `PENDING`, `SEARCHING`, `COLLECTING_OFFERS` or `SCHEDULED` to `ASSIGNED`. A trip in `ASSIGNED` or "+
				"`DRIVER_ARRIVED` is handed over: it leaves the list of the driver who had it, and is `ASSIGNED` again.")),
		api.Post("/api/v1/trips/{id}/unassign", "svc_unassign_trip", write, unassign, api.Needs(needTrip),
			api.Extension(), api.Versioned(),
			tag, api.Summary("Take a trip from its driver"),
			api.Confirm("The driver loses the ride, and the rider waits for another driver."),
			api.Text("From `ASSIGNED` or `DRIVER_ARRIVED` to `SEARCHING`.")),
		api.Post("/api/v1/trips/{id}/cancel", "svc_cancel_trip", write, stop, api.Needs(needTrip),
			api.Extension(), api.Versioned(), tag,
			api.Summary("Cancel a trip"),
			api.Confirm("The ride ends for rider and driver without a fare, and cannot be taken up again. With fee, the rider "+
				"owes the cancellation fee."),
			api.Text("From every status but `COMPLETED` and `CANCELLED`, so also a ride that is under way.")),
		api.Post("/api/v1/trips/{id}/arrived", "svc_arrive_for_driver", write, act(Store.Arrive), api.Needs(needTrip),
			api.Extension(), api.Versioned(), tag, api.Summary("Arrive in the driver's place"),
			api.Confirm("The rider sees that the driver has arrived."), api.Text("From `ASSIGNED` to `DRIVER_ARRIVED`.")),
		api.Post("/api/v1/trips/{id}/start", "svc_start_for_driver", write, act(Store.Start), api.Needs(needTrip),
			api.Extension(), api.Versioned(), tag, api.Summary("Start a trip in the driver's place"),
			api.Confirm("The rider must be in the vehicle."), api.Text("From `DRIVER_ARRIVED` to `IN_PROGRESS`.")),
		api.Post("/api/v1/trips/{id}/complete", "svc_complete_for_driver", write, complete, api.Needs(needTrip),
			api.Extension(), api.Versioned(), tag, api.Summary("Complete a trip in the driver's place"),
			api.Confirm("The fare becomes final. It goes into the receipt and the wallets."),
			api.Text("From `IN_PROGRESS` to `COMPLETED`. The final fare follows as when the driver completes the trip, and the "+
				"driver of the trip is paid.")),
		api.Post("/api/v1/trips/{id}/no-show", "svc_report_no_show_for_driver", write, noShowInPlace, api.Needs(needNoShow),
			api.Extension(), api.Versioned(), tag, api.Summary("End a trip whose rider did not come, in the driver's place"),
			api.Confirm("The ride ends for rider and driver. The rider owes the fee, unless it is waived."),
			api.Text(noShowText+" With `waive` the rider owes nothing. A fee that is owed already is given back by a `REFUND` "+
				"of the trip.")),
		api.Delete("/api/v1/trips/{id}", "svc_delete_trip", remove, erase, api.Needs(needErased),
			api.Extension(), api.Versioned(), tag,
			api.Summary("Delete a trip"),
			api.Confirm("The trip disappears from all lists and reports, and cannot be restored."),
			api.Text("Only a trip that is cancelled without a fee, or that no driver ever had. For any other trip the "+
				"response is a 409.")),
	}
}

// EditInput names a trip and what changes of it.
type EditInput struct {
	ID   string `path:"id" doc:"Identifier of the trip." example:"trp_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body api.Changes[external.Edit]
}

func edit(ctx context.Context, c *api.Caller, in *EditInput) (*Trip, error) {
	s, it, err := open(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	return change(ctx, s, it, func(t Trip) (Trip, error) {
		e := t.Members.Edit()
		err := in.Body.Apply(&e)
		if err == nil {
			err = t.Members.Set(e)
		}
		return t, api.InBody(err)
	}, func(t Trip) *Trip { return &t })
}

// needErased names the trip, and the entries of its log that an older build may
// have stored.
func needErased(t table.Tenant, p api.Peek) []table.Key {
	keys := needTrip(t, p)
	if len(keys) == 0 {
		return nil
	}
	return append(keys, storedKeys(t, p.Path("id"))...)
}

// storedKeys returns the keys of the first entries of a stored log.
func storedKeys(t table.Tenant, id string) []table.Key {
	keys := make([]table.Key, fewStored)
	for i := range keys {
		keys[i] = LogKey(t, id, int64(i+1))
	}
	return keys
}

func needAssigned(t table.Tenant, p api.Peek) []table.Key {
	return append(needTrip(t, p), keyOf(t, ids.Driver, p.Body("driverId"), driver.Key)...)
}

func needBooking(t table.Tenant, p api.Peek) []table.Key {
	keys := []table.Key{settings.Key(t)}
	keys = append(keys, keyOf(t, ids.Service, p.Body("serviceTypeId"), settings.ServiceKey)...)
	keys = append(keys, keyOf(t, ids.Driver, p.Body("driverId"), driver.Key)...)
	if key, ok := estimate.Key(t, p.Body("customerId"), p.Body("estimateId")); ok {
		keys = append(keys, key)
	}
	if typed := p.Body("phone"); typed != "" {
		keys = append(keys, tenant.Key(t))
		if number, ok := phone.International(typed); ok {
			keys = append(keys, customer.CallerKey(t, number))
		}
	}
	return append(keys, keyOf(t, ids.Customer, p.Body("customerId"), customer.Key)...)
}

// keyOf returns the key of an identifier, none if it is not one of the kind.
func keyOf(t table.Tenant, kind, id string, key func(table.Tenant, string) table.Key) []table.Key {
	if !ids.Valid(kind, id) {
		return nil
	}
	return []table.Key{key(t, id)}
}

// AssignInput names a trip and its new driver.
type AssignInput struct {
	ID   string `path:"id" doc:"Identifier of the trip." example:"trp_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body struct {
		DriverID string `json:"driverId" minLength:"1" maxLength:"100" example:"drv_01JT7M4C6Q8V2N5X9B3D1F7H0K" doc:"A driver of the company who is not disabled."`
	}
}

func assign(ctx context.Context, c *api.Caller, in *AssignInput) (*Accepted, error) {
	s, it, err := open(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	d := Desk{Store: s, Item: c.Item}
	if err := d.person(ctx, "driverId", ids.Driver, in.Body.DriverID, driver.Key); err != nil {
		return nil, err
	}
	return s.Assign(ctx, it, actor(c), in.Body.DriverID)
}

func unassign(ctx context.Context, c *api.Caller, in *CancelInput) (*Changed, error) {
	s, it, err := open(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	return s.Unassign(ctx, it, actor(c), in.reason())
}

// Erased is the response to a deletion.
type Erased struct {
	ID      string `json:"id" doc:"Identifier of the trip that is gone."`
	Deleted bool   `json:"deleted" doc:"true."`
}

func erase(ctx context.Context, c *api.Caller, in *GetInput) (*Erased, error) {
	s, it, err := open(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	return s.Delete(ctx, it, c.By())
}

// Delete removes a trip that is cancelled, or that no driver ever had, so money has
// not gone through it. It also removes the entries of the log that an older build
// stored. The audit log keeps code, status, rider and driver, and reports no longer count
// the trip. Errors: 409 for any other trip, also for a completed imported one: it moved no
// money, but a closed month counts it.
func (s Store) Delete(ctx context.Context, it table.Item, by audit.By) (*Erased, error) {
	var out *Erased
	read := reader(s.Tenant, it)
	err := table.Retry(ctx, func(ctx context.Context) error {
		it, err := read(ctx)
		if err != nil {
			return err
		}
		t, err := FromItem(it)
		if err != nil {
			return err
		}
		if err := s.match(it.Version); err != nil {
			return err
		}
		if t.Owes() {
			return fault.InvalidState("The rider owes a fee for the trip, so it cannot be deleted. Refund the fee instead.")
		}
		if t.Imported && t.Status == Completed {
			return fault.InvalidState("An imported ride that was completed counts in its month's reports, so it cannot be " +
				"deleted alone. Undo its import (POST /api/v1/imports/{id}/undo), within 7 days.")
		}
		if t.Status != Cancelled && t.hadDriver() {
			return fault.InvalidState("A trip that is %s and has had a driver cannot be deleted. Cancel it first, if it is not "+
				"completed.", t.Status)
		}
		log, err := s.entries(ctx, it, t)
		if err != nil {
			return err
		}
		s.Read = nil // read again after a conflict
		tx := s.Tenant.Write()
		tx.Delete(it.Key).If("'version' = ?", it.Version).Else(table.ErrConflict)
		for _, entry := range log {
			if entry.Found() {
				tx.Delete(entry.Key)
			}
		}
		if err := IDs.Release(tx, s.Tenant, t.ID, it); err != nil {
			return err
		}
		audit.Append(tx, s.Tenant, by, "trip.delete", t.ID, t.audited(), nil)
		out = &Erased{t.ID, true}
		return s.Commit(ctx, tx, out)
	})
	return out, err
}

// entries returns the stored entries of the trip's log. Those of a trip of few
// versions are where Store.Read finds them; they are read in one batch if it is nil.
func (s Store) entries(ctx context.Context, it table.Item, t Trip) (out []table.Item, err error) {
	if t.Version > fewStored {
		page, err := s.Tenant.Query(ctx, it.PK, table.Query{Prefix: logPrefix, Limit: mostStored})
		return page.Items, err
	}
	keys := storedKeys(s.Tenant, t.ID)
	if s.Read == nil {
		return s.Tenant.Batch(ctx, keys...)
	}
	out = make([]table.Item, len(keys))
	for i, key := range keys {
		if out[i], err = s.Read(ctx, key); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// fewStored is the number of versions of a trip up to which no query is needed to
// find the stored entries of its log.
const fewStored = 12

// mostStored bounds the entries of a log that older builds stored. A trip that no
// driver completed has fewer than ten.
const mostStored = 90

// hadDriver reports whether the trip was ever given to a driver.
func (t Trip) hadDriver() bool {
	return slices.ContainsFunc(t.Log(), func(e LogEntry) bool { return e.To == Assigned })
}
