package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/base/panics"
	"svc/pkg/edge/gateway/emulator"
	"svc/pkg/local/engine"
	"svc/pkg/local/folder"
	"svc/pkg/local/poller"
	"svc/pkg/local/schema"
)

// Environment is what Options.Build needs to create the functions: addresses, table and
// data folder.
type Environment struct {
	// BaseURL is the service's address, the issuer of the tokens: the gateway's, or
	// Options.Issuer.
	BaseURL string
	// Endpoint and Table locate the data.
	Endpoint string
	Table    string
	// New means that the table did not exist before this start.
	New bool
	// Data is the data folder, an absolute path. With Memory, the service itself
	// writes only the lock and dev.json there.
	Data   string
	Memory bool
	// Transport wraps the transport of the table's client, so that writes wake the
	// poller.
	Transport func(http.RoundTripper) http.RoundTripper
	// GiveUp stores dead letters in the data folder.
	GiveUp func(ctx context.Context, function string, records []events.DynamoDBEventRecord, cause error) error
}

// Options configure the service.
type Options struct {
	// Data is the data folder; empty is folder.Default.
	Data string
	// Memory keeps the table in memory. dev.json is still in the data folder,
	// so that other commands find the service.
	Memory bool
	// Endpoint is the address of an engine that runs already; empty means that
	// Start starts one.
	Endpoint string
	// Port of the gateway on 127.0.0.1; 0 picks a free one.
	Port int
	// Issuer is the address of a proxy that leads to the gateway, without a slash at
	// its end; empty means that there is none.
	Issuer string
	// Table's name; empty means schema.DefaultName.
	Table string
	// Template is the content of template.yaml.
	Template []byte
	// Build creates the functions. It runs when the addresses are known and
	// the table exists.
	Build func(context.Context, Environment) (App, error)
	// Wrap, unless nil, wraps the gateway, for example to log requests.
	Wrap func(http.Handler) (http.Handler, error)
	// Engine receives the engine's output; nil discards it.
	Engine io.Writer
	// Log receives failures of functions; nil means slog.Default.
	Log *slog.Logger
}

// Service is the complete project in one process.
type Service struct {
	Environment
	// Local is the gateway's address on this machine.
	Local string
	// Poller delivers the table's stream; its Drain waits for the delivery.
	Poller *poller.Poller

	lock   *os.File
	engine *engine.Engine
	server *http.Server
	failed chan error         // why the service cannot continue; see Wait
	end    context.CancelFunc // stops the schedules
	tasks  sync.WaitGroup
	clean  func() // App.Close
	close  sync.Once
}

// graceTime is the time limit for requests in progress at shutdown.
const graceTime = 5 * time.Second

// Start starts engine, table, functions, poller and gateway. It returns when
// the service accepts requests. ctx limits only the start. If something prevents
// the start (a used port, a folder in use, a broken data file, a missing
// program), Start returns a one-line error and stops everything it started.
func Start(ctx context.Context, o Options) (s *Service, err error) {
	o.Data, o.Table = cmp.Or(o.Data, folder.Default), cmp.Or(o.Table, schema.DefaultName)
	o.Log = cmp.Or(o.Log, slog.Default())
	s = &Service{failed: make(chan error, 1)}
	defer func() {
		if err != nil {
			s.Close()
			s = nil
		}
	}()
	if s.Data, err = filepath.Abs(o.Data); err != nil {
		return s, fmt.Errorf("data folder: %w", err)
	}
	if s.lock, err = folder.Lock(s.Data); err != nil {
		return s, err
	}
	listener, err := listen(o.Port)
	if err != nil {
		return s, err
	}
	s.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	if err := s.assemble(ctx, o, listener); err != nil {
		_ = listener.Close()
		return s, err
	}
	s.tasks.Add(1)
	go func() {
		defer s.tasks.Done()
		if err := s.server.Serve(emulator.Listener(listener)); !errors.Is(err, http.ErrServerClosed) {
			s.fail(fmt.Errorf("gateway: %w", err))
		}
	}()
	return s, folder.Write(folder.Running{
		BaseURL: s.BaseURL, Local: s.Local, Endpoint: s.Endpoint, Table: s.Table, Data: s.Data, Pid: os.Getpid(),
		Memory: s.Memory,
	})
}

// listen opens the port on 127.0.0.1; 0 picks a free one.
func listen(port int) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d is taken; stop what listens there, or choose another with --port or PORT (0 "+
			"picks a free one)", port)
	}
	if err != nil {
		return nil, fmt.Errorf("listening on port %d: %w", port, err)
	}
	return l, nil
}

// assemble starts the engine, creates the table and the functions, sets the gateway's
// handler, and starts the schedules and the poller.
func (s *Service) assemble(ctx context.Context, o Options, listener net.Listener) (err error) {
	s.engine = &engine.Engine{URL: o.Endpoint, Kind: engine.External}
	if o.Endpoint == "" {
		s.engine, err = engine.Start(ctx, engine.Options{Dir: s.Data, Memory: o.Memory, Stderr: o.Engine})
	}
	if err != nil {
		return err
	}
	s.Local = "http://" + listener.Addr().String()
	s.BaseURL = cmp.Or(o.Issuer, s.Local)
	s.Endpoint, s.Table, s.Memory = s.engine.URL, o.Table, o.Memory
	ensured, err := schema.EnsureTable(ctx, s.Endpoint, o.Template, schema.Options{Name: s.Table})
	if err != nil {
		return err
	}
	s.New = ensured.New
	dir := s.Data
	if s.Memory {
		dir = ""
	}
	s.Poller = poller.New(poller.Options{Endpoint: s.Endpoint, Dir: dir, Log: o.Log})
	s.Transport, s.GiveUp = s.Poller.Transport, s.Poller.GiveUp
	app, err := o.Build(ctx, s.Environment)
	s.clean = app.Close
	if err != nil {
		return err
	}
	if s.server.Handler, err = app.gateway(o.Template, o.Log); err != nil {
		return err
	}
	if app.EndStreams != nil {
		s.server.RegisterOnShutdown(app.EndStreams)
	}
	if o.Wrap != nil {
		if s.server.Handler, err = o.Wrap(s.server.Handler); err != nil {
			return err
		}
	}
	consumers, err := app.consumers(o.Template, o.Log)
	if err != nil {
		return err
	}
	if err := s.runScheduled(ctx, app, o.Template, o.Log); err != nil {
		return err
	}
	if err := s.Poller.Start(ensured.StreamARN, consumers); err != nil {
		return err
	}
	go func() { // never fires for an external engine: Exited is nil
		<-s.engine.Exited()
		s.fail(errors.New("the database engine ended by itself"))
	}()
	return nil
}

// runScheduled calls each scheduled function once, as a new schedule does in AWS. Then it
// starts tasks that call the functions at their rates, and early by app.Wakes.
func (s *Service) runScheduled(ctx context.Context, app App, template []byte, log *slog.Logger) error {
	schedules, err := app.schedules(template)
	if err != nil {
		return err
	}
	call := func(ctx context.Context, one emulator.Schedule) error {
		ctx, cancel := context.WithTimeout(ctx, one.Timeout)
		defer cancel()
		if err := panics.Try(func() error { return app.Scheduled[one.Function](ctx) }); err != nil {
			return fmt.Errorf("%s: %w", one.Function, err)
		}
		return nil
	}
	for _, one := range schedules {
		if err := call(ctx, one); err != nil {
			return err
		}
	}
	ctx, s.end = context.WithCancel(context.WithoutCancel(ctx))
	for _, one := range schedules {
		s.tasks.Go(func() {
			tick := time.NewTicker(one.Rate)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				case <-app.Wakes[one.Function]:
				}
				if err := call(ctx, one); err != nil {
					log.Error("scheduled function", "error", err)
				}
			}
		})
	}
	return nil
}

// fail makes Wait return the error. Further errors are ignored.
func (s *Service) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// Wait returns nil when ctx ends, and an error when the service cannot
// continue.
func (s *Service) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.failed:
		return err
	}
}

// shutdown stops the server when the requests in progress have ended, or graceTime has
// passed. A nil server was not started.
func shutdown(server *http.Server) {
	if server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), graceTime)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close()
	}
}

// Close stops the service in this order: gateway, schedules, stream functions,
// engine. Then it removes dev.json and releases the lock. It
// may be called more than once.
func (s *Service) Close() {
	s.close.Do(func() {
		shutdown(s.server)
		if s.end != nil {
			s.end()
		}
		s.tasks.Wait()
		if s.Poller != nil {
			s.Poller.Stop()
		}
		s.engine.Stop()
		if s.clean != nil {
			s.clean()
		}
		if s.lock != nil {
			folder.Unlock(s.Data, s.lock)
		}
	})
}
