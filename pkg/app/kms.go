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

// kmsSealer encrypts signing keys with a KMS key. The encryption context is the
// signing key's id, so KMS rejects a sealed key that is stored under another
// id.
type kmsSealer struct {
	client *kms.Client
	key    string
}

func newKMS(ctx context.Context, key string, load Loader) (kmsSealer, error) {
	cfg, err := load(ctx)
	if err != nil {
		return kmsSealer{}, fmt.Errorf("configuration of the AWS SDK: %w", err)
	}
	return kmsSealer{kms.NewFromConfig(cfg), key}, nil
}

// Seal implements signing.Sealer.
func (s kmsSealer) Seal(ctx context.Context, keyID string, plain []byte) ([]byte, error) {
	out, err := s.client.Encrypt(ctx, &kms.EncryptInput{KeyId: &s.key, Plaintext: plain,
		EncryptionContext: map[string]string{"kid": keyID}})
	if err != nil {
		return nil, fmt.Errorf("sealing a signing key: %w", err)
	}
	return out.CiphertextBlob, nil
}

// Open implements signing.Sealer.
func (s kmsSealer) Open(ctx context.Context, keyID string, sealed []byte) ([]byte, error) {
	out, err := s.client.Decrypt(ctx, &kms.DecryptInput{KeyId: &s.key, CiphertextBlob: sealed,
		EncryptionContext: map[string]string{"kid": keyID}})
	if err != nil {
		return nil, fmt.Errorf("opening a signing key: %w", err)
	}
	return out.Plaintext, nil
}
