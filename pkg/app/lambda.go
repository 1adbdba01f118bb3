package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"svc/pkg/access/signing"
	"svc/pkg/base/config"
	"svc/pkg/base/panics"
	"svc/pkg/base/phone"
	"svc/pkg/data/table"
	"svc/pkg/domain/page"
	"svc/pkg/domain/settings"
	"svc/pkg/edge/api"
	"svc/pkg/edge/gateway"
	"svc/pkg/edge/reference/published"
	"svc/pkg/oauth/session"
)

// Serve returns the handler that Lambda calls with a function's events. function is its
// name in template.yaml, such as TripsFunction.
type Serve func(p *Runtime, function string) (any, error)

// Start runs a function in Lambda; functions/<group>/main.go calls it. Each main passes
// in what it serves, so that its program contains no code of other functions. Therefore
// Start and what it calls must not reference all functions.
func Start(function string, serve Serve) {
	c := config.Read(os.Getenv)
	logger := slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: c.Level(slog.LevelInfo)}))
	slog.SetDefault(logger)
	collectLess(c)
	if OneProcessor(c.Memory) && c.ProcessLimit == "" {
		runtime.GOMAXPROCS(1)
	}
	handler, err := start(function, serve, c, logger)
	if err != nil {
		logger.Error("start", "error", err)
		os.Exit(1)
	}
	useRuntimeAPI(c.RuntimeAPI, lambdacontext.MaxConcurrency())
	lambda.Start(handler)
}

// collectLess makes the garbage collector run less often than by Go's default,
// because a function's live heap has only a few megabytes. The heap may grow to
// eleven times its live size. A memory limit of three quarters of the
// function's memory makes the collector run more often near that limit. GOGC
// and GOMEMLIMIT in the environment take precedence.
func collectLess(c config.Config) {
	if c.Collector == "" {
		debug.SetGCPercent(1000)
	}
	if c.Memory > 0 && c.MemoryLimit == "" {
		debug.SetMemoryLimit(c.Memory << 20 / 4 * 3)
	}
}

// OneProcessor reports whether a function with that many megabytes of memory
// has one processor or a share of one. Start then lets only one thread at a
// time run Go code, unless the environment has GOMAXPROCS. Lambda shows such a
// function two processors, and pauses it when its share is used up. A second
// thread would only take work from the first, and use processor time to look
// for work. Source: AWS Lambda Developer Guide, "Configure Lambda function
// memory": 1,769 MB have the equivalent of one vCPU.
func OneProcessor(memory int64) bool { return memory > 0 && memory <= 1769 }

// start opens the function's table and returns the handler that serve makes.
func start(function string, serve Serve, c config.Config, logger *slog.Logger) (any, error) {
	p := &Runtime{BaseURL: c.BaseURL, Now: time.Now, Logger: logger, Config: c, RefreshGrace: c.RefreshGrace,
		Rates:   api.Rates{Tenant: c.TenantRate, Client: c.ClientRate},
		Observe: Requests(os.Stdout, function)}
	aws, err := p.aws(context.Background())
	if err != nil {
		return nil, err
	}
	p.Files = Bucket{c.FilesBucket, aws}
	if p.DB, err = table.Open(context.Background(), table.Options{Table: c.Table, Endpoint: c.Endpoint, Load: p.aws,
		AtOnce: lambdacontext.MaxConcurrency()}); err != nil {
		return nil, err
	}
	return serve(p, function)
}

// API returns the Serve of a function that serves the endpoints in rows.
func API(rows func(*table.DB) []api.Row) Serve {
	return func(p *Runtime, function string) (any, error) {
		if err := p.mailer(); err != nil {
			return nil, err
		}
		return p.requests(function, func(at *Runtime) (http.Handler, error) { return at.api(rows(at.DB)) }, rows(p.DB)...)
	}
}

// Agents returns the Serve of the MCP server. Its tools are the endpoints in rows that
// are not switched off (SWITCHED_OFF).
func Agents(rows func(*table.DB) []api.Row) Serve {
	return func(p *Runtime, function string) (any, error) {
		if err := p.mailer(); err != nil {
			return nil, err
		}
		f := newFront(p.Config)
		return p.requests(function, func(at *Runtime) (http.Handler, error) { return at.agents(f.on(rows(at.DB))) })
	}
}

// Authorization is the Serve of OAuthFunction, the authorization server. Its endpoints
// are not in a list of rows, so measured writes their log lines.
func Authorization(p *Runtime, function string) (any, error) {
	var err error
	if p.Sealer, err = Sealer(context.Background(), p.Config, p.aws); err != nil {
		return nil, err
	}
	if err = p.mailer(); err != nil {
		return nil, err
	}
	return p.requests(function, func(at *Runtime) (http.Handler, error) {
		return measured(at.authorization(), os.Stdout, function), nil
	})
}

// mailer sets p.Mail to a mailer of Amazon SES if the environment names an address to
// mail from.
func (p *Runtime) mailer() (err error) {
	if from := p.Config.MailFrom; from != "" {
		p.Mail, err = SES(context.Background(), from, p.Config.MailConfigurationSet, p.aws)
	}
	return err
}

// Documents is the Serve of DocsFunction: it serves the OpenAPI document, the reference
// page, /health and /health/live, and the 404 or 405 of any other request.
func Documents(p *Runtime, function string) (any, error) {
	return p.requests(function, func(at *Runtime) (http.Handler, error) {
		return published.New(at.BaseURL, page.ShowMissing, at.tiles()), nil
	})
}

// Rotation returns the handler of KeysFunction (Function.Serve). A schedule calls it, and it
// creates and removes signing keys.
func Rotation(p *Runtime, _ string) (any, error) {
	var err error
	if p.Sealer, err = Sealer(context.Background(), p.Config, p.aws); err != nil {
		return nil, err
	}
	return guarded(p.Keys().Rotate), nil
}

// guarded returns a handler that turns a panic into an error. Otherwise the panic would
// end the process, and with it the other events that the process handles.
func guarded(handle func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error { return panics.Try(func() error { return handle(ctx) }) }
}

// Settling is the Serve of SettlementFunction. It writes receipts, postings and trip
// counts for a batch of the table's stream. The function's schedule sends the event
// {"sweep": true}. For this event, Settling settles the trips that the stream lost, and
// writes covers of zones that an older build stored without one (projection.Zones).
func Settling(p *Runtime, function string) (any, error) {
	if err := p.keepLostRecords(); err != nil {
		return nil, err
	}
	handle := lagged(p.settlement().Handle, os.Stdout, function, p.Now)
	return func(ctx context.Context, event struct {
		events.DynamoDBEvent
		Sweep bool `json:"sweep"`
	}) (out events.DynamoDBEventResponse, err error) {
		defer panics.Catch(&err)
		if event.Sweep {
			return events.DynamoDBEventResponse{}, p.sweepTenants(ctx)
		}
		return handle(ctx, event.DynamoDBEvent)
	}, nil
}

// Working is the Serve of JobsFunction. It runs due privacy requests and the deletion of
// old data, then the open jobs (Runtime.work).
func Working(p *Runtime, _ string) (any, error) { return guarded(p.work), nil }

// Phoning returns serve with read as the function that parses phone numbers. The
// numbering plans behind read are large, so only some functions link them.
func Phoning(read func(typed, country string) *phone.Number, serve Serve) Serve {
	return func(p *Runtime, function string) (any, error) {
		p.ReadPhone = read
		return serve(p, function)
	}
}

// Projecting is the Serve of ProjectionFunction. For a batch of the table's stream, it
// updates derived data and event feeds, and tells dispatch which trips have changed
// (Runtime.projection).
func Projecting(p *Runtime, function string) (any, error) {
	if err := errors.Join(p.keepLostRecords(), p.useQueue(), p.useWebhookQueue()); err != nil {
		return nil, err
	}
	return lagged(p.projection(), os.Stdout, function, p.Now), nil
}

// requests returns the Lambda handler of a function that serves HTTP. build returns the
// function's http.Handler; at is p with the public address of the service. Without
// BASE_URL, the first event supplies the address. rows are the endpoints that can be
// switched off.
func (p *Runtime) requests(function string, build func(at *Runtime) (http.Handler, error), rows ...api.Row) (any,
	error) {
	if p.Config.Wrong != nil {
		return nil, p.Config.Wrong
	}
	f := newFront(p.Config)
	if p.BaseURL != "" {
		h, err := build(p)
		if err != nil {
			return nil, err
		}
		return gateway.Handler(crashes(f.before(h, rows), os.Stdout, function)), nil
	}
	return gateway.Lazy(p.Config.AWS.Region, func(_ context.Context, baseURL string) (http.Handler, error) {
		at := *p
		at.BaseURL = baseURL
		h, err := build(&at)
		if err != nil {
			return nil, err
		}
		return crashes(f.before(h, rows), os.Stdout, function), nil
	}), nil
}

// tiles returns a function for published.New. That function returns the origin of the map
// tiles of the company with the id, if an operator of the company has signed in with the
// browser of the request, else "".
func (p *Runtime) tiles() func(r *http.Request, id string) string {
	if p.DB == nil {
		return func(*http.Request, string) string { return "" }
	}
	cookies := session.Cookies{Secure: strings.HasPrefix(p.BaseURL, "https://"), Key: signing.CursorKeys(p.DB)}
	return func(r *http.Request, id string) string {
		var d settings.Document
		operates, err := cookies.Operates(r, id)
		if operates {
			d, err = settings.Read(r.Context(), p.DB.Tenant(id))
		}
		if err != nil {
			p.Logger.Error("settings of a map", "error", err)
			return ""
		}
		return d.Map.Origin()
	}
}
