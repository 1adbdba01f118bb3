package main

import (
	"context"
	"time"

	"svc/pkg/base/timestamp"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/webhook"
)

// hook is the webhook endpoint of the requests that are measured.
const hook = "whk_01JT7M4C6Q8V2N5X9B3D1F7H0K"

// hooks prepares a request to webhooks: it writes one enabled endpoint anew, to which
// nothing is sent.
func hooks(path, body string) func(context.Context, *world) (string, string, error) {
	return func(ctx context.Context, w *world) (string, string, error) {
		n, err := tenant.Store{DB: w.db}.BySlug(ctx, slug)
		if err != nil {
			return "", "", err
		}
		at := timestamp.Format(time.Now())
		b := webhook.Book{Endpoints: []webhook.Record{{
			Endpoint: webhook.Endpoint{ID: hook, Types: []string{"webhook.disabled"},
				URL: "https://hooks.metro.example/", Status: webhook.Enabled, CreatedAt: at}, Challenges: 1, Challenged: 1}}}
		t := w.db.Tenant(n.ID)
		return "/api/v1/webhooks" + path, body, t.Load(ctx, b.Item(t))
	}
}

// ahead prepares a request to move a sandbox ahead. First it makes the tenant a sandbox.
func ahead(ctx context.Context, w *world) (string, string, error) {
	n, err := tenant.Store{DB: w.db}.BySlug(ctx, slug)
	if err != nil {
		return "", "", err
	}
	t := w.db.Tenant(n.ID)
	tx := t.Write()
	tenant.SetFlags(tx, t, map[string]any{"sandbox": true})
	return "/api/v1/sandbox/advance", `{"seconds":60}`, tx.Commit(ctx)
}
