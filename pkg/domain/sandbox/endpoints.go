package sandbox

import (
	"context"
	"fmt"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/webhook"
	"svc/pkg/edge/api"
)

// Rows returns the endpoint by which operators advance the time of a sandbox.
func Rows(db *table.DB) []api.Row {
	return []api.Row{
		api.Post("/api/v1/sandbox/advance", "svc_advance_sandbox", authz.Operators("tenant.settings:write", "EDIT_SETTINGS"),
			func(ctx context.Context, c *api.Caller, in *Input) (*Advanced, error) { return advance(ctx, c, db, in) },
			api.Extension(), api.Tag("Sandbox"), api.Summary("Move the sandbox ahead"),
			api.Confirm("The sandbox goes on as if the time had passed."),
			api.Text("Only in a sandbox; else the response is a 409. What is due within the seconds happens at once: "+
				"robots arrive, wait, ride and complete; then scheduled rides become `PENDING`, and offers that nobody answered "+
				"end, wave after wave. Each delivery to a webhook whose next attempt is due gets that attempt. "+
				"Times in the records stay those of the real clock. On a laptop it happens right after the response, in AWS "+
				"within a minute or two."),
			api.NoEvent("what it moves has events")),
	}
}

// Input is the request to advance a sandbox.
type Input struct {
	Body struct {
		Seconds int `json:"seconds" minimum:"1" maximum:"3600" example:"300" doc:"By how much the sandbox goes ahead."`
	}
}

// Advanced is the response to a request to advance a sandbox.
type Advanced struct {
	Seconds int    `json:"seconds" doc:"By how much the sandbox goes ahead."`
	DueAt   string `json:"dueAt" format:"date-time" doc:"From when on it happens."`
}

// advance stores two tasks that are due now, one for the robots and one for the webhooks,
// with an audit entry. Errors: ErrLive.
func advance(ctx context.Context, c *api.Caller, db *table.DB, in *Input) (*Advanced, error) {
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	if !tenant.IsSandbox(state.Flags) {
		return nil, ErrLive
	}
	out := &Advanced{in.Body.Seconds, timestamp.Format(c.Now)}
	now := func() time.Time { return c.Now }
	task := due.Task{Tenant: c.Tenant.ID(), Kind: Advance, At: c.Now,
		ID: fmt.Sprintf("%d#%s", in.Body.Seconds, ids.Code())}
	err = table.Retry(ctx, func(ctx context.Context) error {
		tx := c.Tenant.Write()
		audit.Append(tx, c.Tenant, c.By(), "sandbox.advance", c.Tenant.ID(), nil, out)
		Book(db, now).Add(tx, task)
		ahead := webhook.Message{Tenant: c.Tenant.ID(), Advance: in.Body.Seconds}
		webhook.Due(db, now, 0).Add(tx, webhook.TaskOf(ahead, c.Now))
		return c.Commit(ctx, tx, out)
	})
	if err != nil {
		return nil, err
	}
	c.Begun()
	return out, nil
}
