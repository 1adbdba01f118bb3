package estimate

import (
	"context"
	"log/slog"
	"net/http"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/money"
	"svc/pkg/base/panics"
	"svc/pkg/data/table"
	"svc/pkg/domain/settings"
	"svc/pkg/edge/api"
)

// Rows returns the endpoints of estimates. client sends the requests to the companies'
// routing engines.
func Rows(client http.RoundTripper) []api.Row {
	policy := authz.Riders("rider.trips:create").Needing(authz.Taxi)
	return []api.Row{
		api.Get("/api/v1/me/services", "svc_list_my_services", policy, services, api.Extension(),
			api.Tag("Fares"), api.Summary("List the service types that a rider may choose"),
			api.Text("The company's active service types. An `id` is the value to send as `serviceTypeId`.")),
		api.Post("/api/v1/me/estimates", "svc_estimate_ride", policy, estimator{client}.estimate, api.Extension(),
			api.Early(read), api.NeedsRecent(needSettings), api.Tag("Fares"), api.Summary("Estimate what a ride would cost"),
			api.Text("One estimate for each active service type with prices. An estimate is valid for five minutes: a ride "+
				"that is requested with its `estimateId` gets its fare as `estimatedFare`. A service type whose fare would be "+
				"above the company's largest fare is left out. Distance and duration come from the company's routing engine, "+
				"or else from the straight line."),
			api.NoEvent("an estimate ends after five minutes")),
	}
}

// services returns the company's active service types, oldest first.
func services(ctx context.Context, c *api.Caller, in *api.From) (*api.Cut[settings.ServiceType], error) {
	return settings.Active(ctx, c, in)
}

// Input is the request body of an estimate.
type Input struct {
	Body Journey
}

// needSettings returns the key of the tenant's settings. The process remembers from each
// read of the settings whether rides must begin in a zone, and the next request uses that
// (settings.EarlyOrigin).
func needSettings(t table.Tenant, _ api.Peek) []table.Key { return []table.Key{settings.Key(t)} }

// early is what an estimate reads while the access checks run: the prices, and whether
// the origin lies in one of the company's zones.
type early struct {
	settings.Prices
	origin settings.Origin
}

// read returns what an estimate reads while the access checks run. The request is not
// validated yet.
func read(ctx context.Context, t table.Tenant, p api.Peek) (out early, err error) {
	group, ctx := panics.WithContext(ctx)
	group.Go(func() (err error) {
		out.Prices, err = settings.Priced(ctx, t)
		return err
	})
	group.Go(func() (err error) {
		out.origin, err = settings.EarlyOrigin(ctx, t, p)
		return err
	})
	return out, group.Wait()
}

// estimator holds the client for the companies' routing engines.
type estimator struct{ client http.RoundTripper }

// estimate measures the journey and stores the fare for each service type. Errors: a 409
// if the company does not serve the origin, or if no service type has a fare to offer.
func (e estimator) estimate(ctx context.Context, c *api.Caller, in *Input) (*api.Items[Offer], error) {
	journey := in.Body
	if err := journey.normalize(); err != nil {
		return nil, err
	}
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	priced, err := api.EarlyOf[early](ctx, c)
	if err != nil {
		return nil, err
	}
	err = priced.Document.Serves(ctx, c.Tenant, state.Flags, priced.origin, journey.OriginLat, journey.OriginLng)
	if err != nil {
		return nil, err
	}
	route, failed := measured(ctx, e.client, priced.Document.Routing, journey)
	if failed != nil {
		slog.WarnContext(ctx, "the ride is estimated by the straight line", "tenant", c.Tenant.ID(), "cause", failed)
	}
	largest := money.MaxFare(state.Flags.Amount("maxFare"), state.Currency)
	offers, fares := offers(priced.Services, priced.Document, route, state.Currency, largest, c.Now)
	out := &api.Items[Offer]{Items: offers}
	if len(offers) == 0 {
		return nil, fault.InvalidState("The company has no service type with prices, so no fare can be estimated. Request " +
			"the ride without an estimate.")
	}
	return out, table.Retry(ctx, func(ctx context.Context) error {
		tx := c.Tenant.Write()
		tx.Create(Item(c.Tenant, c.Actor.Subject, offers[0].EstimateID, Stored{journey, fares}, c.Now)).
			Else(table.ErrConflict)
		return c.Commit(ctx, tx, out)
	})
}
