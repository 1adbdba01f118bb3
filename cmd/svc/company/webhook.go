package company

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/cmd/svc/operation"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/webhook"
)

// webhookCommand returns the group of commands svc webhook, about a tenant's webhook
// endpoints.
func webhookCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("webhook", "Webhook endpoints, to which events are sent", webhookEnable(c), webhookTest(c),
		webhookReplay(c))
}

// webhooksOf reads all webhook endpoints of the tenant.
func webhooksOf(ctx context.Context, t table.Tenant) (webhook.Book, error) {
	return webhook.Kind.Get(ctx, t.Get, webhook.Key(t))
}

// endpointOf finds the tenant's webhook endpoint with the id.
func endpointOf(ctx context.Context, t table.Tenant, id string) (webhook.Record, error) {
	book, err := webhooksOf(ctx, t)
	if err != nil {
		return webhook.Record{}, err
	}
	if r := book.Find(id); r != nil {
		return *r, nil
	}
	return webhook.Record{}, fmt.Errorf("there is no webhook endpoint %q", id)
}

// webhookEnable returns the command svc webhook enable.
func webhookEnable(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "enable SLUG ID", Short: "Send a new challenge to a webhook endpoint",
		Long: "Send a new challenge to a webhook endpoint that is pending or disabled. When it has echoed the\n" +
			"challenge, it gets events. svc webhooks list shows what came of it. The audit log names you.",
		Example: "  svc webhooks enable metro whk_01JT7M4C6Q8V2N5X9B3D1F7H0K",
		RunE: cli.Act(func(ctx context.Context, args []string) error {
			return operation.Perform(ctx, c, "svc_update_webhook", args, map[string]any{"enabled": true})
		})}
}

// queueWebhookRequest stores the request q for the function that sends webhooks: a test
// or a replay. what names the change in the audit log.
func queueWebhookRequest(ctx context.Context, t table.Tenant, r webhook.Record, what string, q webhook.Request) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		if err := r.Ask(tx, t, cli.By(), what, q); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
}

// webhookTest returns the command svc webhook test, which sends an invented event to an
// endpoint.
func webhookTest(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "test SLUG ID", Short: "Send an invented event to a webhook endpoint",
		Example: "  svc webhook test metro whk_01JT7M4C6Q8V2N5X9B3D1F7H0K --type trip.started"}
	kind := cmd.Flags().String("type", "trip.completed", "`TYPE` of the event")
	cmd.RunE = c.In(func(ctx context.Context, _ cli.Platform, t table.Tenant, args []string) error {
		if !event.Known(*kind) {
			return cli.Usagef("--type %s: expected a type of event, such as trip.completed", *kind)
		}
		r, err := endpointOf(ctx, t, args[1])
		if err != nil {
			return err
		}
		flags, err := tenant.Flags(ctx, t)
		if err != nil {
			return err
		}
		e := event.Sample(*kind, !tenant.IsSandbox(flags), time.Now())
		if err := queueWebhookRequest(ctx, t, r, "test", webhook.Request{Test: &e}); err != nil {
			return err
		}
		return c.Done(e, "Event %s is on its way. See what comes of it: svc webhook deliveries %s %s", e.ID, args[0], args[1])
	})
	return cmd
}

// webhookReplay returns the command svc webhook replay, which sends earlier events again.
func webhookReplay(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "replay SLUG ID [EVENT]", Short: "Send one event, or a part of the feed, again",
		Long: "Send one event that was sent to the endpoint before, or with --after the\n" +
			"events that came into the feed since. Other endpoints get nothing.",
		Example: "  svc webhook replay metro whk_01JT7M4C6Q8V2N5X9B3D1F7H0K \\\n    evt_01JT7M4C6Q8V2N5X9B3D1F7H0K\n" +
			"  svc webhook replay metro whk_01JT7M4C6Q8V2N5X9B3D1F7H0K \\\n    --after 2026-01-31T08:00:00Z"}
	after := cmd.Flags().String("after", "", "start of the range, a `time`")
	before := cmd.Flags().String("before", "", "end of the range, a `time` (default now)")
	cmd.RunE = c.In(func(ctx context.Context, _ cli.Platform, t table.Tenant, args []string) error {
		if (len(args) == 3) == (*after != "") || len(args) == 3 && *before != "" {
			return cli.Usagef("expected an event, or --after with or without --before")
		}
		r, err := endpointOf(ctx, t, args[1])
		if err != nil {
			return err
		}
		q := webhook.Request{}
		if len(args) == 3 {
			q.Event = args[2]
			shards, err := tenant.ReadShards(ctx, t)
			if err != nil {
				return err
			}
			if it, err := webhook.FindDelivery(ctx, t, r.ID, shards, q.Event); err != nil || !it.Live(time.Now()) {
				return errors.Join(err, cli.Missing(fault.NotFound(), "delivery of the event", q.Event))
			}
		} else if q, err = rangeOf(ctx, t, *after, *before); err != nil {
			return err
		}
		if err := queueWebhookRequest(ctx, t, r, "replay", q); err != nil {
			return err
		}
		return c.Done(q, "The events are on their way. See what comes of them: svc webhook deliveries %s %s", args[0],
			args[1])
	})
	return cmd
}

// rangeOf returns the request to replay the events that came into the feed between two
// times (RFC 3339). If before is "", the range ends a minute from now.
func rangeOf(ctx context.Context, t table.Tenant, after, before string) (q webhook.Request, err error) {
	shards, err := tenant.ReadShards(ctx, t)
	if err != nil {
		return q, err
	}
	from, err := time.Parse(time.RFC3339Nano, after)
	if err != nil {
		return q, cli.Usagef("--after %s: expected a time, such as 2026-01-31T08:00:00Z", after)
	}
	to := time.Now().Add(time.Minute)
	if before != "" {
		if to, err = time.Parse(time.RFC3339Nano, before); err != nil {
			return q, cli.Usagef("--before %s: expected a time, such as 2026-01-31T08:00:00Z", before)
		}
	}
	if q.After, err = event.At(ctx, t, shards, from); err == nil {
		q.Before, err = event.At(ctx, t, shards, to)
	}
	return q, err
}
