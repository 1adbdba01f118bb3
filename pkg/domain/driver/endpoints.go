package driver

import (
	"context"
	"errors"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/external"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// Rows returns the endpoints of drivers.
func Rows() []api.Row {
	return []api.Row{
		api.Get("/api/v1/drivers", "svc_list_drivers", authz.Operators("tenant.drivers:read", "VIEW_DRIVERS"), list,
			api.Tag("Drivers"), api.Summary("List drivers"),
			api.Text("All drivers of the tenant, newest first, each with the current status and the last known location.")),
		api.Patch("/api/v1/me/status", "svc_set_driver_status", authz.Drivers("driver.status:write"), setStatus,
			api.Tag("Me"), api.Summary("Go online or offline"),
			api.Confirm("The company sees at once whether the driver is available for rides."),
			api.Text("Give either `online` or `status`. Nothing but the status changes. If the company's "+
				"`dispatch.driverStatus` is `strict`, a driver who has a ride stays `BUSY` until it ends; another status is a 409. "+
				"So is going online without a valid licence if `dispatch.driverLicence` is `valid`.")),
	}
}

type listInput struct {
	api.Paging
	Status     string `query:"status" enum:"OFFLINE,ONLINE,BUSY" doc:"Only drivers with this status."`
	ExternalID string `query:"externalId" minLength:"1" maxLength:"2000" doc:"Only the driver with this identifier in another system."`
}

// list reads by-g1 T#t#DRIVERS#shard or by-g2 T#t#DRIVERS#status#shard, and then
// the locations of the drivers on the page who have one.
func list(ctx context.Context, c *api.Caller, in *listInput) (*api.Page[Driver], error) {
	shards, err := c.ReadShards(ctx)
	if err != nil {
		return nil, err
	}
	l := api.List[listed]{Name: "drivers", Filters: []string{in.Status},
		Partitions: api.Sharded(c.Tenant, shards, "DRIVERS"), Query: table.Query{Index: 1, Backward: true}, Map: listedOf}
	if in.Status != "" {
		l.Partitions, l.Query.Index = api.Sharded(c.Tenant, shards, "DRIVERS", in.Status), 2
	}
	page, err := external.Page(ctx, c, in.Paging, l, Store.External(), in.ExternalID)
	if err != nil {
		return nil, err
	}
	// A driver whom an older build disabled may be in the partition of another status.
	page.Items = slices.DeleteFunc(page.Items, func(d listed) bool { return in.Status != "" && d.Status != in.Status })
	if err := locate(ctx, c.Tenant, page.Items); err != nil {
		return nil, err
	}
	out := &api.Page[Driver]{Items: make([]Driver, len(page.Items)), NextCursor: page.NextCursor}
	for i, d := range page.Items {
		out.Items[i] = *d.Driver
	}
	return out, nil
}

// listed is a driver of the list, and whether the driver has a location.
type listed struct {
	*Driver
	located bool
}

func listedOf(it table.Item) (listed, error) {
	r, err := FromItem(it)
	shown := r.Shown()
	return listed{&shown, it.Flag(Located)}, err
}

type statusInput struct {
	Body struct {
		Online *bool   `json:"online,omitempty" doc:"true is ONLINE, false is OFFLINE."`
		Status *string `json:"status,omitempty" enum:"ONLINE,OFFLINE,BUSY" example:"ONLINE" doc:"The new status."`
	}
}

// StatusChanged is the response to a status change.
type StatusChanged struct {
	ID        string `json:"id" doc:"Identifier of the driver."`
	Status    string `json:"status" enum:"OFFLINE,ONLINE,BUSY" doc:"The status now."`
	UpdatedAt string `json:"updatedAt" format:"date-time" doc:"When the driver set the status."`
}

// setStatus writes the driver's status on the condition that the version has
// not changed since the read. After a conflict it reads again and retries.
func setStatus(ctx context.Context, c *api.Caller, in *statusInput) (*StatusChanged, error) {
	status := in.status()
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	if tenant.NeedsLicence(state.Flags) && status != Offline {
		if err := licensed(ctx, c.Tenant, c.Actor.Subject, c.Now); err != nil {
			return nil, err
		}
	}
	it, answer := state.Actor, &StatusChanged{ID: c.Actor.Subject, Status: status, UpdatedAt: timestamp.Format(c.Now)}
	err = table.Retry(ctx, func(ctx context.Context) error {
		if !it.Found() {
			if it, err = c.Tenant.Get(ctx, Key(c.Tenant, c.Actor.Subject)); err != nil {
				return err
			}
		}
		r, err := FromItem(it)
		if errors.Is(err, fault.NotFound()) || r.Disabled {
			return fault.Unauthorized("The token is no longer valid.", true)
		}
		if err != nil {
			return err
		}
		if r.Trip != "" && tenant.Strict(state.Flags) && status != Busy {
			return fault.InvalidState("A driver who has a ride is BUSY, and ONLINE again when it ends. The ride is %s.", r.Trip)
		}
		r.Status, r.StatusUpdatedAt = status, answer.UpdatedAt
		tx := c.Tenant.Write()
		tx.Replace(Store.Rewritten(c.Tenant, it, r)).Else(table.ErrConflict)
		it = table.Item{} // read again after a conflict
		return c.Commit(ctx, tx, answer)
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// Resolve implements huma.Resolver. It rejects a request that has both online
// and status, or neither, before a person is asked to confirm the change.
func (in *statusInput) Resolve(huma.Context) []error {
	if (in.Body.Online == nil) == (in.Body.Status == nil) {
		return []error{&huma.ErrorDetail{Location: "body", Message: "expected either online or status"}}
	}
	return nil
}

// status returns the status that the request sets.
func (in *statusInput) status() string {
	switch b := in.Body; {
	case b.Status != nil:
		return *b.Status
	case *b.Online:
		return Online
	}
	return Offline
}
