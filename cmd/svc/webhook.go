package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/pkg/access/signing"
	"svc/pkg/app"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/webhook"
)

func webhookCommand(c *cli) *cobra.Command {
	return group("webhook", "Webhook endpoints, to which events are sent",
		c.webhookList(), c.webhookCreate(), c.webhookEnable(), c.webhookRotate(), c.webhookTest(), c.webhookDeliveries(),
		c.webhookReplay())
}

func (c *cli) webhookList() *cobra.Command {
	return &cobra.Command{Use: "list SLUG", Short: "List a tenant's webhook endpoints",
		Example: "  svc webhook list metro",
		RunE: c.in(func(ctx context.Context, _ platform, t table.Tenant, _ []string) error {
			book, err := webhooksOf(ctx, t)
			if err != nil {
				return err
			}
			rows, shown := cols{head: "ID STATUS REASON TYPES URL"}, []webhook.Endpoint{}
			for _, r := range book.Endpoints {
				rows.add(r.ID, r.Status, r.Reason, strings.Join(r.Types, ","), r.URL)
				shown = append(shown, r.Endpoint)
			}
			return c.show(shown, rows)
		})}
}

func webhooksOf(ctx context.Context, t table.Tenant) (webhook.Book, error) {
	it, err := t.Get(ctx, webhook.Key(t))
	if err != nil {
		return webhook.Book{}, err
	}
	return webhook.FromItem(it)
}

// endpointOf finds one of the tenant's webhook endpoints.
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

// webhookSecret returns a new secret of an endpoint, plain and sealed as the service does it.
func (p platform) webhookSecret(ctx context.Context, t table.Tenant, id string) (secret, sealed []byte, err error) {
	var sealer signing.Sealer
	if p.data != "" {
		sealer, err = signing.FileSealer(filepath.Join(p.data, "sealing.key"))
	} else {
		sealer, err = app.WebhookSealer(ctx, p.env, awsConfig)
	}
	if err != nil {
		return nil, nil, err
	}
	return webhook.NewSecret(ctx, sealer.Seal, t, id)
}

type endpointWithSecret struct {
	webhook.Endpoint
	Secret string `json:"secret"`
}

func (c *cli) webhookCreate() *cobra.Command {
	cmd := &cobra.Command{Use: "create SLUG URL", Short: "Add a webhook endpoint and show its secret, once",
		Long: "Add a webhook endpoint and show its secret, once. The address gets a challenge and must echo it. Then\n" +
			"events are sent to it. If the receiver needs the secret to start, run svc webhook enable afterwards. The\n" +
			"audit log names you.",
		Example: "  svc webhook create metro https://hooks.metro.example/events \\\n" +
			"    --type trip.completed --type trip.cancelled"}
	types := cmd.Flags().StringSlice("type", nil, "only events of this `TYPE`; may be repeated (default all)")
	description := cmd.Flags().String("description", "", "`text`: what the endpoint is for")
	cmd.RunE = c.in(func(ctx context.Context, p platform, t table.Tenant, args []string) error {
		one, err := webhook.New(args[1], *description, *types, by().Who, time.Now(), p.data != "")
		if err != nil {
			return err
		}
		secret, sealed, err := p.webhookSecret(ctx, t, one.ID)
		if err != nil {
			return err
		}
		one.Secret = sealed
		if _, err := webhook.Adding(t, by(), one).Run(ctx); err != nil {
			return err
		}
		return c.done(endpointWithSecret{one.Endpoint, webhook.SecretText(secret)},
			"Endpoint %s is pending until it echoes its challenge. Its secret, shown once:\n%s\n"+
				"When the receiver runs: svc webhook enable %s %s", one.ID, webhook.SecretText(secret), args[0], one.ID)
	})
	return cmd
}

func (c *cli) webhookEnable() *cobra.Command {
	return &cobra.Command{Use: "enable SLUG ID", Short: "Send a new challenge to a webhook endpoint",
		Long: "Send a new challenge to a webhook endpoint that is pending or disabled. When it has echoed the\n" +
			"challenge, it gets events. The audit log names you.",
		Example: "  svc webhook enable metro whk_01JT7M4C6Q8V2N5X9B3D1F7H0K",
		RunE: c.in(func(ctx context.Context, _ platform, t table.Tenant, args []string) error {
			var out webhook.Endpoint
			if _, err := webhook.Editing(t, by(), "update", args[1], &out, func(_ *webhook.Book, r *webhook.Record) error {
				r.Enable()
				return nil
			}).Run(ctx); err != nil {
				return missing(err, "webhook endpoint", args[1])
			}
			return c.done(out, "Endpoint %s is %s. See what came of its challenge: svc webhook list %s", out.ID, out.Status,
				args[0])
		})}
}

func (c *cli) webhookRotate() *cobra.Command {
	cmd := &cobra.Command{Use: "rotate SLUG ID", Short: "Replace the secret of a webhook endpoint",
		Long: "Replace the secret of a webhook endpoint and show the new one, once. Until its end\n" +
			"the old secret signs too. The audit log names you.",
		Example: "  svc webhook rotate metro whk_01JT7M4C6Q8V2N5X9B3D1F7H0K --overlap 1h"}
	overlap := cmd.Flags().Duration("overlap", 24*time.Hour, "how long the old secret signs too, at most 168h")
	cmd.RunE = c.in(func(ctx context.Context, p platform, t table.Tenant, args []string) error {
		if *overlap < 0 || *overlap > 7*24*time.Hour {
			return usagef("--overlap %s: expected 0 to 168h", *overlap)
		}
		if _, err := endpointOf(ctx, t, args[1]); err != nil {
			return err
		}
		secret, sealed, err := p.webhookSecret(ctx, t, args[1])
		if err != nil {
			return err
		}
		var out webhook.Endpoint
		if _, err := webhook.Editing(t, by(), "rotate", args[1], &out, func(_ *webhook.Book, r *webhook.Record) error {
			r.Replace(sealed, time.Now().Add(*overlap))
			return nil
		}).Run(ctx); err != nil {
			return err
		}
		return c.done(endpointWithSecret{out, webhook.SecretText(secret)},
			"Endpoint %s has a new secret, shown once:\n%s", out.ID, webhook.SecretText(secret))
	})
	return cmd
}

// ask puts a request to the sender of webhooks.
func ask(ctx context.Context, t table.Tenant, r webhook.Record, what string, q webhook.Request) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		if err := r.Ask(tx, t, by(), what, q); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
}

func (c *cli) webhookTest() *cobra.Command {
	cmd := &cobra.Command{Use: "test SLUG ID", Short: "Send an invented event to a webhook endpoint",
		Example: "  svc webhook test metro whk_01JT7M4C6Q8V2N5X9B3D1F7H0K --type trip.started"}
	kind := cmd.Flags().String("type", "trip.completed", "`TYPE` of the event")
	cmd.RunE = c.in(func(ctx context.Context, _ platform, t table.Tenant, args []string) error {
		if !event.Known(*kind) {
			return usagef("--type %s: expected a type of event, such as trip.completed", *kind)
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
		if err := ask(ctx, t, r, "test", webhook.Request{Test: &e}); err != nil {
			return err
		}
		return c.done(e, "Event %s is on its way. See what comes of it: svc webhook deliveries", e.ID)
	})
	return cmd
}

func (c *cli) webhookDeliveries() *cobra.Command {
	cmd := &cobra.Command{Use: "deliveries SLUG ID",
		Short:   "List the deliveries to a webhook endpoint, newest event first",
		Example: "  svc webhook deliveries metro whk_01JT7M4C6Q8V2N5X9B3D1F7H0K --status failed"}
	status := cmd.Flags().String("status", "", "only those in this status: `pending|succeeded|failed`")
	limit := cmd.Flags().Int("limit", 50, "deliveries at most")
	cmd.RunE = c.in(func(ctx context.Context, _ platform, t table.Tenant, args []string) error {
		if err := oneOf("status", *status, []string{webhook.Waiting, webhook.Succeeded, webhook.Failed}); err != nil {
			return err
		}
		if _, err := endpointOf(ctx, t, args[1]); err != nil {
			return err
		}
		return list(ctx, c, t, *limit, "UPDATED TYPE RESULT ATTEMPTS+ NEXT+ EVENT", func(d webhook.Delivery) []any {
			result := d.Status
			if n := len(d.Attempts); n > 0 && result != webhook.Succeeded {
				result += " " + d.Attempts[n-1].Result
			}
			return []any{d.UpdatedAt, d.Type, result, len(d.Attempts), d.NextAt, d.EventID}
		}, func(ctx context.Context, t table.Tenant, after string, limit int) ([]webhook.Delivery, string, error) {
			page, next, err := webhook.Deliveries(ctx, t, args[1], *status, after, limit)
			out := make([]webhook.Delivery, len(page))
			for i, s := range page {
				out[i] = s.Delivery
			}
			return out, next, err
		})
	})
	return cmd
}

func (c *cli) webhookReplay() *cobra.Command {
	cmd := &cobra.Command{Use: "replay SLUG ID [EVENT]", Short: "Send one event, or a part of the feed, again",
		Long: "Send one event that was sent to the endpoint before, or with --after the\n" +
			"events that came into the feed since. Other endpoints get nothing.",
		Example: "  svc webhook replay metro whk_01JT7M4C6Q8V2N5X9B3D1F7H0K \\\n    evt_01JT7M4C6Q8V2N5X9B3D1F7H0K\n" +
			"  svc webhook replay metro whk_01JT7M4C6Q8V2N5X9B3D1F7H0K \\\n    --after 2026-01-31T08:00:00Z"}
	after := cmd.Flags().String("after", "", "start of the range, a `time`")
	before := cmd.Flags().String("before", "", "end of the range, a `time` (default now)")
	cmd.RunE = c.in(func(ctx context.Context, _ platform, t table.Tenant, args []string) error {
		if (len(args) == 3) == (*after != "") || len(args) == 3 && *before != "" {
			return usagef("expected an event, or --after with or without --before")
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
				return errors.Join(err, missing(fault.NotFound(), "delivery of the event", q.Event))
			}
		} else if q, err = rangeOf(ctx, t, *after, *before); err != nil {
			return err
		}
		if err := ask(ctx, t, r, "replay", q); err != nil {
			return err
		}
		return c.done(q, "The events are on their way. See what comes of them: svc webhook deliveries")
	})
	return cmd
}

// rangeOf returns the request for the events that came into the feed between two
// times.
func rangeOf(ctx context.Context, t table.Tenant, after, before string) (q webhook.Request, err error) {
	shards, err := tenant.ReadShards(ctx, t)
	if err != nil {
		return q, err
	}
	from, err := time.Parse(time.RFC3339Nano, after)
	if err != nil {
		return q, usagef("--after %s: expected a time, such as 2026-01-31T08:00:00Z", after)
	}
	to := time.Now().Add(time.Minute)
	if before != "" {
		if to, err = time.Parse(time.RFC3339Nano, before); err != nil {
			return q, usagef("--before %s: expected a time, such as 2026-01-31T08:00:00Z", before)
		}
	}
	if q.After, err = event.At(ctx, t, shards, from); err == nil {
		q.Before, err = event.At(ctx, t, shards, to)
	}
	return q, err
}
