package local

import (
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

	"svc/pkg/local/engine"
)

// Place is where a service's parts find each other.
type Place struct {
	// BaseURL is the gateway's address, the issuer of the tokens.
	BaseURL string
	// Endpoint and Table are where the data is.
	Endpoint string
	Table    string
	// Data is the data folder, an absolute path. With Memory nothing but the
	// lock and dev.json belongs there.
	Data   string
	Memory bool
	// Wire wraps the transport of the table's client: writes wake the poller.
	Wire func(http.RoundTripper) http.RoundTripper
}

// ServiceOptions say what to run and where.
type ServiceOptions struct {
	// Data is the data folder; empty is DefaultData.
	Data string
	// Memory keeps the table in memory. dev.json is in the data folder all
	// the same, so that other commands find the service.
	Memory bool
	// Port of the gateway on 127.0.0.1; 0 picks a free one.
	Port int
	// Table's name; empty is DefaultTable.
	Table string
	// Template is template.yaml.
	Template []byte
	// Build makes the functions, when the place is known and the table there.
	Build func(context.Context, Place) (App, error)
	// Engine gets what the engine prints; nil drops it.
	Engine io.Writer
	// Log gets failures of functions; nil is slog.Default.
	Log *slog.Logger
}

// Service is the whole of the project in one process.
type Service struct {
	Place
	// Poller delivers the table's stream; Drain waits for it.
	Poller *Poller

	lock   *os.File
	engine *engine.Engine
	server *http.Server
	failed chan error
	end    context.CancelFunc // ends the schedule
	tasks  sync.WaitGroup
	close  sync.Once
}

// How often the scheduled functions run, as template.yaml says, and how long
// requests under way may take to end.
const (
	schedule  = 24 * time.Hour
	graceTime = 5 * time.Second
)

// StartService starts engine, table, functions, poller and gateway, and
// returns when requests are answered. ctx bounds the start. What stands in the
// way (a taken port, a folder in use, a broken data file, a missing program) is
// an error of one line, and nothing stays behind.
func StartService(ctx context.Context, o ServiceOptions) (s *Service, err error) {
	if o.Data == "" {
		o.Data = DefaultData
	}
	if o.Table == "" {
		o.Table = DefaultTable
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
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
	if s.lock, err = lockFolder(s.Data); err != nil {
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
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.fail(fmt.Errorf("gateway: %w", err))
		}
	}()
	return s, writeRunning(Running{BaseURL: s.BaseURL, Endpoint: s.Endpoint, Table: s.Table, Data: s.Data, Pid: os.Getpid(), Memory: s.Memory})
}

func listen(port int) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d is taken; stop what listens there, or choose another with --port or PORT (0 picks a free one)", port)
	}
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	return l, nil
}

// assemble brings up everything behind the gateway.
func (s *Service) assemble(ctx context.Context, o ServiceOptions, listener net.Listener) (err error) {
	s.engine, err = engine.Start(ctx, engine.Options{Dir: s.Data, Memory: o.Memory, Stderr: o.Engine})
	if err != nil {
		return err
	}
	s.BaseURL = "http://" + listener.Addr().String()
	s.Endpoint, s.Table, s.Memory = s.engine.URL, o.Table, o.Memory
	stream, err := EnsureTable(ctx, s.Endpoint, o.Template, TableOptions{Name: s.Table})
	if err != nil {
		return err
	}
	dir := s.Data
	if s.Memory {
		dir = ""
	}
	s.Poller = NewPoller(PollerOptions{Endpoint: s.Endpoint, Dir: dir, Log: o.Log})
	s.Wire = s.Poller.Wire
	app, err := o.Build(ctx, s.Place)
	if err != nil {
		return err
	}
	if s.server.Handler, err = app.gateway(o.Template, o.Log); err != nil {
		return err
	}
	consumers, err := app.consumers(o.Template, o.Log)
	if err != nil {
		return err
	}
	if err := s.runScheduled(ctx, app, o.Log); err != nil {
		return err
	}
	if err := s.Poller.Start(stream, consumers); err != nil {
		return err
	}
	go func() { // never ends for an external engine: Exited is nil
		<-s.engine.Exited()
		s.fail(errors.New("the database engine ended by itself"))
	}()
	return nil
}

// runScheduled calls the scheduled functions once, as a new schedule does in
// AWS, and then at their rate.
func (s *Service) runScheduled(ctx context.Context, app App, log *slog.Logger) error {
	for name, f := range app.Scheduled {
		if err := f(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	ctx, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.tasks.Add(1)
	go func() {
		defer s.tasks.Done()
		tick := time.NewTicker(schedule)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				for name, f := range app.Scheduled {
					if err := f(ctx); err != nil {
						log.Error("scheduled function", "function", name, "error", err)
					}
				}
			}
		}
	}()
	return nil
}

func (s *Service) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// Wait returns nil when ctx ends, and an error when the service cannot go on.
func (s *Service) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.failed:
		return err
	}
}

// Close ends the service in order: no more requests, the stream functions
// under way, the engine, dev.json, the lock. It may be called more than once.
func (s *Service) Close() {
	s.close.Do(func() {
		if s.server != nil {
			ctx, cancel := context.WithTimeout(context.Background(), graceTime)
			if s.server.Shutdown(ctx) != nil {
				_ = s.server.Close()
			}
			cancel()
		}
		if s.end != nil {
			s.end()
		}
		s.tasks.Wait()
		if s.Poller != nil {
			s.Poller.Stop()
		}
		s.engine.Stop()
		if s.lock != nil {
			_ = os.Remove(filepath.Join(s.Data, "dev.json"))
			_ = s.lock.Close()
		}
	})
}
