package cli

import (
	"context"
	"path/filepath"
	"time"

	"svc/pkg/access/signing"
	"svc/pkg/app"
	"svc/pkg/background/jobs"
	"svc/pkg/base/config"
	"svc/pkg/data/table"
	"svc/pkg/local/files"
	"svc/pkg/oauth"
)

// Files opens the store of the files that exports and imports use: the data folder, or
// for a table in DynamoDB the S3 bucket in FILES_BUCKET. Without FILES_BUCKET it returns
// nil.
func (p Platform) Files(ctx context.Context) (jobs.Files, error) {
	if p.Data != "" {
		return files.Open(files.In(p.Data), "", time.Now), nil
	}
	name := p.Env.FilesBucket
	if name == "" {
		return nil, nil
	}
	cfg, err := AWSConfig(ctx)
	return app.Bucket{Name: name, Config: cfg}, err
}

// Jobs returns the stored list of open jobs of all tenants.
func (p Platform) Jobs() table.Platform { return p.DB.Platform("JOBS") }

// AuthorizationServer returns the OAuth server, for commands that read or change its
// clients and tokens.
func (p Platform) AuthorizationServer() *oauth.Server {
	return oauth.New(oauth.Config{BaseURL: p.BaseURL}, p.DB, nil, nil)
}

// Keys returns the signing keys, with the sealer that encrypts them at rest.
func (p Platform) Keys(ctx context.Context) (*signing.Keys, error) {
	sealer, err := lateSealer{p, app.Sealer}.sealer(ctx)
	if err != nil {
		return nil, err
	}
	return signing.Open(p.DB, signing.Options{Issuer: p.BaseURL, Sealer: sealer}), nil
}

// Sealer returns the Sealer that encrypts keys and other secrets of the service at rest.
// For a local service it uses the key file in the data folder. For a table in DynamoDB it
// calls open at each use.
func (p Platform) Sealer(open openSealer) signing.Sealer { return lateSealer{p, open} }

// openSealer opens the Sealer of a deployed service.
type openSealer = func(context.Context, config.Config, app.Loader) (signing.Sealer, error)

// lateSealer is a signing.Sealer that opens the real Sealer only when it is used, because
// most commands encrypt nothing.
type lateSealer struct {
	p    Platform
	open openSealer
}

// sealer opens the real Sealer: that of the key file in the data folder or, for a table
// in DynamoDB, the result of l.open.
func (l lateSealer) sealer(ctx context.Context) (signing.Sealer, error) {
	if l.p.Data != "" {
		return signing.FileSealer(filepath.Join(l.p.Data, "sealing.key"))
	}
	return l.open(ctx, l.p.Env, AWSConfig)
}

// Seal implements signing.Sealer.
func (l lateSealer) Seal(ctx context.Context, name string, plain []byte) ([]byte, error) {
	s, err := l.sealer(ctx)
	if err != nil {
		return nil, err
	}
	return s.Seal(ctx, name, plain)
}

// Open implements signing.Sealer.
func (l lateSealer) Open(ctx context.Context, name string, sealed []byte) ([]byte, error) {
	s, err := l.sealer(ctx)
	if err != nil {
		return nil, err
	}
	return s.Open(ctx, name, sealed)
}
