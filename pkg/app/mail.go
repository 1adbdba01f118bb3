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

// mailTimeout is the longest time that sending one mail may take.
const mailTimeout = 10 * time.Second

// SES returns a mailer that sends by Amazon SES (API version 2, SendEmail), from an
// address that SES has verified. set is the configuration set that reports bounces, ""
// for none. The mailer signs the request itself, because the SDK's SES client would
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

// sesMessage returns the body of a SendEmail request to SES, without the JSON encoding.
// set may be "".
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

// mails returns the mailer that the service uses, nil if this process cannot send mail.
// It sends nothing to a blocked address: one that bounced, or whose owner complained.
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

// mailPerson sends a mail about a webhook of the tenant to the operator with the id. A
// limit bounds how many such mails a tenant causes in an hour.
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

// blockMail blocks mail to the addresses in a report of SES about bounces and complaints.
func (p *Runtime) blockMail(ctx context.Context, report events.SNSEntity) error {
	n, err := mail.NewStops(p.DB, p.Now).Refused(ctx, report.Message)
	if errors.Is(err, mail.ErrReport) { // a repeated message could not be read either
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
