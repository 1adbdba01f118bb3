package app

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/background/dispatch"
	"svc/pkg/background/robots"
	"svc/pkg/base/panics"
)

// Queue passes messages about trips to the worker of dispatch, which finds drivers for
// trips. The worker gets them after the delay.
type Queue func(ctx context.Context, delay time.Duration, messages ...dispatch.Message) error

// worker returns the worker that finds drivers for trips (pkg/background/dispatch).
func (p *Runtime) worker() dispatch.Worker {
	return dispatch.Worker{DB: p.DB, Now: p.Now,
		Later: func(ctx context.Context, m dispatch.Message, delay time.Duration) error {
			return p.Send(ctx, delay, m)
		}}
}

// sweepDispatch carries out the due tasks: dispatch steps of trips, and steps of the
// robots of sandboxes (pkg/background/robots).
func (p *Runtime) sweepDispatch(ctx context.Context) error {
	return errors.Join(p.worker().Sweep(ctx), robots.Worker{DB: p.DB, Now: p.Now, Pace: p.Pace, Still: p.NoRobots,
		Advance: p.worker().Advance}.Sweep(ctx))
}

// Send passes messages about trips to the dispatch queue. Without a queue, this process
// makes the dispatch steps. It makes a step without a delay before Send returns: if the
// process ends before that, the stream delivers its batch again. A delayed step also has
// a due task in the table, which stays if the process ends.
func (p *Runtime) Send(ctx context.Context, delay time.Duration, messages ...dispatch.Message) error {
	if p.Queue != nil {
		return p.Queue(ctx, delay, messages...)
	}
	for _, m := range messages {
		if delay > 0 {
			time.AfterFunc(delay, func() {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
				defer cancel()
				_ = p.worker().Step(ctx, m) // after an error the sweep makes the step
			})
		} else if err := p.worker().Handle(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// Dispatching is the Serve of DispatchFunction. It handles the messages of the dispatch
// queue: it makes a step of each trip. The function's schedule sends the event
// {"sweep": true}: then Dispatching makes the steps of due tasks.
func Dispatching(p *Runtime, _ string) (any, error) {
	if err := p.useQueue(); err != nil {
		return nil, err
	}
	return func(ctx context.Context, event struct {
		events.SQSEvent
		Sweep bool `json:"sweep"`
	}) (out events.SQSEventResponse, err error) {
		defer panics.Catch(&err)
		if event.Sweep {
			return out, p.sweepDispatch(ctx)
		}
		for _, r := range event.Records {
			var m dispatch.Message
			err := json.Unmarshal([]byte(r.Body), &m)
			if err == nil {
				err = p.worker().Handle(ctx, m)
			}
			if err != nil {
				p.Logger.ErrorContext(ctx, "dispatch message", "id", r.MessageId, "error", err)
				out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: r.MessageId})
			}
		}
		return out, nil
	}, nil
}

// useQueue sets p.Queue to the SQS queue of dispatch that the environment names. It does
// nothing if the environment names none or Queue is set.
func (p *Runtime) useQueue() error {
	if p.Config.DispatchQueue == "" || p.Queue != nil {
		return nil
	}
	send, err := SQS(context.Background(), p.Config.DispatchQueue, p.aws)
	if err != nil {
		return err
	}
	p.Queue = send
	return nil
}

// SQS returns a Queue that sends to the SQS queue with the URL. load loads the
// configuration of the AWS SDK.
func SQS(ctx context.Context, url string, load Loader) (Queue, error) {
	return sqsQueue(ctx, "dispatch", url, load, func(dispatch.Message) string { return "" })
}
