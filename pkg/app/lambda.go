package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"svc/pkg/api"
	"svc/pkg/gateway"
	"svc/pkg/reference/published"
	"svc/pkg/signing"
	"svc/pkg/table"
)

// Serve makes what Lambda calls with a function's events.
type Serve func(p *Place, function string) (any, error)

// Start runs a function in Lambda: the wiring of functions/<group>/main.go. A
// main hands in what it serves, and its program holds that and nothing of the
// other functions, so nothing here may know them all.
func Start(function string, serve Serve) {
	logger := slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: logLevel()}))
	slog.SetDefault(logger)
	handler, err := start(function, serve, logger)
	if err != nil {
		logger.Error("start", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

func start(function string, serve Serve, logger *slog.Logger) (any, error) {
	db, err := table.Open(context.Background(), table.Options{Table: os.Getenv("TABLE_NAME"), Endpoint: os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")})
	if err != nil {
		return nil, err
	}
	return serve(&Place{DB: db, BaseURL: os.Getenv("BASE_URL"), Now: time.Now, Logger: logger, Observe: Metrics(os.Stdout, function)}, function)
}

// API serves the rows.
func API(rows func(*table.DB) []api.Row) Serve {
	return func(p *Place, _ string) (any, error) {
		var err error
		if p.Rates, err = RatesFromEnvironment(); err != nil {
			return nil, err
		}
		return p.requests(func(at *Place) (http.Handler, error) { return at.api(rows(at.DB)) })
	}
}

// Authorization serves the authorization server, with the metrics of what has
// no rows.
func Authorization(p *Place, function string) (any, error) {
	p.RefreshGrace, _ = time.ParseDuration(os.Getenv("REFRESH_GRACE")) // absent: none
	var err error
	if p.Sealer, err = SealerFromEnvironment(context.Background(), table.Environment); err != nil {
		return nil, err
	}
	if from := os.Getenv("MAIL_FROM"); from != "" {
		if p.Mail, err = SES(context.Background(), from, table.Environment); err != nil {
			return nil, err
		}
	}
	return p.requests(func(at *Place) (http.Handler, error) {
		return measured(at.AuthorizationServer().Handler(), os.Stdout, function), nil
	})
}

// Documents serves the OpenAPI document and the reference page.
func Documents(p *Place, _ string) (any, error) {
	return p.requests(func(at *Place) (http.Handler, error) { return published.New(at.BaseURL), nil })
}

// Rotation makes and drops signing keys.
func Rotation(p *Place, _ string) (any, error) {
	var err error
	if p.Sealer, err = SealerFromEnvironment(context.Background(), table.Environment); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return p.Keys().Rotate(ctx) }, nil
}

// Settling makes receipts and postings.
func Settling(p *Place, function string) (any, error) {
	return lagged(p.settlement(), os.Stdout, function, p.Now), nil
}

// Projecting counts.
func Projecting(p *Place, function string) (any, error) {
	return lagged(p.projection(), os.Stdout, function, p.Now), nil
}

// requests turns events into requests to what build makes for the service's
// address, which is known with the first event where BASE_URL does not say it.
func (p *Place) requests(build func(at *Place) (http.Handler, error)) (any, error) {
	if p.BaseURL != "" {
		h, err := build(p)
		if err != nil {
			return nil, err
		}
		return gateway.Handler(h), nil
	}
	return gateway.Lazy(func(_ context.Context, baseURL string) (http.Handler, error) {
		at := *p
		at.BaseURL = baseURL
		return build(&at)
	}), nil
}

func logLevel() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(os.Getenv("LOG_LEVEL"))) // absent: info
	return level
}

// SealerFromEnvironment gives KMS where KEY_ID names a key, else the file
// that SEALING_KEY_FILE names.
func SealerFromEnvironment(ctx context.Context, load Loader) (signing.Sealer, error) {
	if id := os.Getenv("KEY_ID"); id != "" {
		return newKMS(ctx, id, load)
	}
	if path := os.Getenv("SEALING_KEY_FILE"); path != "" {
		return signing.FileSealer(path)
	}
	return nil, fmt.Errorf("neither KEY_ID nor SEALING_KEY_FILE is set: signing keys cannot be opened")
}
