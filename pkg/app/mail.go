package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/access/mail"
	"svc/pkg/access/throttle"
	"svc/pkg/base/config"
	"svc/pkg/domain/person"
	"svc/pkg/oauth"
)

// mailTimeout bounds one mail.
const mailTimeout = 10 * time.Second

// SES returns a mailer that sends by Amazon SES (API version 2, SendEmail),
// from an address that SES has verified. The configuration set, unless it is "", reports
// what bounced. SES sends one signed request itself, because the SDK's SES client would
// double the function's code size.
func SES(ctx context.Context, from, set string, load Loader) (oauth.Mailer, error) {
	cfg, err := load(ctx)
	if err != nil {
		return nil, fmt.Errorf("configuration of the AWS SDK: %w", err)
	}
	endpoint := Endpoint("sesv2", "email", cfg)
	return func(ctx context.Context, to, subject, text string) error {
		body, err := json.Marshal(sesMessage(from, set, to, subject, text))
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
func sesMessage(from, set, to, subject, text string) any {
	type content struct{ Data, Charset string }
	type simple struct {
		Subject content
		Body    struct{ Text content }
	}
	var out struct {
		FromEmailAddress     string
		ConfigurationSetName string `json:",omitempty"`
		Destination          struct{ ToAddresses []string }
		Content              struct{ Simple simple }
	}
	out.FromEmailAddress, out.ConfigurationSetName, out.Destination.ToAddresses = from, set, []string{to}
	out.Content.Simple.Subject, out.Content.Simple.Body.Text = content{subject, "UTF-8"}, content{text, "UTF-8"}
	return out
}

// mails returns the mailer of everything that mails, nil if this process cannot mail. It
// sends nothing to an address that refused mail.
func (p *Runtime) mails() oauth.Mailer {
	if p.Mail == nil {
		return nil
	}
	return func(ctx context.Context, to, subject, text string) error {
		stop, err := mail.NewStops(p.DB, p.Now).Find(ctx, to)
		if err != nil {
			return fmt.Errorf("mail: %w", err)
		}
		if stop != nil {
			p.Logger.InfoContext(ctx, "a mail was not sent, because its address is blocked", "reason", stop.Reason)
			return nil
		}
		return p.Mail(ctx, to, subject, text)
	}
}

// mailPerson mails a person of the platform for a company, as often in an hour as the
// limit of mails about webhooks allows.
func (p *Runtime) mailPerson(ctx context.Context, tenant, id, subject, text string) error {
	limits := throttle.New(p.DB, p.Now, nil, p.Logger)
	if err := limits.Count(ctx, throttle.Mail(p.Config.MailLimits, config.MailWebhook, tenant)); err != nil {
		return err
	}
	one, err := person.Store{DB: p.DB}.ByID(ctx, id)
	if err != nil {
		return err
	}
	return p.mails()(ctx, one.Email, subject, text)
}

// blockMail stops mail to the addresses that SES reports.
func (p *Runtime) blockMail(ctx context.Context, report events.SNSEntity) error {
	n, err := mail.NewStops(p.DB, p.Now).Refused(ctx, report.Message)
	if errors.Is(err, mail.ErrReport) { // it would be no better the next time
		p.Logger.WarnContext(ctx, "a message about mails", "id", report.MessageID, "error", err)
		return nil
	}
	if err != nil {
		p.Logger.ErrorContext(ctx, "a report about mails", "id", report.MessageID, "error", err)
		return err
	}
	p.Logger.InfoContext(ctx, "mail to addresses is blocked", "id", report.MessageID, "addresses", n)
	return nil
}
