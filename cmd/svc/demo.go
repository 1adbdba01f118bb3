package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/local/demo"
	"svc/pkg/local/devpages"
	"svc/pkg/local/folder"
	"svc/pkg/local/service"
)

// settleTime limits how long the start waits until the demo's trips are settled
// and counted.
var settleTime = 10 * time.Second

// loadDemo loads the demo data, unless --no-demo is set or there is nothing to
// load (see demo.Load). After it has loaded the data, it waits, at most settleTime,
// until the trips are settled and counted. Until then wallets and reports are
// incomplete.
func loadDemo(ctx context.Context, _ *cli, s *service.Service, p *app.Runtime, o devOptions) error {
	if o.noDemo {
		return nil
	}
	loaded, err := demo.Load(ctx, p.DB, time.Now())
	if err != nil || !loaded {
		return err
	}
	p.Begun() // the robots begin
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	_ = s.Poller.Drain(ctx) // if the time is over, the poller continues while the service runs
	return nil
}

// printDemo prints who can sign in, one curl command for each audience, the pages
// for developers, and how an agent connects. With --no-demo or --json it prints
// nothing.
func printDemo(_ context.Context, c *cli, s *service.Service, _ *app.Runtime, o devOptions) error {
	if o.noDemo || c.json {
		return nil
	}
	people := cols{head: "TENANT AUDIENCE EMAIL NAME"}
	for _, one := range demo.People() {
		tenant := cmp.Or(one.Tenant, "metro, harbor")
		people.add(tenant, one.Audience, one.Email, one.First+" "+one.Last)
	}
	if _, err := fmt.Fprintf(c.out, "\nDemo people; everybody's password is %s\n\n", demo.Password); err != nil {
		return err
	}
	if err := c.show(nil, people); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.out, "\nReady to call:\n\n%s\n"+
		"Console: %[6]s/console\nReference: %[6]s/docs\nSign in step by step: %[2]s%[3]s\nOutbox of mail: %[4]s%[5]s\n\n"+
		"Agents connect to %[6]s/mcp, /mcp/rider/SLUG or /mcp/driver/SLUG, for example\n"+
		"  claude mcp add --transport http metro %[6]s/mcp/rider/metro\n"+
		"  npx @modelcontextprotocol/inspector\n",
		readyCalls(c, s.Local), s.Local, devpages.Callback, s.Local, devpages.Outbox, s.BaseURL)
	return err
}

// readyCalls returns one curl command for each audience. Each command contains a
// call of svc token get instead of a token, because a token is long and expires
// after an hour.
func readyCalls(c *cli, baseURL string) string {
	program := "svc"
	if len(os.Args) > 0 && strings.ContainsRune(os.Args[0], filepath.Separator) {
		program = os.Args[0]
	}
	if c.data != folder.Default {
		program += " --data " + c.data
	}
	var b strings.Builder
	for _, call := range []struct {
		audience    authz.Audience
		email, path string
	}{
		{authz.Dashboard, "operator@metro.example", "/api/v1/trips"},
		{authz.Rider, "rider1@metro.example", "/api/v1/me"},
		{authz.Driver, "driver1@metro.example", "/api/v1/me"},
	} {
		fmt.Fprintf(&b,
			"curl -s %s%s -H \"Authorization: Bearer $(%s token get --tenant metro --audience %s --email %s --password %s)\"\n",
			baseURL, call.path, program, call.audience, call.email, demo.Password)
	}
	return b.String()
}
