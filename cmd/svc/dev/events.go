package dev

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/base/outbound"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/webhook"
	"svc/pkg/local/folder"
)

// pollEvery is the pause between two reads of the event feed while a command waits for
// events.
const pollEvery = time.Second

// feedQuery says which events of a tenant's feed a command reads. Flags of the command
// set it.
type feedQuery struct {
	after, kind, resource string
	limit                 int // number of events at most; 0: no limit, and wait for more until Ctrl-C

	// reopen finds the tenant again after the service has stopped. If it is nil, read
	// does not wait for the service and returns the error.
	reopen func(context.Context) (table.Tenant, error)
}

// flags adds the flags that set the query to a command. after is the default of --after.
func (q *feedQuery) flags(cmd *cobra.Command, after string) {
	cmd.Flags().StringVar(&q.after, "after", after, "where to begin: `earliest|latest`")
	cmd.Flags().StringVar(&q.kind, "type", "", "only events of this `TYPE`, or of these, separated by commas")
	cmd.Flags().StringVar(&q.resource, "resource", "", "only events of the resource with this `id`")
}

// read calls do with each event, oldest first, until the limit, Ctrl-C or an error. If
// reopen is set and the service stops, read waits for it and continues.
func (q *feedQuery) read(ctx context.Context, t table.Tenant, do func(event.Event) error) error {
	if err := cli.OneOf("after", q.after, []string{"earliest", "latest"}); err != nil {
		return err
	}
	types, ok := event.ParseTypes(q.kind)
	if !ok {
		return cli.Usagef("--type %s: expected types of events, such as trip.completed, separated by commas", q.kind)
	}
	shards, err := tenant.ReadShards(ctx, t)
	if err != nil {
		return err
	}
	query := event.Query{Shards: shards, Types: types, Resource: q.resource}
	if q.after == "latest" {
		query.After, err = event.Newest(ctx, t)
	} else {
		query.After, err = event.Earliest(ctx, t, shards, time.Now())
	}
	if err != nil {
		return err
	}
	for {
		err := q.pages(ctx, t, &query, do)
		var failed doError
		if ctx.Err() != nil {
			return nil // Ctrl-C
		}
		if errors.As(err, &failed) {
			return failed.error
		}
		if err == nil || q.reopen == nil || errors.Is(err, event.ErrExpired) {
			return err
		}
		if t, err = q.await(ctx, err); err != nil {
			return err
		}
		if err = restarted(ctx, t, &query); err != nil {
			return err
		}
	}
}

// doError wraps an error of the function do, to tell it from an error of reading the
// feed.
type doError struct{ error }

// pages reads the feed from query.After on, and moves query.After to the end of each
// page. Without a limit it waits for further events until ctx ends.
func (q *feedQuery) pages(ctx context.Context, t table.Tenant, query *event.Query, do func(event.Event) error) error {
	for left := q.limit; ; {
		query.Limit = 200
		if q.limit > 0 {
			query.Limit = min(left, query.Limit)
		}
		page, err := event.Read(ctx, t, *query, time.Now())
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			if err := do(e); err != nil {
				return doError{err}
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
}

// await waits until the service runs again. failed is the error of the request that
// failed; await returns it if the service runs but keeps failing.
func (q *feedQuery) await(ctx context.Context, failed error) (table.Tenant, error) {
	for tries := 0; ; tries++ {
		t, err := q.reopen(ctx)
		if err == nil {
			if _, err = event.Newest(ctx, t); err == nil {
				return t, nil
			}
		}
		if ctx.Err() != nil {
			return t, nil // Ctrl-C
		}
		if err != nil && !errors.Is(err, folder.ErrNotRunning) && tries >= mostTries {
			return t, failed
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollEvery):
		}
	}
}

// mostTries is how often await tries a service that runs but fails.
const mostTries = 60

// restarted moves the query to the start of the feed if the query's position is behind
// the end of the feed. This happens when svc dev --memory has started again with a new
// feed.
func restarted(ctx context.Context, t table.Tenant, query *event.Query) error {
	if ctx.Err() != nil {
		return nil
	}
	newest, err := event.Newest(ctx, t)
	if err != nil {
		return err
	}
	for shard, after := range query.After {
		if shard >= len(newest) || newest[shard] < after {
			query.After, err = event.Earliest(ctx, t, len(newest), time.Now())
			query.Shards = len(newest)
			break
		}
	}
	return err
}

// eventsCommand returns the command svc events, which shows the events of a tenant.
func eventsCommand(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "events SLUG", Short: "Show a tenant's events, oldest first",
		Long: "Show a tenant's events, oldest first. With --follow it waits for further events until Ctrl-C.\n" +
			"With --json each line is an event.",
		Example: "  svc events metro --type trip.completed\n  svc events metro --follow --after latest --json"}
	var q feedQuery
	q.flags(cmd, "earliest")
	limit := cmd.Flags().Int("limit", 50, "events at most, without --follow")
	follow := cmd.Flags().Bool("follow", false, "wait for further events")
	cmd.RunE = c.In(func(ctx context.Context, p cli.Platform, t table.Tenant, args []string) error {
		if q.limit = max(*limit, 1); *follow {
			q.limit, q.reopen = 0, reopen(c, p, args[0])
		}
		return q.read(ctx, t, func(e event.Event) error { return eventLine(c, e, "") })
	})
	return cmd
}

// reopen returns a function that finds the tenant again after a local service has stopped
// (see feedQuery). For a table in DynamoDB it returns nil, because the retries of the SDK
// are enough there.
func reopen(c *cli.CLI, p cli.Platform, slug string) func(context.Context) (table.Tenant, error) {
	if p.Data == "" {
		return nil
	}
	said := sync.OnceFunc(func() { fmt.Fprintln(c.Err, "svc: the service does not respond; waiting for it") })
	return func(ctx context.Context) (table.Tenant, error) {
		said()
		_, t, err := c.At(ctx, slug)
		return t, err
	}
}

// eventLine prints one event. result is what the receiver answered, "" if the event was
// not forwarded.
func eventLine(c *cli.CLI, e event.Event, result string) error {
	if c.JSON {
		text, err := json.Marshal(struct {
			event.Event
			Result string `json:"result,omitempty"`
		}{e, result})
		if err == nil {
			_, err = fmt.Fprintln(c.Out, string(text))
		}
		return err
	}
	at, status := e.Timestamp, cli.Cell(e.Data.Status)
	if !c.Wide { // the feed ends after 30 days, so a year says nothing
		at = strings.TrimPrefix(cli.Minute(at), at[:len("2026-")])
	}
	resource := e.Resource
	if !c.Wide { // a posting in a rider's wallet is RIDER/POSTING: show the posting
		resource = resource[strings.LastIndexByte(resource, '/')+1:]
	}
	line := fmt.Sprintf("%s  %-22s  %-30s  ", at, e.Type, resource)
	switch {
	case c.Wide:
		status += "  " + result
	case result != "":
		status = result
	default:
		status = cli.Shorten(status, max(1, cli.TableWidth-utf8.RuneCountInString(line)))
	}
	_, err := fmt.Fprintln(c.Out, strings.TrimRight(line+status, " "))
	return err
}

// listenCommand returns the command svc listen, which sends a tenant's events to a
// receiver.
func listenCommand(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "listen SLUG --forward-to URL",
		Short: "Send a tenant's events to a receiver on this machine",
		Long: "Send a tenant's new events to a receiver until Ctrl-C, signed as a webhook endpoint signs. Each event is\n" +
			"sent once. svc prints the event and the receiver's status. Without --secret it makes a secret and prints it\n" +
			"first. If svc dev ends, the command waits for it and goes on.",
		Example: "  svc listen metro --forward-to http://127.0.0.1:3000/events\n" +
			"  svc listen metro --forward-to http://127.0.0.1:3000 --type trip.completed"}
	var q feedQuery
	q.flags(cmd, "latest")
	to := cmd.Flags().String("forward-to", "", "the receiver's `URL`; required")
	secret := cmd.Flags().String("secret", "", "the `secret` that signs: whsec_ and 24 to 64 bytes in base64")
	cmd.RunE = c.In(func(ctx context.Context, p cli.Platform, t table.Tenant, args []string) error {
		u, err := url.Parse(*to)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" { // localhost:9310/ok has no scheme
			u, err = url.Parse("http://" + *to)
		}
		if err != nil || u.Hostname() == "" || strings.Contains(*to, "://") && !strings.HasPrefix(*to, "http") {
			return cli.Usagef("--forward-to %q: expected a URL such as http://127.0.0.1:3000/events, or localhost:3000/events",
				*to)
		}
		if message := outbound.CheckPort(u); message != "" {
			return cli.Usagef("--forward-to %q: %s", *to, message)
		}
		*to, q.reopen = u.String(), reopen(c, p, args[0])
		key := make([]byte, 32)
		if *secret == "" {
			_, _ = rand.Read(key) // never fails (crypto/rand)
			fmt.Fprintf(c.Err, "svc: signing with the secret %s\n", webhook.SecretText(key))
		} else {
			if key, err = webhook.ParseSecret(*secret); err != nil {
				return cli.Usagef("--secret: %v", err)
			}
		}
		return q.read(ctx, t, func(e event.Event) error { return eventLine(c, e, forward(ctx, *to, e, key)) })
	})
	return cmd
}

// forward posts an event, signed with the key, to the receiver at the URL to. It returns
// the status of the response, or what failed.
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
		return cli.Printable(ofNetwork(err, r.URL.Host))
	}
	_ = res.Body.Close()
	return res.Status
}

// ofNetwork returns in plain words why a request to the host failed.
func ofNetwork(err error, host string) string {
	var dns *net.DNSError
	var timeout net.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &dns):
		return "there is no host " + dns.Name
	case errors.As(err, &timeout) && timeout.Timeout():
		return host + " did not answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens at " + host
	case errors.Is(err, http.ErrSchemeMismatch):
		return host + " does not speak TLS; expected an address with http://"
	case errors.As(err, &certificate):
		return "the certificate of " + host + " is not valid"
	}
	return "the connection to " + host + " failed before an answer"
}
