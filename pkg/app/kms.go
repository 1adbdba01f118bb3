package app

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
)

// Loader returns the configuration of the AWS SDK: table.Environment in a
// function, the SDK's own loader in a command.
type Loader func(context.Context) (aws.Config, error)

// kmsSealer encrypts signing keys or the secrets of webhooks with a KMS key. The
// encryption context is the name of what is sealed, so KMS rejects it under another
// name. The kind is "kid" or "webhook": the right to open one kind is none to open
// the other.
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
