package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"svc/pkg/app"
	"svc/pkg/authz"
	"svc/pkg/local"
	"svc/pkg/local/demo"
	"svc/pkg/oauth/flow"
)

// settleTime is how long the start waits for what follows from the demo's trips.
const settleTime = 10 * time.Second

// loadDemo loads the demo data, once, and waits until it has been settled and
// counted, so that the first look at a wallet or report finds it.
func loadDemo(ctx context.Context, _ *cli, s *local.Service, p *app.Place, o devOptions) error {
	if o.noDemo {
		return nil
	}
	loaded, err := demo.Load(ctx, p.DB, time.Now())
	if err != nil || !loaded {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	_ = s.Poller.Drain(ctx) // when it takes longer it goes on while the service runs
	return nil
}

// printDemo prints who can sign in, and a ready call for each audience.
func printDemo(ctx context.Context, c *cli, s *local.Service, _ *app.Place, o devOptions) error {
	if o.noDemo || c.json {
		return nil
	}
	people := cols{head: "TENANT AUDIENCE EMAIL NAME"}
	for _, one := range demo.People() {
		tenant := one.Tenant
		if tenant == "" {
			tenant = "both"
		}
		people.add(tenant, one.Audience, one.Email, one.First+" "+one.Last)
	}
	if _, err := fmt.Fprintf(c.out, "\nDemo people; everybody's password is %s\n\n", demo.Password); err != nil {
		return err
	}
	if err := c.show(nil, people); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.out, "\nReady to call, with tokens that live an hour:\n\n%s\nReference: %s/docs\n", strings.Join(readyCalls(ctx, s.BaseURL), ""), s.BaseURL)
	return err
}

// readyCalls signs one person of each audience in. Where that fails (the demo's
// password was changed, say) the call tells how to get a token.
func readyCalls(ctx context.Context, baseURL string) []string {
	calls := []struct {
		audience    authz.Audience
		email, path string
	}{
		{authz.Dashboard, "operator@metro.example", "/api/v1/trips"},
		{authz.Rider, "rider1@metro.example", "/api/v1/me"},
		{authz.Driver, "driver1@metro.example", "/api/v1/me"},
	}
	out := make([]string, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() {
			token := fmt.Sprintf("$(svc token get --tenant metro --audience %s --email %s --password …)", call.audience, call.email)
			tokens, err := flow.Token(ctx, flow.Options{BaseURL: baseURL, Tenant: "metro", Audience: string(call.audience), Email: call.email, Password: demo.Password})
			if err == nil {
				token = tokens.AccessToken
			}
			out[i] = fmt.Sprintf("# %s (%s)\ncurl -s %s%s -H \"Authorization: Bearer %s\"\n\n", call.audience, call.email, baseURL, call.path, token)
		})
	}
	wg.Wait()
	return out
}
