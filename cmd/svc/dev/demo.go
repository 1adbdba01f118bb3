package dev

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/local/demo"
	"svc/pkg/local/devpages"
	"svc/pkg/local/folder"
	"svc/pkg/local/service"
)

// SettleTime limits how long the start of svc dev waits until the demo's trips are
// settled and counted.
var SettleTime = 10 * time.Second

// loadDemo loads the demo data, unless --no-demo is set or the data exists (see
// demo.Load). Then it waits, at most SettleTime, until the trips are settled and counted.
// Until then wallets and reports are incomplete.
func loadDemo(ctx context.Context, _ *cli.CLI, s *service.Service, p *app.Runtime, o devOptions) error {
	if o.noDemo {
		return nil
	}
	loaded, err := demo.Load(ctx, p.DB, time.Now())
	if err != nil || !loaded {
		return err
	}
	p.Begun() // from now on the robots (simulated drivers and riders) of sandboxes may act
	ctx, cancel := context.WithTimeout(ctx, SettleTime)
	defer cancel()
	_ = s.Poller.Drain(ctx) // after SettleTime the stream poller goes on in the background
	return nil
}

// printDemo prints who can sign in, one curl command for each audience, the pages
// for developers, and how an agent connects. With --no-demo or --json it prints
// nothing.
func printDemo(_ context.Context, c *cli.CLI, s *service.Service, _ *app.Runtime, o devOptions) error {
	if o.noDemo || c.JSON {
		return nil
	}
	people := cli.Table{Head: "TENANT AUDIENCE EMAIL NAME"}
	for _, one := range demo.People() {
		tenant := cmp.Or(one.Tenant, "metro, harbor")
		people.Add(tenant, one.Audience, one.Email, one.First+" "+one.Last)
	}
	if _, err := fmt.Fprintf(c.Out, "\nDemo people; everybody's password is %s\n\n", demo.Password); err != nil {
		return err
	}
	if err := c.Show(nil, people); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.Out, "\nReady to call:\n\n%s\n"+
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
func readyCalls(c *cli.CLI, baseURL string) string {
	program := "svc"
	if len(os.Args) > 0 && strings.ContainsRune(os.Args[0], filepath.Separator) {
		program = os.Args[0]
	}
	if c.Data != folder.Default {
		program += " --data " + c.Data
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

// demoCommand returns the command that loads the demo data into a service that
// does not have it: a service on a table, or one that svc dev --no-demo started.
func demoCommand(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "demo", Short: "Load the demo data: two tenants with people, trips and orders",
		Example: "  svc demo",
		Long: "Load the demo data, if it is missing. svc dev loads it by itself. Everybody's password is " +
			demo.Password + ", which is public. Never load the demo data into a service for real people.",
		RunE: c.On(func(ctx context.Context, p cli.Platform, _ []string) error {
			loaded, err := demo.Load(ctx, p.DB, time.Now())
			if err != nil {
				return err
			}
			text := "loaded the demo data"
			if !loaded {
				text = "nothing to load: the demo data exists, or another tenant has the slug of a demo tenant"
			}
			return c.Show(map[string]bool{"loaded": loaded}, cli.Table{Rows: [][]string{{text}}})
		})}
}
