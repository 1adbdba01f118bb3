package report

import (
	"context"
	"log/slog"

	"svc/pkg/access/authz"
	"svc/pkg/domain/trip"
	"svc/pkg/edge/api"
)

// Rows returns the endpoints of reports.
func Rows() []api.Row {
	return []api.Row{
		api.Get("/api/v1/reports/summary", "svc_reports_summary", authz.Operators("tenant.reports:read", "VIEW_REPORTS"),
			summary, trip.NeedsZone(), api.Tag("Reports"), api.Summary("Summarize the trips of a window"),
			api.Text("Counts the trips from `from` (included) to `to` (excluded), exact to the millisecond: "+
				"`tripsByStatus` by the time of request, `completedTrips` and `revenue` by the time of completion. "+
				"The numbers of drivers and customers are those of now. The window is at most 400 days long.")),
	}
}

type summaryInput struct {
	From string `query:"from" format:"iso8601" doc:"Start of the window, included: ISO 8601, in UTC if it has no offset. A date alone is a day in the company's time zone. Default: 30 days before the end." example:"2026-01-01T00:00:00Z"`
	To   string `query:"to" format:"iso8601" doc:"End of the window, excluded. A date alone includes that day. Default: now." example:"2026-02-01T00:00:00Z"`
}

// summary returns the report of a window. It logs a warning if the counters are those of
// an older build.
func summary(ctx context.Context, c *api.Caller, in *summaryInput) (*Summary, error) {
	from, to, err := trip.Window(ctx, c, in.From, in.To)
	if err != nil {
		return nil, err
	}
	start, end, err := bounds(from, to, c.Now)
	if err != nil {
		return nil, err
	}
	shards, err := c.ReadShards(ctx)
	if err != nil {
		return nil, err
	}
	out, err := Summarize(ctx, c.Tenant, start, end, shards)
	if err != nil {
		return nil, err
	}
	if out.Older {
		slog.WarnContext(ctx, "the report counts rides by their request, as an older build stored them; svc rebuild counts "+
			"them by their completion", "tenant", c.Tenant.ID())
	}
	state, err := c.Live(ctx)
	out.Currency = state.Currency
	return out, err
}
