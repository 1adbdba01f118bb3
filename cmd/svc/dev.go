package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"svc"
	"svc/pkg/app"
	"svc/pkg/gateway/emulator"
	"svc/pkg/local"
	"svc/pkg/signing"
	"svc/pkg/table"
)

// devOptions are the flags of svc dev.
type devOptions struct {
	memory, noDemo bool
	port           int
}

const defaultPort = 8080

func devCommand(c *cli) *cobra.Command {
	var o devOptions
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on this machine, until Ctrl-C",
		Long: "Run the database engine, all functions, the stream poller and the gateway in one process on 127.0.0.1.\n" +
			"The data stays in the data folder between runs, and demo data is loaded once.",
		Example: "  svc dev\n  svc dev --memory --port 0",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("port") {
				port, err := portFromEnvironment()
				if err != nil {
					return err
				}
				o.port = port
			}
			if o.port < 0 || o.port > 65535 {
				return usagef("--port %d is not within 0 to 65535", o.port)
			}
			return c.dev(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.memory, "memory", false, "keep nothing")
	cmd.Flags().BoolVar(&o.noDemo, "no-demo", false, "start without demo data")
	cmd.Flags().IntVar(&o.port, "port", defaultPort, "`port` of the gateway, 0 for a free one; PORT sets it too")
	return cmd
}

func portFromEnvironment() (int, error) {
	text := os.Getenv("PORT")
	if text == "" {
		return defaultPort, nil
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, usagef("PORT is %q, which is no port", text)
	}
	return int(port), nil
}

// dev runs the service until ctx ends.
func (c *cli) dev(ctx context.Context, o devOptions) error {
	var place *app.Place
	log := slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: logLevel()}))
	s, err := local.StartService(ctx, local.ServiceOptions{
		Data: c.data, Memory: o.memory, Port: o.port, Table: os.Getenv("TABLE_NAME"), Template: svc.Template, Log: log,
		Build: func(ctx context.Context, at local.Place) (a local.App, err error) {
			place, a, err = devApp(ctx, at, log)
			return a, err
		},
	})
	if err != nil {
		return err
	}
	defer s.Close()
	for _, step := range devReady {
		if err := step(ctx, c, s, place, o); err != nil {
			if ctx.Err() != nil {
				return nil // Ctrl-C while it was under way
			}
			return err
		}
	}
	return s.Wait(ctx)
}

// devReady are the steps once the service answers, in order.
var devReady = []func(context.Context, *cli, *local.Service, *app.Place, devOptions) error{
	loadDemo,
	printAddress,
	printDemo,
}

func printAddress(_ context.Context, c *cli, s *local.Service, _ *app.Place, _ devOptions) error {
	if c.json {
		return c.printJSON(map[string]string{"baseUrl": s.BaseURL})
	}
	_, err := fmt.Fprintf(c.out, "svc runs at %s\n", s.BaseURL)
	return err
}

func logLevel() slog.Level {
	level := slog.LevelWarn
	_ = level.UnmarshalText([]byte(os.Getenv("LOG_LEVEL"))) // absent or unknown: warnings
	return level
}

// devApp wires all functions to the table at the place.
func devApp(ctx context.Context, at local.Place, log *slog.Logger) (*app.Place, local.App, error) {
	db, err := table.Open(ctx, table.Options{Table: at.Table, Endpoint: at.Endpoint, Wire: at.Wire})
	if err != nil {
		return nil, local.App{}, err
	}
	sealer, err := signing.FileSealer(filepath.Join(at.Data, "sealing.key"))
	if err != nil {
		return nil, local.App{}, err
	}
	p := &app.Place{DB: db, BaseURL: at.BaseURL, Sealer: sealer, Now: time.Now, Logger: log}
	if text := os.Getenv("REFRESH_GRACE"); text != "" {
		if p.RefreshGrace, err = time.ParseDuration(text); err != nil {
			return nil, local.App{}, usagef("REFRESH_GRACE is %q, which is no duration", text)
		}
	}
	if p.Rates, err = app.RatesFromEnvironment(); err != nil {
		return nil, local.App{}, usagef("%s", err)
	}
	functions, err := p.Functions()
	if err != nil {
		return nil, local.App{}, err
	}
	a := local.App{
		Functions: map[string]emulator.Function{},
		Streams:   p.StreamFunctions(),
		Scheduled: map[string]func(context.Context) error{app.Keys: func(ctx context.Context) error { return p.Keys().Rotate(ctx) }},
	}
	for name, f := range functions {
		a.Functions[name] = f
	}
	return p, a, nil
}
