package company

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/access/authz"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/privacy"
)

// privacyCommand returns the group of commands svc privacy, about requests of riders and
// drivers for a copy or the erasure of their data.
func privacyCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("privacy", "Requests of riders and drivers about their data",
		privacyBegin(c, privacy.Export, "Make a file with everything that is stored of a person",
			"The service makes the file within a minute or two. svc privacy show --out downloads it for 7 days."),
		privacyBegin(c, privacy.Erase, "Ask what is in the way of a person's erasure",
			"Nothing is erased before svc privacy run. svc privacy show says what is in the way."),
		privacyRun(c), privacyList(c), privacyShow(c))
}

// inTenant adds the flag --tenant to a command, makes the command call f with that
// tenant, and returns the command.
func inTenant(c *cli.CLI, cmd *cobra.Command,
	f func(context.Context, cli.Platform, table.Tenant, []string) error) *cobra.Command {
	slug := cmd.Flags().String("tenant", "", "the tenant's `SLUG`; required")
	cmd.RunE = c.On(func(ctx context.Context, p cli.Platform, args []string) error {
		if *slug == "" {
			return cli.Usagef("--tenant is missing")
		}
		_, t, err := p.Tenant(ctx, *slug)
		if err != nil {
			return err
		}
		return f(ctx, p, t, args)
	})
	return cmd
}

// privacyBegin returns the command svc privacy export or svc privacy erase, which begins
// a request. kind is privacy.Export or privacy.Erase.
func privacyBegin(c *cli.CLI, kind, short, long string) *cobra.Command {
	cmd := &cobra.Command{Use: kind, Short: short,
		Long: short + ", as POST /api/v1/privacy/requests does. " + long + " The audit log names you.",
		Example: "  svc privacy " + kind + " --tenant metro --customer rider1@metro.example\n  svc privacy " + kind +
			" --tenant metro --driver drv_01JT7M4C6Q8V2N5X9B3D1F7H0K"}
	customerName := cmd.Flags().String("customer", "", "the rider, by mail `address` or id")
	driverName := cmd.Flags().String("driver", "", "the driver, by mail `address` or id")
	return inTenant(c, cmd, func(ctx context.Context, p cli.Platform, t table.Tenant, _ []string) error {
		if (*customerName == "") == (*driverName == "") {
			return cli.Usagef("expected exactly one of --customer and --driver")
		}
		audience, id := authz.Rider, ""
		if *customerName != "" {
			found, err := cli.FindRider(ctx, t, *customerName)
			if err != nil {
				return err
			}
			id = found.ID
		} else {
			found, err := cli.FindDriver(ctx, t, *driverName)
			if err != nil {
				return err
			}
			audience, id = authz.Driver, found.ID
		}
		r, err := privacy.Begin(ctx, t, p.Jobs(), cli.By(), kind, audience, id)
		if err != nil {
			return err
		}
		return c.Done(r, "Request %s is %s.", r.ID, string(r.Status))
	})
}

// privacyRun returns the command svc privacy run, which erases the person of a request.
func privacyRun(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "run ID", Short: "Erase the person of a request",
		Long: "Erase the person of a request that is READY or BLOCKED, for good, as POST\n" +
			"/api/v1/privacy/requests/{id}/run does. If something is in the way, the request becomes BLOCKED and can be run\n" +
			"again. --yes takes the place of the sign-in that the API asks for. The audit log names you.",
		Example: "  svc privacy run prv_01JT7M4C6Q8V2N5X9B3D1F7H0K --tenant metro --yes"}
	return inTenant(c, cmd, func(ctx context.Context, p cli.Platform, t table.Tenant, args []string) error {
		if !c.Yes {
			return cli.Usagef("this erases a person for good; confirm with --yes")
		}
		r, err := privacy.Run(ctx, t, p.Jobs(), cli.By(), args[0])
		if err != nil {
			return cli.Missing(err, "request", args[0])
		}
		return c.Done(r.PrivacyRequest, "Request %s is %s.", r.ID, string(r.Status))
	})
}

// privacyList returns the command svc privacy list.
func privacyList(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List a tenant's requests, newest first",
		Long:    "List a tenant's requests, newest first. Requests for a copy are deleted after 30 days.",
		Example: "  svc privacy list --tenant metro"}
	limit := cmd.Flags().Int("limit", 100, "requests at most")
	return inTenant(c, cmd, func(ctx context.Context, p cli.Platform, t table.Tenant, _ []string) error {
		names := cli.NamesOf(p, t)
		const head = "ID KIND STATUS NAME PERSON+ CREATED+ UPDATED+"
		return cli.List(ctx, c, t, *limit, head, func(r privacy.PrivacyRequest) []any {
			return []any{r.ID, r.Kind, r.Status, names.Person(ctx, r.Audience(), r.Subject()), r.Subject(), r.CreatedAt,
				r.UpdatedAt}
		}, privacy.List)
	})
}

// privacyShow returns the command svc privacy show, which shows a request or downloads
// its file.
func privacyShow(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "show ID", Short: "Show a request, or download the file that it made",
		Long: "Show a request, and what is in the way of an erasure. --out downloads the file of a copy that is DONE: one " +
			"JSON\nobject in each line. For a table, FILES_BUCKET names the bucket. The audit log names who downloads.",
		Example: "  svc privacy show prv_01JT7M4C6Q8V2N5X9B3D1F7H0K --tenant metro\n" +
			"  svc privacy show prv_01JT7M4C6Q8V2N5X9B3D1F7H0K --tenant metro \\\n    --out copy.ndjson"}
	out := cmd.Flags().String("out", "", "the `file` to write; only its owner can read it")
	return inTenant(c, cmd, func(ctx context.Context, p cli.Platform, t table.Tenant, args []string) error {
		r, err := privacy.Get(ctx, t, args[0], time.Now())
		if err != nil {
			return cli.Missing(err, "request", args[0])
		}
		if *out != "" {
			return download(ctx, c, p, t, r, *out)
		}
		rows := cli.Table{Fit: true}
		rows.Add("id", r.ID)
		rows.Add("kind", r.Kind)
		rows.Add("name", cli.NamesOf(p, t).Person(ctx, r.Audience(), r.Subject()))
		rows.Add("person", r.Subject())
		rows.Add("status", r.Status)
		for _, reason := range r.Reasons {
			rows.Add("reason", reason.Code+": "+reason.Message)
		}
		rows.Add("created", r.CreatedAt)
		rows.Add("updated", r.UpdatedAt)
		rows.Add("runs at", r.RunsAt)
		rows.Add("file until", r.ExpiresAt)
		return c.Show(r.PrivacyRequest, rows)
	})
}

// download writes the file of a completed privacy export to the path, and records the
// download in the audit log.
func download(ctx context.Context, c *cli.CLI, p cli.Platform, t table.Tenant, r privacy.Record, path string) error {
	if !r.Available(time.Now()) {
		return fmt.Errorf("the request is an %s and %s; only an export that is DONE has a file, for 7 days", r.Kind, r.Status)
	}
	store, err := p.Files(ctx)
	if err == nil && store == nil {
		err = errors.New("the files are in a bucket; set FILES_BUCKET")
	}
	if err != nil {
		return err
	}
	tx := t.Write()
	audit.Append(tx, t, cli.By(), "privacy.download", r.ID, nil, map[string]any{"of": r.Subject()})
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	content, err := store.Get(ctx, r.File(t))
	if err != nil {
		return err
	}
	err = wholeFile(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	return c.Done(r.PrivacyRequest, "Wrote %s.", path)
}
