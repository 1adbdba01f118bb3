//go:build localstack

package app_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"svc/internal/test/testkit"
	"svc/pkg/access/signing"
	"svc/pkg/app"
	"svc/pkg/base/config"
)

// TestKMSSealsSigningKeys runs against a real KMS, the one at AWS_ENDPOINT_URL:
// `make localstack` runs it with the LocalStack that it starts. It is built
// with the tag localstack only, so that no other run includes it.
func TestKMSSealsSigningKeys(t *testing.T) {
	endpoint := os.Getenv("AWS_ENDPOINT_URL")
	if endpoint == "" {
		t.Fatal("AWS_ENDPOINT_URL is not set: run make localstack")
	}
	ctx := context.Background()
	cfg := aws.Config{Region: "us-east-1", BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")}
	client := kms.NewFromConfig(cfg)
	sealer := func() (id string, s signing.Sealer) {
		t.Helper()
		made, err := client.CreateKey(ctx, &kms.CreateKeyInput{})
		testkit.Must(t, err)
		id = *made.KeyMetadata.KeyId
		s, err = app.Sealer(ctx, config.Config{KeyID: id}, func(context.Context) (aws.Config, error) { return cfg, nil })
		testkit.Must(t, err)
		return id, s
	}
	id, s := sealer()
	_, other := sealer()
	plain := []byte("the private half of a signing key")
	sealed, err := s.Seal(ctx, "kid-1", plain)
	testkit.Must(t, err)
	if bytes.Contains(sealed, plain) {
		t.Fatal("what is sealed can be read")
	}
	opened, err := s.Open(ctx, "kid-1", sealed)
	testkit.Must(t, err)
	if !bytes.Equal(opened, plain) {
		t.Fatalf("opened: %q", opened)
	}
	refused := func(name, want string, s signing.Sealer, kid string, sealed []byte) {
		t.Helper()
		opened, err := s.Open(ctx, kid, sealed)
		if err == nil || !strings.Contains(err.Error(), "opening what is sealed") || !strings.Contains(err.Error(), want) ||
			len(opened) > 0 {
			t.Errorf("%s: %q, %v", name, opened, err)
		}
	}
	refused("in another key's place", "InvalidCiphertextException", s, "kid-2", sealed)
	refused("by another KMS key", "IncorrectKeyException", other, "kid-1", sealed)
	refused("changed", "InvalidCiphertextException", s, "kid-1", append(bytes.Clone(sealed[:len(sealed)-1]),
		sealed[len(sealed)-1]^1))

	_, err = client.DisableKey(ctx, &kms.DisableKeyInput{KeyId: &id})
	testkit.Must(t, err)
	refused("by a disabled KMS key", "DisabledException", s, "kid-1", sealed)
	if _, err := s.Seal(ctx, "kid-3", plain); err == nil || !strings.Contains(err.Error(), "sealing: ") ||
		!strings.Contains(err.Error(), "DisabledException") {
		t.Errorf("sealing by a disabled KMS key: %v", err)
	}
	_, err = client.EnableKey(ctx, &kms.EnableKeyInput{KeyId: &id})
	testkit.Must(t, err)
	opened, err = s.Open(ctx, "kid-1", sealed)
	testkit.Must(t, err)
	if !bytes.Equal(opened, plain) {
		t.Errorf("opened after it was enabled again: %q", opened)
	}
}
