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

// Files opens the store of files. For a table, FILES_BUCKET names the bucket; without it
// there is no store.
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

// Jobs is the list of open jobs.
func (p Platform) Jobs() table.Platform { return p.DB.Platform("JOBS") }

// AuthorizationServer returns the store of clients and tokens.
func (p Platform) AuthorizationServer() *oauth.Server {
	return oauth.New(oauth.Config{BaseURL: p.BaseURL}, p.DB, nil, nil)
}

// Keys returns the signing keys, with the sealer that the service uses.
func (p Platform) Keys(ctx context.Context) (*signing.Keys, error) {
	sealer, err := lateSealer{p, app.Sealer}.sealer(ctx)
	if err != nil {
		return nil, err
	}
	return signing.Open(p.DB, signing.Options{Issuer: p.BaseURL, Sealer: sealer}), nil
}

// Sealer returns a sealer of the service, which open opens for a table.
func (p Platform) Sealer(open openSealer) signing.Sealer { return lateSealer{p, open} }

// openSealer opens a sealer of a deployed service.
type openSealer = func(context.Context, config.Config, app.Loader) (signing.Sealer, error)

// lateSealer opens a sealer when a secret is sealed: most operations have none.
type lateSealer struct {
	p    Platform
	open openSealer
}

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
