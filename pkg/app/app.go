package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/access/signing"
	"svc/pkg/background/jobs"
	"svc/pkg/base/config"
	"svc/pkg/base/phone"
	"svc/pkg/data/table"
	"svc/pkg/domain/page"
	"svc/pkg/domain/webhook"
	"svc/pkg/edge/api"
	"svc/pkg/edge/gateway"
	"svc/pkg/edge/mcp"
	"svc/pkg/edge/reference/published"
	"svc/pkg/oauth"
)

// Runtime has what the functions of the service need: the table, the clock, keys, queues
// and settings. A function here is a Lambda function, such as TripsFunction.
type Runtime struct {
	DB      *table.DB
	BaseURL string         // public address, without a trailing slash
	Sealer  signing.Sealer // encrypts the signing keys; nil for a process that only verifies tokens
	Now     func() time.Time
	Logger  *slog.Logger
	Observe func(ctx context.Context, o api.Observation)
	// RefreshGrace is how long the previous refresh token may be used again, at
	// most tokens.MaxRefreshGrace.
	RefreshGrace time.Duration
	// Documents fetches clients' metadata documents and keys; nil means a
	// transport that reaches public addresses only.
	Documents http.RoundTripper
	// Mail sends a message; nil sends none.
	Mail oauth.Mailer
	// MailTime is how long every request for a mailed link takes, so that its duration
	// does not reveal whether an account exists; 0 means the default of oauth.Config.
	MailTime time.Duration
	// Limits are the throttles of the authorization server; a zero field means the
	// server's default.
	Limits oauth.Limits
	// Rates limit the requests to /api/v1 and the tool calls that one process
	// serves per second for one tenant and for one client; zeros mean no limit.
	Rates api.Rates
	// Files stores files and signs their addresses.
	Files Files
	// Begun is called when there is work to do at once: a job, or a step of the robots
	// (simulated drivers and riders) of a sandbox. It may be nil.
	Begun func()
	// GiveUp stores stream records whose data the function cannot process, as a dead
	// letter of that function. If GiveUp is nil, the stream delivers the records again.
	GiveUp func(ctx context.Context, function string, records []events.DynamoDBEventRecord, cause error) error
	// ReadPhone returns the number that a typed phone stands for in a country; if it is
	// nil, no phone is parsed.
	ReadPhone func(typed, country string) *phone.Number
	// Secrets encrypts the secrets of webhooks; if it is nil, Sealer does.
	Secrets signing.Sealer
	// Answers encrypts secrets in the stored responses to requests (idempotency records);
	// if it is nil, Sealer does.
	Answers signing.Sealer
	// Webhooks puts messages into the queue of the sender of webhooks; nil means that
	// this process sends.
	Webhooks WebhookQueue
	// Queue passes messages to the worker of dispatch; nil means that this process
	// makes the dispatch steps.
	Queue Queue
	// Pace is the time between two steps that this process makes for the robots of a
	// sandbox; zero means one step each minute.
	Pace time.Duration
	// Writable returns an error if the disk takes no more data; nil where there is no disk.
	Writable func() error
	// NoRobots makes the robots of all sandboxes do nothing.
	NoRobots bool
	// Streams is the limit of open event streams in all processes together, if each
	// process serves one at a time; 0 means that each process limits its own.
	Streams int
	// Closing is closed when the open event streams must end; nil means never.
	Closing <-chan struct{}
	// Local means that the process runs on a developer's machine: webhooks and the keys
	// of clients may be at addresses of the machine itself.
	Local bool
	// Config is what the process read from its environment.
	Config config.Config

	keys *signing.Keys
}

// Files stores the files of jobs, and signs the URLs by which clients upload and download
// them.
type Files interface {
	jobs.Files
	api.Links
}

// Keys returns the signing keys. All functions of a process share one key set
// in memory.
func (p *Runtime) Keys() *signing.Keys {
	if p.keys == nil {
		p.keys = signing.Open(p.DB, signing.Options{Issuer: p.BaseURL, Sealer: p.Sealer, Now: p.Now})
	}
	return p.keys
}

// AuthorizationServer returns the OAuth authorization server that OAuthFunction serves.
func (p *Runtime) AuthorizationServer() *oauth.Server {
	return oauth.New(oauth.Config{BaseURL: p.BaseURL, Now: p.Now, Address: viewerIP, RefreshGrace: p.RefreshGrace,
		Documents: p.Documents, LocalKeys: p.Local, Mail: p.mails(), MailTime: p.MailTime, Limits: p.limits()},
		p.DB, p.Keys(), p.Logger)
}

// limits returns the throttles of the authorization server: Limits, but a limit of mails
// that is zero there comes from the environment.
func (p *Runtime) limits() oauth.Limits {
	l := p.Limits
	l.Links = cmp.Or(l.Links, p.Config.MailLimits.Of(config.MailForgot))
	l.SignUps = cmp.Or(l.SignUps, p.Config.MailLimits.Of(config.MailSignUp))
	return l
}

// Handler returns the HTTP handler of the function with the name, such as TripsFunction.
// It returns an error if no function that handles requests has that name.
func (p *Runtime) Handler(function string) (http.Handler, error) {
	switch function {
	case OAuth:
		return p.authorization(), nil
	case Docs:
		return published.New(p.BaseURL, page.ShowMissing, p.tiles()), nil
	case MCP:
		return p.agents(append(Rows(p.DB), webhook.AgentRows()...))
	}
	rows := rowsOf()[function]
	if rows == nil {
		return nil, fmt.Errorf("no function that handles requests has the name %s", function)
	}
	return p.api(rows(p.DB))
}

// api returns the HTTP handler of the endpoints in rows.
func (p *Runtime) api(rows []api.Row) (http.Handler, error) { return api.New(p.config(), rows...) }

// agents returns the HTTP handler of the MCP server. Its tools are the endpoints in rows.
func (p *Runtime) agents(rows []api.Row) (http.Handler, error) { return mcp.New(p.config(), rows...) }

// config returns what the handlers of the API and of the MCP server need from the
// runtime.
func (p *Runtime) config() api.Config {
	return api.Config{DB: p.DB, Verifier: p.Keys(), BaseURL: p.BaseURL, Now: p.Now, Observe: p.Observe,
		Logger: p.Logger, Rates: p.Rates, Files: p.Files, Begun: p.Begun, Mail: p.mails(), MailLimits: p.Config.MailLimits,
		Sealer:  p.secrets(),
		Answers: p.answers(), Local: p.Local, Phones: p.ReadPhone, Closing: p.Closing, Streams: p.Streams,
		CursorKey: p.Keys().CursorKey, KeyedCursors: p.Config.KeyedCursors}
}

// Functions returns every function that handles requests, by name. The local
// gateway calls a function with an event and gets its response.
func (p *Runtime) Functions() (map[string]func(context.Context, json.RawMessage) (json.RawMessage, error), error) {
	out := map[string]func(context.Context, json.RawMessage) (json.RawMessage, error){}
	for _, name := range RequestFunctions() {
		h, err := p.Handler(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = gateway.Handler(h)
	}
	return out, nil
}
