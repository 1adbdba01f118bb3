package dev

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc"
	"svc/cmd/svc/cli"
	"svc/pkg/access/signing"
	"svc/pkg/app"
	"svc/pkg/app/localapp"
	"svc/pkg/base/outbound"
	"svc/pkg/base/phone/plans"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
	"svc/pkg/local/devpages"
	"svc/pkg/local/folder"
	"svc/pkg/local/service"
)

// devOptions are the flags of svc dev. Robots are the simulated drivers and riders of
// sandbox tenants.
type devOptions struct {
	memory, noDemo, noRobots, quiet bool
	port                            int
	log                             string
	hosts                           []string
	issuer                          string
}

// Defaults of svc dev.
const (
	defaultPort = 8080
	robotPace   = 4 * time.Second // time between two steps of the robots (app.Runtime.Pace)
)

// devCommand returns the command svc dev, which runs the whole service on this machine.
func devCommand(c *cli.CLI) *cobra.Command {
	var o devOptions
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on this machine, until Ctrl-C",
		Long: "Run all functions, the stream poller and the gateway in one process on 127.0.0.1, and the database engine\n" +
			"beside it. The data stays in the data folder between runs, except with --memory. The first run loads demo\n" +
			"data. svc dev prints one line for each request, except successful health checks. `svc logs REQUEST_ID` shows\n" +
			"the line again.",
		Example: "  svc dev\n  svc dev --memory --port 0\n  svc dev --log json 2>requests.jsonl\n" +
			"  svc dev --issuer https://dev.example.test",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.Env.Wrong != nil {
				return cli.Usagef("%w", c.Env.Wrong)
			}
			if c.Env.Port != nil && !cmd.Flags().Changed("port") {
				o.port = *c.Env.Port
			}
			for i, host := range o.hosts {
				if o.hosts[i] = strings.TrimSuffix(strings.ToLower(host), "."); host == "" || strings.ContainsAny(host, ":/") {
					return cli.Usagef("--allow-host %s: expected a name without scheme and port", host)
				}
			}
			if err := o.readIssuer(); err != nil {
				return err
			}
			if o.port < 0 || o.port > 65535 {
				return cli.Usagef("--port %d: expected 0 to 65535", o.port)
			}
			if err := beside(cmd.Context(), c, &o, cmd.Flags().Changed("port")); err != nil {
				return err
			}
			return dev(cmd.Context(), c, o)
		},
	}
	cmd.Flags().BoolVar(&o.memory, "memory", false, "keep the data in memory only; it is lost when svc dev stops")
	cmd.Flags().BoolVar(&o.noDemo, "no-demo", false, "start without demo data")
	cmd.Flags().BoolVar(&o.noRobots, "no-robots", false, "let the robots of sandboxes stand still")
	cmd.Flags().IntVar(&o.port, "port", defaultPort,
		"`port` of the gateway, 0 for a free one; the variable PORT sets it too")
	cmd.Flags().StringVar(&o.log, "log", logText, "how to print requests: `text|json|off`")
	cmd.Flags().StringSliceVar(&o.hosts, "allow-host", nil,
		"further `name` by which a proxy or tunnel reaches the service; may be repeated")
	cmd.Flags().StringVar(&o.issuer, "issuer", "",
		"https `address` of your own proxy that leads to the gateway; links and tokens name it")
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "print no requests; the same as --log off")
	return cmd
}

// readIssuer checks --issuer, and adds its host to the names at which the gateway accepts
// requests.
func (o *devOptions) readIssuer() error {
	if o.issuer == "" {
		return nil
	}
	o.issuer = strings.TrimSuffix(o.issuer, "/")
	u, err := url.Parse(o.issuer)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.Scheme+"://"+u.Host != o.issuer ||
		u.Host != strings.ToLower(u.Host) || strings.HasSuffix(u.Host, ":") {
		return cli.Usagef("--issuer %s: expected the https address of your proxy without a path, as in "+
			"https://dev.example.test", cli.Printable(o.issuer))
	}
	o.hosts = append(o.hosts, u.Hostname())
	return nil
}

// beside lets svc dev --memory run while another service, or another svc command,
// uses the default data folder. In that case it chooses a new data folder and, if
// neither --port nor PORT is set, a free port. With --data it does nothing.
func beside(ctx context.Context, c *cli.CLI, o *devOptions, portGiven bool) error {
	if !o.memory || c.DataGiven {
		return nil
	}
	running, err := folder.Find(ctx, c.Data)
	if errors.Is(err, folder.ErrNotRunning) {
		return nil
	}
	reason := "another service runs at " + running.BaseURL
	if err != nil { // for example, because another svc command uses the folder
		reason = err.Error()
	}
	if c.Data, err = os.MkdirTemp("", "svc-memory-"); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if !portGiven && c.Env.Port == nil {
		o.port = 0
	}
	fmt.Fprintf(c.Err, "svc: %s; other commands find this service with --data %s\n", reason, c.Data)
	return nil
}

// dev runs the service until ctx ends.
func dev(ctx context.Context, c *cli.CLI, o devOptions) error {
	var rt *app.Runtime
	requests, err := newRequestLog(c, o)
	if err != nil {
		return err
	}
	defer requests.close()
	log := slog.New(slog.NewTextHandler(c.Err, &slog.HandlerOptions{Level: c.Env.Level(slog.LevelWarn)}))
	pages := &devpages.Pages{Hosts: o.hosts, IsDomain: func(ctx context.Context, host string) bool {
		is, err := tenant.Store{DB: rt.DB}.IsDomain(ctx, host)
		return is && err == nil
	}}
	s, err := service.Start(ctx, service.Options{
		Data: c.Data, Memory: o.memory, Port: o.port, Issuer: o.issuer, Table: c.Env.Table, Template: svc.Template, Log: log,
		Wrap: func(gateway http.Handler) (http.Handler, error) { return requests.wrap(c.Data)(pages.Wrap(gateway)) },
		Build: func(ctx context.Context, at service.Environment) (a service.App, err error) {
			if rt, err = devRuntime(c, at.Data, log); err != nil {
				return a, err
			}
			requests.rt, rt.Mail = rt, pages.Send
			rt.NoRobots, rt.Pace = o.noRobots, robotPace
			if !o.memory {
				rt.Writable = func() error { return folder.Writable(at.Data) }
			}
			return localapp.Build(ctx, at, rt, nil)
		},
	})
	if err != nil {
		return err
	}
	defer s.Close()
	defer folder.Register(c.Registry, c.Data)()
	pages.ShowLag(s.Poller.Lag)
	for _, step := range devReady {
		if err := step(ctx, c, s, rt, o); err != nil {
			if ctx.Err() != nil {
				return nil // Ctrl-C during the load
			}
			return err
		}
	}
	requests.shown.Store(true)
	return s.Wait(ctx)
}

// devReady has the steps that svc dev takes when the service is ready, in order.
var devReady = []func(context.Context, *cli.CLI, *service.Service, *app.Runtime, devOptions) error{
	loadDemo,
	printAddress,
	printDemo,
}

// printAddress prints the address of the service. With --issuer it also prints the
// address to which the proxy must lead.
func printAddress(_ context.Context, c *cli.CLI, s *service.Service, _ *app.Runtime, _ devOptions) error {
	if c.JSON {
		return c.PrintJSON(map[string]string{"baseUrl": s.BaseURL})
	}
	if _, err := fmt.Fprintf(c.Out, "svc runs at %s\n", s.BaseURL); err != nil || s.Local == s.BaseURL {
		return err
	}
	_, err := fmt.Fprintf(c.Out, "The proxy must lead to %s\n", s.Local)
	return err
}

// devRuntime returns the Runtime of svc dev, with the sealing key in the data folder and
// the settings from the environment.
func devRuntime(c *cli.CLI, dataDir string, log *slog.Logger) (*app.Runtime, error) {
	sealer, err := signing.FileSealer(filepath.Join(dataDir, "sealing.key"))
	if err != nil {
		return nil, err
	}
	return &app.Runtime{Local: true, Documents: outbound.Local(), Sealer: sealer, Now: time.Now,
		Logger: log, Config: c.Env, RefreshGrace: c.Env.RefreshGrace, ReadPhone: plans.Read,
		Rates: api.Rates{Tenant: c.Env.TenantRate, Client: c.Env.ClientRate}}, nil
}
