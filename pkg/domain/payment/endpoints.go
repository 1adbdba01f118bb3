package payment

import (
	"context"

	"svc/pkg/access/authz"
	"svc/pkg/edge/api"
)

// Rows returns the endpoint of payment methods.
func Rows() []api.Row {
	return []api.Row{
		api.Get("/api/v1/me/payment-methods", "svc_list_payment_methods", authz.Riders("rider.payments:read"), list,
			api.Tag("Me"), api.Summary("List my payment methods"), api.Text("The default first, then the newest.")),
	}
}

func list(ctx context.Context, c *api.Caller, _ *struct{}) (*api.Items[Method], error) {
	all, err := List(ctx, c.Tenant, c.Actor.Subject)
	if err != nil {
		return nil, err
	}
	return &api.Items[Method]{Items: all}, nil
}
