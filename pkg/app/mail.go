package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"svc/pkg/oauth"
)

// mailTimeout bounds one mail.
const mailTimeout = 10 * time.Second

// SES returns a mailer that sends by Amazon SES (API version 2, SendEmail),
// from an address that SES has verified. It sends one signed request itself,
// because the SDK's SES client would double the function's code size.
func SES(ctx context.Context, from string, load Loader) (oauth.Mailer, error) {
	cfg, err := load(ctx)
	if err != nil {
		return nil, fmt.Errorf("configuration of the AWS SDK: %w", err)
	}
	endpoint := Endpoint("sesv2", "email", cfg)
	return func(ctx context.Context, to, subject, text string) error {
		body, err := json.Marshal(sesMessage(from, to, subject, text))
		if err != nil {
			return fmt.Errorf("mail: %w", err)
		}
		ctx, cancel := context.WithTimeout(ctx, mailTimeout)
		defer cancel()
		// The response may contain the mail address: do not log its body.
		res, err := AWSCall{Service: "ses", Method: http.MethodPost, URL: endpoint + "/v2/email/outbound-emails",
			Header: map[string]string{"Content-Type": "application/json"}, Body: body}.Do(ctx, cfg)
		if err != nil {
			return fmt.Errorf("mail: %w", err)
		}
		if res.Status != http.StatusOK {
			return fmt.Errorf("mail: SES answers %d %s", res.Status, res.Header.Get("X-Amzn-ErrorType"))
		}
		return nil
	}, nil
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
