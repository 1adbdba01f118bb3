package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"svc/pkg/gateway"
	"svc/pkg/signing"
	"svc/pkg/table"
)

// Start runs a function in Lambda: the wiring of functions/<group>/main.go.
func Start(function string) {
	logger := slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: logLevel()}))
	slog.SetDefault(logger)
	ctx := context.Background()
	db, err := table.Open(ctx, table.Options{Table: os.Getenv("TABLE_NAME"), Endpoint: os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")})
	if err != nil {
		logger.Error("start", "error", err)
		os.Exit(1)
	}
	p := &Place{DB: db, BaseURL: os.Getenv("BASE_URL"), Now: time.Now, Logger: logger, Observe: Metrics(os.Stdout, function)}
	p.RefreshGrace, _ = time.ParseDuration(os.Getenv("REFRESH_GRACE")) // absent: none
	if function == OAuth || function == Keys {
		if p.Sealer, err = SealerFromEnvironment(ctx, table.Environment); err != nil {
			logger.Error("start", "error", err)
			os.Exit(1)
		}
	}
	p.run(function)
}

func (p *Place) run(function string) {
	switch function {
	case Keys:
		lambda.Start(func(ctx context.Context) error { return p.Keys().Rotate(ctx) })
	case Settlement, Projection:
		lambda.Start(lagged(p.StreamHandlers()[function], os.Stdout, function, p.Now))
	default:
		if p.BaseURL != "" {
			h, err := p.handler(function)
			if err != nil {
				p.Logger.Error("start", "error", err)
				os.Exit(1)
			}
			lambda.Start(gateway.Handler(h))
			return
		}
		lambda.Start(gateway.Lazy(func(_ context.Context, baseURL string) (http.Handler, error) {
			at := *p // the address is known with the first event
			at.BaseURL = baseURL
			return at.handler(function)
		}))
	}
}

// handler is Handler with the metrics of what has no rows.
func (p *Place) handler(function string) (http.Handler, error) {
	h, err := p.Handler(function)
	if err == nil && function == OAuth {
		h = measured(h, os.Stdout, function)
	}
	return h, err
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
