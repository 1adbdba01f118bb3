package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"svc/pkg/oauth"
)

// SES gives a mailer that sends by Amazon SES (API version 2, SendEmail) from an
// address that SES has verified. It is one signed request: the SDK's client for SES
// would double the function's code.
func SES(ctx context.Context, from string, load Loader) (oauth.Mailer, error) {
	cfg, err := load(ctx)
	if err != nil {
		return nil, fmt.Errorf("configuration of the AWS SDK: %w", err)
	}
	endpoint := "https://email." + cfg.Region + ".amazonaws.com"
	if cfg.BaseEndpoint != nil {
		endpoint = *cfg.BaseEndpoint
	}
	client := &http.Client{Timeout: 10 * time.Second}
	return func(ctx context.Context, to, subject, text string) error {
		body, err := json.Marshal(sesMessage(from, to, subject, text))
		if err != nil {
			return fmt.Errorf("mail: %w", err)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+"/v2/email/outbound-emails", bytes.NewReader(body))
		if err != nil {
			return fmt.Errorf("mail: %w", err)
		}
		req.Header.Set("Content-Type", "application/json")
		if err := sign(ctx, req, cfg, body); err != nil {
			return err
		}
		res, err := client.Do(req) //nolint:gosec // the endpoint is the configuration's, never a request's
		if err != nil {
			return fmt.Errorf("mail: %w", err)
		}
		defer func() { _ = res.Body.Close() }()
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // it may name the address, which is not logged
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("mail: SES answers %d %s", res.StatusCode, res.Header.Get("X-Amzn-ErrorType"))
		}
		return nil
	}, nil
}

func sign(ctx context.Context, req *http.Request, cfg aws.Config, body []byte) error {
	who, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, who, req, hex.EncodeToString(sum[:]), "ses", cfg.Region, time.Now()); err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	return nil
}

// sesMessage is the body of SendEmail.
func sesMessage(from, to, subject, text string) any {
	type content struct{ Data, Charset string }
	type simple struct {
		Subject content
		Body    struct{ Text content }
	}
	var out struct {
		FromEmailAddress string
		Destination      struct{ ToAddresses []string }
		Content          struct{ Simple simple }
	}
	out.FromEmailAddress, out.Destination.ToAddresses = from, []string{to}
	out.Content.Simple.Subject, out.Content.Simple.Body.Text = content{subject, "UTF-8"}, content{text, "UTF-8"}
	return out
}
