package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/webhook"
)

// pollEvery is the pause of a command that waits for events.
const pollEvery = time.Second

// feedQuery is what the flags of a command that reads a feed ask for.
type feedQuery struct {
	after, kind, resource string
	limit                 int // events at most; 0 waits for more until Ctrl-C
}

func (q *feedQuery) flags(cmd *cobra.Command, after string) {
	cmd.Flags().StringVar(&q.after, "after", after, "where to begin: `earliest|latest`")
	cmd.Flags().StringVar(&q.kind, "type", "", "only events of this `TYPE`")
	cmd.Flags().StringVar(&q.resource, "resource", "", "only events of the resource with this `id`")
}

// read calls do with each event, oldest first.
func (q *feedQuery) read(ctx context.Context, t table.Tenant, do func(event.Event) error) error {
	if err := oneOf("after", q.after, []string{"earliest", "latest"}); err != nil {
		return err
	}
	if q.kind != "" && !event.Known(q.kind) {
		return usagef("--type %s: expected a type of event, such as trip.completed", q.kind)
	}
	shards, err := tenant.ReadShards(ctx, t)
	if err != nil {
		return err
	}
	query := event.Query{Shards: shards, Type: q.kind, Resource: q.resource}
	if q.after == "latest" {
		query.After, err = event.Newest(ctx, t)
	} else {
		query.After, err = event.Earliest(ctx, t, shards, time.Now())
	}
	for left := q.limit; err == nil; {
		query.Limit = 200
		if q.limit > 0 {
			query.Limit = min(left, query.Limit)
		}
		var page event.Page
		if page, err = event.Read(ctx, t, query, time.Now()); err != nil {
			break
		}
		for _, e := range page.Events {
			if err := do(e); err != nil {
				return err
			}
		}
		query.After, left = page.After, left-len(page.Events)
		if q.limit > 0 && (left == 0 || !page.More) {
			return nil
		}
		if !page.More {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pollEvery):
			}
		}
	}
	if ctx.Err() != nil {
		return nil // Ctrl-C
	}
	return err
}

func eventsCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "events SLUG", Short: "Show a tenant's events, oldest first",
		Long: "Show a tenant's events, oldest first. With --follow it waits for further events until Ctrl-C.\n" +
			"With --json each line is an event.",
		Example: "  svc events metro --type trip.completed\n  svc events metro --follow --after latest --json"}
	var q feedQuery
	q.flags(cmd, "earliest")
	limit := cmd.Flags().Int("limit", 50, "events at most, without --follow")
	follow := cmd.Flags().Bool("follow", false, "wait for further events")
	cmd.RunE = c.in(func(ctx context.Context, _ platform, t table.Tenant, _ []string) error {
		if q.limit = max(*limit, 1); *follow {
			q.limit = 0
		}
		return q.read(ctx, t, func(e event.Event) error { return c.eventLine(e, "") })
	})
	return cmd
}

// eventLine prints one event and what became of it.
func (c *cli) eventLine(e event.Event, result string) error {
	if c.json {
		text, err := json.Marshal(struct {
			event.Event
			Result string `json:"result,omitempty"`
		}{e, result})
		if err == nil {
			_, err = fmt.Fprintln(c.out, string(text))
		}
		return err
	}
	at, status := e.Timestamp, cellOf(e.Data.Status)
	if !c.wide { // the feed ends after 30 days, so a year says nothing
		at = strings.TrimPrefix(minute(at), at[:len("2026-")])
	}
	line := fmt.Sprintf("%s  %-22s  %-30s  ", at, e.Type, e.Resource)
	switch {
	case c.wide:
		status += "  " + result
	case result != "":
		status = result
	default:
		status = shorten(status, tableWidth-utf8.RuneCountInString(line))
	}
	_, err := fmt.Fprintln(c.out, strings.TrimRight(line+status, " "))
	return err
}

func listenCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "listen SLUG --forward-to URL",
		Short: "Send a tenant's events to a receiver on this machine",
		Long: "Send a tenant's new events to a receiver until Ctrl-C, signed as a webhook endpoint signs. Each event is\n" +
			"sent once. svc prints the event and the receiver's status. Without --secret it makes a secret and prints it\n" +
			"first.",
		Example: "  svc listen metro --forward-to http://127.0.0.1:3000/events\n" +
			"  svc listen metro --forward-to http://127.0.0.1:3000 --type trip.completed"}
	var q feedQuery
	q.flags(cmd, "latest")
	to := cmd.Flags().String("forward-to", "", "the receiver's `URL`; required")
	secret := cmd.Flags().String("secret", "", "the `secret` that signs: whsec_ and 24 to 64 bytes in base64")
	cmd.RunE = c.in(func(ctx context.Context, _ platform, t table.Tenant, _ []string) error {
		if u, err := url.Parse(*to); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return usagef("--forward-to %q: expected a URL such as http://127.0.0.1:3000/events", *to)
		}
		key := make([]byte, 32)
		if *secret == "" {
			_, _ = rand.Read(key) // never fails (crypto/rand)
			fmt.Fprintf(c.err, "svc: signing with the secret %s\n", webhook.SecretText(key))
		} else {
			var err error
			if key, err = webhook.ParseSecret(*secret); err != nil {
				return usagef("--secret: %v", err)
			}
		}
		return q.read(ctx, t, func(e event.Event) error { return c.eventLine(e, forward(ctx, *to, e, key)) })
	})
	return cmd
}

// forward posts an event and returns the status, or what failed.
func forward(ctx context.Context, to string, e event.Event, key []byte) string {
	body, err := json.Marshal(e)
	if err != nil {
		return err.Error()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	webhook.Sign(r.Header, e.ID, time.Now(), body, key)
	client := http.Client{Timeout: 15 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		return printable(err.Error())
	}
	_ = res.Body.Close()
	return res.Status
}
