package report

import (
	"context"
	"time"

	"svc/pkg/api"
	"svc/pkg/authz"
	"svc/pkg/fault"
	"svc/pkg/timestamp"
)

// Rows are the endpoints of reports.
func Rows() []api.Row {
	return []api.Row{
		api.Get("/api/v1/reports/summary", "svc_reports_summary", authz.Operators("tenant.reports:read", "VIEW_REPORTS"), summary,
			api.Tag("Reports"), api.Summary("Summarize the trips of a window"),
			api.Text("Trips requested from `from` (included) to `to` (excluded), exact to the millisecond, with drivers and customers as they are now. "+
				"The window is at most 400 days long.")),
	}
}

type summaryInput struct {
	From string `query:"from" maxLength:"64" format:"date-time" doc:"Start of the window, included. Default: 30 days ago."`
	To   string `query:"to" maxLength:"64" format:"date-time" doc:"End of the window, excluded. Default: now."`
}

func summary(ctx context.Context, c *api.Caller, in *summaryInput) (*Summary, error) {
	var faults []fault.Detail
	from, to := bound("query.from", in.From, &faults), bound("query.to", in.To, &faults)
	if len(faults) > 0 {
		return nil, fault.Invalid(faults...)
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

// bound reads a bound, nil where there is none.
func bound(field, text string, faults *[]fault.Detail) *time.Time {
	if text == "" {
		return nil
	}
	at, err := timestamp.ParseInput(text)
	if err != nil {
		*faults = append(*faults, fault.Detail{Field: field, Message: err.Error()})
	}
	return &at
}
