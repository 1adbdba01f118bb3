package report

import (
	"context"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/timestamp"
	"svc/pkg/edge/api"
)

// Rows returns the endpoints of reports.
func Rows() []api.Row {
	return []api.Row{
		api.Get("/api/v1/reports/summary", "svc_reports_summary", authz.Operators("tenant.reports:read", "VIEW_REPORTS"),
			summary, api.Tag("Reports"), api.Summary("Summarize the trips of a window"),
			api.Text("Counts the trips from `from` (included) to `to` (excluded), exact to the millisecond: "+
				"`tripsByStatus` by the time of request, `completedTrips` and `revenue` by the time of completion. "+
				"The numbers of drivers and customers are those of now. The window is at most 400 days long.")),
	}
}

type summaryInput struct {
	From string `query:"from" format:"iso8601" doc:"Start of the window, included: ISO 8601, UTC where it has no offset. Default: 30 days before the end." example:"2026-01-01T00:00:00Z"`
	To   string `query:"to" format:"iso8601" doc:"End of the window, excluded. Default: now." example:"2026-02-01T00:00:00Z"`
}

func summary(ctx context.Context, c *api.Caller, in *summaryInput) (*Summary, error) {
	var wrong fault.Faults
	from, to := bound("query.from", in.From, &wrong), bound("query.to", in.To, &wrong)
	if err := wrong.Err(); err != nil {
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
	return Summarize(ctx, c.Tenant, start, end, shards)
}

// bound parses a bound of the window. It returns nil if the request has none,
// and adds a fault if the bound cannot be parsed.
func bound(field, text string, wrong *fault.Faults) *time.Time {
	if text == "" {
		return nil
	}
	at, err := timestamp.ParseInput(text)
	if err != nil {
		wrong.Add(field, err.Error())
	}
	return &at
}
