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
// loader would make up a sixth of a function's program.
func (p *Runtime) aws(context.Context) (aws.Config, error) {
	from := p.Config.AWS
	cfg := aws.Config{Region: cmp.Or(from.Region, from.DefaultRegion), ConfigSources: []any{from},
		Credentials: credentials.NewStaticCredentialsProvider(from.AccessKey, from.SecretKey, from.SessionToken)}
	if from.Endpoint != "" {
		cfg.BaseEndpoint = &from.Endpoint
	}
	return cfg, nil
}

// Sealer returns the sealer that encrypts the signing keys. It uses the KMS key that
// KEY_ID names, else the key in the file that SEALING_KEY_FILE names. If neither variable
// is set, it returns an error.
func Sealer(ctx context.Context, c config.Config, load Loader) (signing.Sealer, error) {
	return sealer(ctx, c, "kid", load)
}

// WebhookSealer is like Sealer, for the secrets of webhooks. A policy can grant the right
// to open these secrets without the right to open the signing keys.
func WebhookSealer(ctx context.Context, c config.Config, load Loader) (signing.Sealer, error) {
	return sealer(ctx, c, "webhook", load)
}

// AnswerSealer is like Sealer, for a secret that is stored beside the response to a
// request (idempotency record). Only the function that serves the request may open the
// secret.
func AnswerSealer(ctx context.Context, c config.Config, load Loader) (signing.Sealer, error) {
	return sealer(ctx, c, "answer", load)
}

// sealer implements Sealer, WebhookSealer and AnswerSealer. kind is the kind of the
// secrets (see kmsSealer).
func sealer(ctx context.Context, c config.Config, kind string, load Loader) (signing.Sealer, error) {
	switch {
	case c.KeyID != "":
		return newKMS(ctx, c.KeyID, kind, load)
	case c.SealingKeyFile != "":
		return signing.FileSealer(c.SealingKeyFile)
	}
	return nil, errors.New("neither KEY_ID nor SEALING_KEY_FILE is set; signing keys need one of them")
}

// kmsSealer encrypts signing keys or other secrets with a KMS key. The name of the
// secret is in the encryption context, so KMS refuses to decrypt it under another name.
// kind is "kid", "webhook" or "answer". A policy grants the right to open each kind
// separately.
type kmsSealer struct {
	client    *kms.Client
	key, kind string
}

// newKMS returns a kmsSealer for secrets of the kind. key is the id or ARN of the KMS
// key.
func newKMS(ctx context.Context, key, kind string, load Loader) (kmsSealer, error) {
	cfg, err := load(ctx)
	if err != nil {
		return kmsSealer{}, fmt.Errorf("configuration of the AWS SDK: %w", err)
	}
	return kmsSealer{kms.NewFromConfig(cfg), key, kind}, nil
}

// Seal implements signing.Sealer. keyID is the name of the secret (see kmsSealer).
func (s kmsSealer) Seal(ctx context.Context, keyID string, plain []byte) ([]byte, error) {
	out, err := s.client.Encrypt(ctx, &kms.EncryptInput{KeyId: &s.key, Plaintext: plain,
		EncryptionContext: map[string]string{s.kind: keyID}})
	if err != nil {
		return nil, fmt.Errorf("sealing: %w", err)
	}
	return out.CiphertextBlob, nil
}

// Open implements signing.Sealer. keyID is the name under which the secret was sealed.
func (s kmsSealer) Open(ctx context.Context, keyID string, sealed []byte) ([]byte, error) {
	out, err := s.client.Decrypt(ctx, &kms.DecryptInput{KeyId: &s.key, CiphertextBlob: sealed,
		EncryptionContext: map[string]string{s.kind: keyID}})
	if err != nil {
		return nil, fmt.Errorf("opening what is sealed: %w", err)
	}
	return out.Plaintext, nil
}
