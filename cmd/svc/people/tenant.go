package people

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/access/authz"
	"svc/pkg/base/money"
	"svc/pkg/base/phone/plans"
	"svc/pkg/domain/sandbox"
	"svc/pkg/domain/tenant"
)

// tenantCommand returns the group of commands svc tenant.
func tenantCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("tenant", "Tenants, their flags, branding and settings", tenantCreate(c), tenantSet(c), tenantList(c),
		tenantShow(c), tenantBrand(c), tenantSettings(c), tenantDelete(c))
}

// limit parses the value of a flag that limits amounts of money. "default" becomes "",
// which stands for the default limit. "none" becomes the largest amount. Any other text
// is the amount itself.
func limit(text string) money.Amount {
	switch text {
	case "default":
		return ""
	case "none":
		return money.Of(money.Max)
	}
	return money.Amount(text)
}

// tenantFlags adds the flags that `svc tenant create` and `svc tenant set` share. The
// returned edits apply those flags to a tenant.
func tenantFlags(cmd *cobra.Command) *cli.Edits[tenant.Tenant] {
	e := &cli.Edits[tenant.Tenant]{Cmd: cmd}
	e.Field("name", "`name` for people", func(t *tenant.Tenant) any { return &t.Name })
	e.Field("currency", "`currency`, ISO 4217", func(t *tenant.Tenant) any { return &t.Currency })
	e.Field("timezone", "IANA `name`, as in Europe/Lisbon", func(t *tenant.Tenant) any { return &t.Timezone })
	country := cmd.Flags().String("country", "", "`code` of the country in which phone numbers without a country are "+
		"read, ISO 3166, as in DE; empty for none")
	e.Step("country", func(t *tenant.Tenant) error {
		if t.Country = strings.ToUpper(*country); t.Country != "" && !plans.IsCountry(t.Country) {
			return cli.Usagef("--country %s: expected the code of a country, as in DE", *country)
		}
		return nil
	})
	e.Field("domain", "custom `host` of the sign-in pages; empty for none",
		func(t *tenant.Tenant) any { return &t.CustomDomain })
	limitFlags(e)
	e.Field("agent-actions", "what agents may do: `off|read|confirm|all`; with confirm, a person must agree to what "+
		"moves people or money", func(t *tenant.Tenant) any { return &t.AgentActions })
	e.Field("rider-sign-up", "who may sign up as a rider: `off|open|invite`; with invite, only customers whom you "+
		"have added", func(t *tenant.Tenant) any { return &t.RiderSignUp })
	e.Field("terms-version", "`version` of the terms and privacy policy that riders agree to when they sign up, and "+
		"again when it changes; their addresses are in the branding",
		func(t *tenant.Tenant) any { return &t.TermsVersion })
	retain := cmd.Flags().StringSlice("retain", nil, "how long personal data is kept, `KIND=DAYS`, or KIND=keep for "+
		"good: addresses of trips and orders, positions and logs of trips, audit; may be repeated")
	e.Step("retain", func(t *tenant.Tenant) error {
		var errs []error
		for _, text := range *retain {
			if err := t.Retain.Set(text); err != nil {
				errs = append(errs, cli.Usagef("--retain %v", err))
			}
		}
		return errors.Join(errs...)
	})
	featureFlags(e)
	return e
}

// limitFlags adds the flags that limit amounts of money and the open trips of a rider.
func limitFlags(e *cli.Edits[tenant.Tenant]) {
	most := e.Cmd.Flags().String("max-fare", "", "largest `fare` of a trip, in currency units; default for about 2,000 "+
		"US dollars, none for no bound")
	e.Step("max-fare", func(t *tenant.Tenant) error {
		t.MaxFare = limit(*most)
		return nil
	})
	posting := e.Cmd.Flags().String("max-posting", "", "largest `amount` that operators post to a wallet at once, in "+
		"currency units; default for about 10,000 US dollars, none for no bound")
	e.Step("max-posting", func(t *tenant.Tenant) error {
		t.MaxPosting = limit(*posting)
		return nil
	})
	floor := e.Cmd.Flags().String("wallet-floor", "", "least `balance` of a rider's wallet to request a ride paid from "+
		"it, in currency units, as in 0 or -20; none for no bound")
	e.Step("wallet-floor", func(t *tenant.Tenant) error {
		if t.WalletFloor = money.Amount(*floor); *floor == "none" {
			t.WalletFloor = ""
		}
		return nil
	})
	open := e.Cmd.Flags().String("max-open-trips", "", "largest `number` of open trips of one rider, 1 to 200; none for "+
		"no limit")
	e.Step("max-open-trips", func(t *tenant.Tenant) (err error) {
		if t.MaxOpenTrips = tenant.NoOpenTripsLimit; *open != "none" {
			if t.MaxOpenTrips, err = strconv.Atoi(*open); err != nil || t.MaxOpenTrips < 1 {
				return cli.Usagef("--max-open-trips %s: expected 1 to %d, or none", *open, tenant.MostOpenTrips)
			}
		}
		return nil
	})
}

// featureFlags adds --flag, which turns the tenant's features on and off.
func featureFlags(e *cli.Edits[tenant.Tenant]) {
	flags := e.Cmd.Flags().StringArray("flag", nil,
		"feature `flag=true|false`: taxiEnabled, deliveryEnabled; may be repeated")
	e.Step("flag", func(t *tenant.Tenant) error {
		var errs []error
		for _, flag := range *flags {
			name, text, _ := strings.Cut(flag, "=")
			on, err := strconv.ParseBool(text)
			switch {
			case name != authz.Taxi && name != authz.Delivery:
				errs = append(errs, cli.Usagef("--flag %s: the flags are taxiEnabled and deliveryEnabled", flag))
			case err != nil:
				errs = append(errs, cli.Usagef("--flag %s: expected %s=true or %s=false", flag, name, name))
			case name == authz.Taxi:
				t.TaxiEnabled = on
			default:
				t.DeliveryEnabled = on
			}
		}
		return errors.Join(errs...)
	})
}

// tenantCreate returns the command svc tenant create.
func tenantCreate(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "create SLUG", Short: "Create a tenant",
		Example: "  svc tenant create bay --name 'Bay Rides' --currency USD \\\n" +
			"    --timezone America/Los_Angeles --flag taxiEnabled=true\n  svc tenant create toy --sandbox --robots 40 " +
			"--center 41.9,-87.68"}
	e := tenantFlags(cmd)
	sand := cmd.Flags().Bool("sandbox", false, "make a sandbox, for ever: nothing in it is real, and robots may drive")
	robots := cmd.Flags().Int("robots", 0, "`number` of robot drivers of a sandbox, and of robot riders, at most "+
		strconv.Itoa(sandbox.Most))
	center := cmd.Flags().String("center", "41.9,-87.68", "`LAT,LNG` around which the robots drive")
	shards := cmd.Flags().Int("shards", 1,
		"`number` of shards that share a list's load; svc tenant set --shards can raise it")
	cmd.RunE = c.On(func(ctx context.Context, p cli.Platform, args []string) error {
		n := tenant.Tenant{Slug: args[0], Name: args[0], ReadShards: *shards, WriteShards: *shards, Sandbox: *sand}
		if err := e.Apply(&n); err != nil {
			return err
		}
		lat, lng, err := point(*center)
		switch {
		case err != nil:
			return err
		case *robots < 0 || *robots > sandbox.Most || *robots > 0 && !*sand:
			return cli.Usagef("--robots %d: expected at most %d, and --sandbox", *robots, sandbox.Most)
		}
		made, err := tenant.Store{DB: p.DB}.Create(ctx, cli.By(), n)
		if err == nil && *robots > 0 {
			err = sandbox.Fill(ctx, p.DB, cli.By(), made, *robots, lat, lng)
		}
		if err != nil {
			return err
		}
		return c.Done(made, "Created tenant %s (%s).", made.Slug, made.ID)
	})
	return cmd
}

// point parses --center: latitude and longitude in degrees, separated by a comma.
func point(text string) (lat, lng json.Number, err error) {
	a, b, _ := strings.Cut(text, ",")
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX != nil || errY != nil || !(math.Abs(x) <= 85) || !(math.Abs(y) <= 180) {
		return "", "", cli.Usagef("--center %s: expected LAT,LNG, as in 41.9,-87.68", text)
	}
	return json.Number(strconv.FormatFloat(x, 'f', -1, 64)), json.Number(strconv.FormatFloat(y, 'f', -1, 64)), nil
}

// tenantSet returns the command svc tenant set, which changes a tenant.
func tenantSet(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "set SLUG", Short: "Change a tenant",
		Long: "Change a tenant. All but --shards takes effect with the next request. The currency cannot change after the " +
			"first trip or order.\nWith --shards N the command first raises the number of shards that lists read; writes keep " +
			"the old number. Run the same command again after a minute: then writes use the N shards too.",
		Example: "  svc tenant set metro --flag taxiEnabled=false\n  svc tenant set metro --country US " +
			"--domain ride.metro.example\n  svc tenant set metro --max-fare 500\n  svc tenant set metro --max-open-trips 5\n " +
			" svc tenant set metro --rider-sign-up open --terms-version 2026-11\n " +
			" svc tenant set metro --retain addresses=365,positions=30\n  svc tenant set metro --shards 4"}
	e := tenantFlags(cmd)
	shards := cmd.Flags().Int("shards", 0, "`number` of shards; it cannot decrease")
	disable := cmd.Flags().Bool("disable", false, "reject everybody's tokens and sign-ins; --disable=false undoes it")
	e.Step("disable", func(t *tenant.Tenant) error {
		t.Disabled = *disable
		return nil
	})
	cmd.RunE = cli.Act(func(ctx context.Context, args []string) error {
		if err := e.Needed(); err != nil {
			return err
		}
		p, err := c.Platform(ctx)
		if err != nil {
			return err
		}
		found, _, err := p.Tenant(ctx, args[0])
		if err != nil {
			return err
		}
		now, err := tenant.Store{DB: p.DB}.Change(ctx, found.ID, cli.By(), func(t *tenant.Tenant) error {
			if cmd.Flags().Changed("shards") {
				spread(t, *shards)
			}
			return e.Apply(t)
		})
		if err != nil {
			return err
		}
		if *shards > now.WriteShards && now.ReadShards == *shards {
			return c.Done(now, "Changed tenant %s. Lists read %d shards now; run this again in %s to make writes use them.",
				now.Slug, now.ReadShards, cli.Span(tenant.SettleShards))
		}
		return c.Done(now, "Changed tenant %s.", now.Slug)
	})
	return cmd
}

// tenantList returns the command svc tenant list.
func tenantList(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the tenants",
		Example: "  svc tenant list\n  svc tenant list --deleted"}
	deleted := cmd.Flags().Bool("deleted", false, "list the deleted tenants instead, and who deleted them")
	cmd.RunE = c.On(func(ctx context.Context, p cli.Platform, _ []string) error {
		if *deleted {
			return showDeleted(ctx, c, p)
		}
		found, err := tenant.Store{DB: p.DB}.List(ctx)
		if err != nil {
			return err
		}
		if found == nil {
			found = []tenant.Tenant{}
		}
		t := cli.Table{Head: "SLUG NAME CURRENCY TAXI DELIVERY SHARDS+ DISABLED ID+"}
		for _, n := range found {
			t.Add(n.Slug, n.Name, n.Currency, n.TaxiEnabled, n.DeliveryEnabled, n.WriteShards, n.Disabled, n.ID)
		}
		return c.Show(found, t)
	})
	return cmd
}

// tenantShow returns the command svc tenant show.
func tenantShow(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "show SLUG", Short: "Show a tenant", Example: "  svc tenant show metro",
		RunE: c.On(func(ctx context.Context, p cli.Platform, args []string) error {
			n, _, err := p.Tenant(ctx, args[0])
			if err != nil {
				return err
			}
			t := cli.Table{}
			t.Add("id", n.ID)
			t.Add("slug", n.Slug)
			t.Add("name", n.Name)
			t.Add("currency", n.Currency)
			t.Add("timezone", n.Timezone)
			t.Add("domain", n.CustomDomain)
			t.Add(authz.Taxi, n.TaxiEnabled)
			t.Add(authz.Delivery, n.DeliveryEnabled)
			t.Add("max fare", money.MaxFare(n.MaxFare, n.Currency))
			t.Add("max posting", money.MaxPosting(n.MaxPosting, n.Currency))
			t.Add("wallet floor", cmp.Or(n.WalletFloor, "none"))
			open := strconv.Itoa(cmp.Or(n.MaxOpenTrips, tenant.MostOpenTrips))
			if n.MaxOpenTrips == tenant.NoOpenTripsLimit {
				open = "none"
			}
			t.Add("max open trips", open)
			t.Add("agent actions", cmp.Or(n.AgentActions, authz.AgentsConfirm))
			t.Add("rider sign-up", cmp.Or(n.RiderSignUp, "off"))
			t.Add("terms version", n.TermsVersion)
			for _, k := range tenant.RetainedKinds() {
				t.Add("retain "+k.Kind, n.Retain.Show(k))
			}
			t.Add("shards", strconv.Itoa(n.ReadShards)+" read, "+strconv.Itoa(n.WriteShards)+" written")
			t.Add("sandbox", n.Sandbox)
			t.Add("disabled", n.Disabled)
			t.Add("created", n.CreatedAt)
			return c.Show(n, t)
		})}
}

// spread takes the next step towards n shards: the first call lets lists read n shards,
// and the second call lets writes use them.
func spread(t *tenant.Tenant, n int) {
	if t.ReadShards == n {
		t.WriteShards = n
	} else {
		t.ReadShards = n
	}
}
