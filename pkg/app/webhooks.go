package app

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/access/signing"
	"svc/pkg/background/deliver"
	"svc/pkg/base/panics"
	"svc/pkg/data/table"
	"svc/pkg/domain/webhook"
)

// WebhookQueue passes messages to the sender of webhooks, after a delay.
type WebhookQueue func(ctx context.Context, delay time.Duration, messages ...webhook.Message) error

// secrets returns the sealer of webhook secrets.
func (p *Runtime) secrets() signing.Sealer {
	if p.Secrets != nil {
		return p.Secrets
	}
	return p.Sealer
}

// answers returns the sealer that encrypts secrets in stored responses (idempotency
// records).
func (p *Runtime) answers() signing.Sealer {
	if p.Answers != nil {
		return p.Answers
	}
	return p.Sealer
}

// Sender returns the worker that sends webhooks (pkg/background/deliver).
func (p *Runtime) Sender() deliver.Worker {
	w := deliver.Worker{DB: p.DB, Now: p.Now, Secrets: p.secrets(), Client: deliver.Public(), Later: p.SendWebhooks}
	if p.Local || strings.HasPrefix(p.BaseURL, "http://127.0.0.1:") {
		w.Client = deliver.Local()
	}
	if p.Mail != nil {
		w.Mail = p.mailPerson
	}
	return w
}

// SendWebhooks passes messages to the queue. Without a queue, this process sends them
// after SendWebhooks has returned, so an endpoint that hangs does not stop the stream.
// Each message without a delay has a due task until it is handled, so it survives the
// end of the process. For a message with a delay, the caller has stored such a task.
func (p *Runtime) SendWebhooks(ctx context.Context, delay time.Duration, messages ...webhook.Message) error {
	if p.Webhooks != nil {
		return p.Webhooks(ctx, delay, messages...)
	}
	w, at := p.Sender(), p.Now().Add(time.Second) // Add would store a past task under another time
	for some := range slices.Chunk(messages, perTransaction) {
		tx := p.DB.Platform("DUE").Write()
		for _, m := range some {
			if delay == 0 {
				w.Book(m).Add(tx, webhook.TaskOf(m, at))
			}
		}
		if err := table.Retry(ctx, tx.Commit); err != nil {
			return err
		}
	}
	ctx = context.WithoutCancel(ctx)
	for _, m := range messages {
		send := func() {
			localSenders.send(m, func() error {
				err := w.Handle(ctx, m)
				if err != nil {
					slog.WarnContext(ctx, "webhook: sent again by the sweep", "tenant", m.Tenant, "endpoint", m.Endpoint, "error", err)
					return err
				}
				tx := p.DB.Platform("DUE").Write()
				w.Book(m).Remove(tx, webhook.TaskOf(m, at))
				return tx.Commit(ctx) // after an error, the sweep finds that the message was handled
			})
		}
		if delay == 0 {
			send()
		} else {
			time.AfterFunc(delay, send)
		}
	}
	return nil
}

// perTransaction is how many due tasks SendWebhooks stores in one transaction.
const perTransaction = 50

// sweepWebhooks puts the webhook messages of due tasks into the queue. Without a queue,
// this process sends them.
func (p *Runtime) sweepWebhooks(ctx context.Context) error {
	w := p.Sender()
	return w.Sweep(ctx, func(ctx context.Context, m webhook.Message) error {
		if p.Webhooks != nil {
			return p.Webhooks(ctx, 0, m)
		}
		return localSenders.sweep(ctx, m, func() error { return w.Handle(context.WithoutCancel(ctx), m) })
	})
}

// Sealing returns serve with the sealers that encrypt webhook secrets and secrets beside
// stored responses.
func Sealing(serve Serve) Serve {
	return func(p *Runtime, function string) (any, error) {
		err := p.sealWebhooks()
		if err == nil && p.Secrets != nil {
			p.Answers, err = AnswerSealer(context.Background(), p.Config, p.aws)
		}
		if err != nil {
			return nil, err
		}
		return serve(p, function)
	}
}

// sealWebhooks sets p.Secrets, the sealer of webhook secrets, if the environment names a
// key.
func (p *Runtime) sealWebhooks() (err error) {
	if p.Config.KeyID != "" || p.Config.SealingKeyFile != "" {
		p.Secrets, err = WebhookSealer(context.Background(), p.Config, p.aws)
	}
	return err
}

// Delivering is the Serve of DeliverFunction. It handles the messages of the webhook
// queue. The function's schedule sends the event {"sweep": true}: then Delivering puts
// the messages of due tasks into the queue. An SNS topic sends the reports of SES about
// mails.
func Delivering(p *Runtime, _ string) (any, error) {
	if err := p.sealWebhooks(); err != nil {
		return nil, err
	}
	if err := p.useWebhookQueue(); err != nil {
		return nil, err
	}
	if err := p.mailer(); err != nil {
		return nil, err
	}
	return func(ctx context.Context, event struct {
		Records []deliverRecord
		Sweep   bool `json:"sweep"`
	}) (out events.SQSEventResponse, err error) {
		defer panics.Catch(&err)
		if event.Sweep {
			return out, p.sweepWebhooks(ctx)
		}
		for _, r := range event.Records { // SNS sends one record in an event, and sends it again after an error
			if r.SNS != nil {
				return out, p.blockMail(ctx, *r.SNS)
			}
		}
		failed := make([]bool, len(event.Records))
		done := make(chan struct{})
		for i, r := range event.Records {
			go func() {
				failed[i] = p.deliverOne(ctx, r.SQSMessage)
				done <- struct{}{}
			}()
		}
		for range event.Records {
			<-done
		}
		for i, r := range event.Records {
			if failed[i] {
				out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: r.MessageId})
			}
		}
		return out, nil
	}, nil
}

// deliverRecord is a record of an event of DeliverFunction: a message of the SQS queue
// or, if SNS is set, of the SNS topic.
type deliverRecord struct {
	events.SQSMessage
	SNS *events.SNSEntity `json:"Sns"`
}

// mostReceived is how often a message whose handling panics is received before it
// becomes a dead due task (due.Book.GiveUp).
const mostReceived = 10

// deliverOne handles one message. It returns true if the queue must deliver the message
// again.
func (p *Runtime) deliverOne(ctx context.Context, r events.SQSMessage) (failed bool) {
	var m webhook.Message
	if err := json.Unmarshal([]byte(r.Body), &m); err != nil { // a repeated message could not be read either
		p.Logger.ErrorContext(ctx, "webhook message that cannot be read", "id", r.MessageId, "error", err)
		return false
	}
	w := p.Sender()
	err := w.Handle(ctx, m)
	if err == nil {
		return false
	}
	p.Logger.ErrorContext(ctx, "webhook message", "id", r.MessageId, "tenant", m.Tenant, "endpoint", m.Endpoint,
		"error", err)
	received, _ := strconv.Atoi(r.Attributes["ApproximateReceiveCount"])
	if panics.Panicked(err) && received >= mostReceived {
		return w.Book(m).GiveUp(ctx, webhook.TaskOf(m, p.Now())) != nil
	}
	return true
}

// useWebhookQueue sets p.Webhooks to the SQS queue that the environment names, if any.
// Each message has a group: the fair queue of SQS then keeps one tenant's flood from
// delaying the others.
func (p *Runtime) useWebhookQueue() (err error) {
	if url := p.Config.WebhookQueue; url != "" && p.Webhooks == nil {
		p.Webhooks, err = sqsQueue(context.Background(), "webhooks", url, p.aws, webhook.Message.Group)
	}
	return err
}
