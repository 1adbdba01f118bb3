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
	"svc/pkg/edge/api"
)

// Rows returns the endpoint by which operators move the robots ahead.
func Rows(db *table.DB) []api.Row {
	return []api.Row{
		api.Post("/api/v1/sandbox/advance", "svc_advance_sandbox", authz.Operators("tenant.settings:write", "EDIT_SETTINGS"),
			func(ctx context.Context, c *api.Caller, in *Input) (*Advanced, error) { return advance(ctx, c, db, in) },
			api.Extension(), api.Tag("Sandbox"), api.Summary("Move the sandbox ahead"),
			api.Confirm("The robots of the sandbox go on as if the time had passed."),
			api.Text("Only in a sandbox; else the response is a 409. Robots do at once what they would do within the "+
				"seconds: they arrive, wait, ride and complete. Times in the records stay those of the real clock. On a laptop "+
				"it happens right after the response, in AWS within a minute.")),
	}
}

// Input is the body of the request.
type Input struct {
	Body struct {
		Seconds int `json:"seconds" minimum:"1" maximum:"3600" example:"300" doc:"By how much the robots go ahead."`
	}
}

// Advanced is the response.
type Advanced struct {
	Seconds int    `json:"seconds" doc:"By how much the robots go ahead."`
	DueAt   string `json:"dueAt" format:"date-time" doc:"From when on the robots do it."`
}

// advance writes a row of what is due, with the audit entry.
func advance(ctx context.Context, c *api.Caller, db *table.DB, in *Input) (*Advanced, error) {
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	if !tenant.IsSandbox(state.Flags) {
		return nil, ErrLive
	}
	out := &Advanced{in.Body.Seconds, timestamp.Format(c.Now)}
	task := due.Task{Tenant: c.Tenant.ID(), Kind: Advance, At: c.Now,
		ID: fmt.Sprintf("%d#%s", in.Body.Seconds, ids.Code())}
	err = table.Retry(ctx, func(ctx context.Context) error {
		tx := c.Tenant.Write()
		audit.Append(tx, c.Tenant, c.By(), "sandbox.advance", c.Tenant.ID(), nil, out)
		Book(db, func() time.Time { return c.Now }).Add(tx, task)
		return c.Commit(ctx, tx, out)
	})
	if err != nil {
		return nil, err
	}
	c.Begun()
	return out, nil
}
