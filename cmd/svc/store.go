package main

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

// files opens the store of files. For a table, FILES_BUCKET names the bucket; without it
// there is no store.
func (p platform) files(ctx context.Context) (jobs.Files, error) {
	if p.data != "" {
		return files.Open(files.In(p.data), "", time.Now), nil
	}
	name := p.env.FilesBucket
	if name == "" {
		return nil, nil
	}
	cfg, err := awsConfig(ctx)
	return app.Bucket{Name: name, Config: cfg}, err
}

// jobs is the list of open jobs.
func (p platform) jobs() table.Platform { return p.db.Platform("JOBS") }

// authorizationServer returns the store of clients and tokens.
func (p platform) authorizationServer() *oauth.Server {
	return oauth.New(oauth.Config{BaseURL: p.baseURL}, p.db, nil, nil)
}

// keys returns the signing keys, with the sealer that the service uses.
func (p platform) keys(ctx context.Context) (*signing.Keys, error) {
	var sealer signing.Sealer
	var err error
	if p.data != "" {
		sealer, err = signing.FileSealer(filepath.Join(p.data, "sealing.key"))
	} else {
		sealer, err = app.Sealer(ctx, p.env, awsConfig)
	}
	if err != nil {
		return nil, err
	}
	return signing.Open(p.db, signing.Options{Issuer: p.baseURL, Sealer: sealer}), nil
}

// sealer returns a sealer of the service, which open opens for a table.
func (p platform) sealer(open openSealer) signing.Sealer { return lateSealer{p, open} }

// openSealer opens a sealer of a deployed service.
type openSealer = func(context.Context, config.Config, app.Loader) (signing.Sealer, error)

// lateSealer opens a sealer when a secret is sealed: most operations have none.
type lateSealer struct {
	p    platform
	open openSealer
}

func (l lateSealer) sealer(ctx context.Context) (signing.Sealer, error) {
	if l.p.data != "" {
		return signing.FileSealer(filepath.Join(l.p.data, "sealing.key"))
	}
	return l.open(ctx, l.p.env, awsConfig)
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
