package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"svc/pkg/access/signing"
	"svc/pkg/base/config"
)

// Loader returns the configuration of the AWS SDK: Runtime.aws in a function, the
// SDK's own loader in a command.
type Loader func(context.Context) (aws.Config, error)

// aws returns the SDK's configuration from the function's environment. The SDK's own
// loader would make up a sixth of a function's size.
func (p *Runtime) aws(context.Context) (aws.Config, error) {
	from := p.Config.AWS
	cfg := aws.Config{Region: cmp.Or(from.Region, from.DefaultRegion), ConfigSources: []any{from},
		Credentials: credentials.NewStaticCredentialsProvider(from.AccessKey, from.SecretKey, from.SessionToken)}
	if from.Endpoint != "" {
		cfg.BaseEndpoint = &from.Endpoint
	}
	return cfg, nil
}

// Sealer returns a KMS sealer if KEY_ID names a key, else a sealer with the file
// that SEALING_KEY_FILE names. It is an error if neither variable is set.
func Sealer(ctx context.Context, c config.Config, load Loader) (signing.Sealer, error) {
	return sealer(ctx, c, "kid", load)
}

// WebhookSealer is Sealer for the secrets of webhooks. What it seals can open no
// signing key.
func WebhookSealer(ctx context.Context, c config.Config, load Loader) (signing.Sealer, error) {
	return sealer(ctx, c, "webhook", load)
}

// AnswerSealer is Sealer for secrets beside the stored response to a request. Only the
// function that serves the request may open them.
func AnswerSealer(ctx context.Context, c config.Config, load Loader) (signing.Sealer, error) {
	return sealer(ctx, c, "answer", load)
}

func sealer(ctx context.Context, c config.Config, kind string, load Loader) (signing.Sealer, error) {
	switch {
	case c.KeyID != "":
		return newKMS(ctx, c.KeyID, kind, load)
	case c.SealingKeyFile != "":
		return signing.FileSealer(c.SealingKeyFile)
	}
	return nil, errors.New("neither KEY_ID nor SEALING_KEY_FILE is set; signing keys need one of them")
}

// kmsSealer encrypts signing keys or the secrets of webhooks with a KMS key. The
// encryption context is the name of what is sealed, so KMS rejects it under another
// name. The kind is "kid", "webhook" or "answer": the right to open one kind is none to
// open another.
type kmsSealer struct {
	client    *kms.Client
	key, kind string
}

func newKMS(ctx context.Context, key, kind string, load Loader) (kmsSealer, error) {
	cfg, err := load(ctx)
	if err != nil {
		return kmsSealer{}, fmt.Errorf("configuration of the AWS SDK: %w", err)
	}
	return kmsSealer{kms.NewFromConfig(cfg), key, kind}, nil
}

// Seal implements signing.Sealer.
func (s kmsSealer) Seal(ctx context.Context, keyID string, plain []byte) ([]byte, error) {
	out, err := s.client.Encrypt(ctx, &kms.EncryptInput{KeyId: &s.key, Plaintext: plain,
		EncryptionContext: map[string]string{s.kind: keyID}})
	if err != nil {
		return nil, fmt.Errorf("sealing: %w", err)
	}
	return out.CiphertextBlob, nil
}

// Open implements signing.Sealer.
func (s kmsSealer) Open(ctx context.Context, keyID string, sealed []byte) ([]byte, error) {
	out, err := s.client.Decrypt(ctx, &kms.DecryptInput{KeyId: &s.key, CiphertextBlob: sealed,
		EncryptionContext: map[string]string{s.kind: keyID}})
	if err != nil {
		return nil, fmt.Errorf("opening what is sealed: %w", err)
	}
	return out.Plaintext, nil
}
