package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/background/dispatch"
	"svc/pkg/background/erasure"
	"svc/pkg/background/feed"
	"svc/pkg/background/jobs"
	"svc/pkg/background/projection"
	"svc/pkg/background/settlement"
	"svc/pkg/base/panics"
	"svc/pkg/data/stream"
	"svc/pkg/domain/feedback"
)

// StreamHandler processes a batch of the table's stream and returns the
// records to retry.
type StreamHandler func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error)

// settlement returns the function on the stream that settles trips: it writes their
// receipts and postings.
func (p *Runtime) settlement() settlement.Function {
	return settlement.Function{DB: p.DB, Now: p.Now, GiveUp: p.giveUp(Settlement)}
}

// persons returns the runner of privacy requests (to export or erase a person's data) and
// of the tenants' retention, which deletes old data.
func (p *Runtime) persons() erasure.Runner {
	return erasure.Runner{DB: p.DB, Files: p.Files, Now: p.Now}
}

// jobs returns the runner of the open jobs: exports, imports and privacy requests.
func (p *Runtime) jobs() jobs.Runner {
	return jobs.Runner{DB: p.DB, Files: p.Files, Now: p.Now, Phones: p.ReadPhone, Persons: p.persons()}
}

// work runs the due tasks of privacy requests and of the deletion of old data, then the
// open jobs.
func (p *Runtime) work(ctx context.Context) error {
	return errors.Join(guarded(p.persons().Sweep)(ctx), guarded(p.jobs().Run)(ctx))
}

// projection returns the handler of the stream's second reader. It updates counters,
// event feeds, phone numbers, saved addresses, covers of zones (the map cells of each
// zone) and the list of drivers by location. It also tells dispatch which trips have
// changed. If one of these fails on a record, the others still process it.
func (p *Runtime) projection() StreamHandler {
	counts := projection.Function{DB: p.DB, Step: projection.Step{Now: p.Now, RankRows: feedback.RankRows}}
	feeds, giveUp := feed.Function{DB: p.DB, Now: p.Now, Send: p.SendWebhooks}, p.giveUp(Projection)
	phones := projection.Phones{DB: p.DB, Read: p.ReadPhone}
	addresses, zones := projection.Addresses{DB: p.DB, Now: p.Now}, projection.Zones{DB: p.DB}
	places := projection.Places{DB: p.DB, Now: p.Now}
	trips := dispatch.Feed{DB: p.DB, Send: func(ctx context.Context, messages []dispatch.Message) error {
		return p.Send(ctx, 0, messages...)
	}}
	return func(ctx context.Context, batch events.DynamoDBEvent) (out events.DynamoDBEventResponse, err error) {
		defer panics.Catch(&err)
		failed := stream.Process(ctx, batch, counts.Process, feeds.Process, trips.Process, phones.Process,
			addresses.Process, zones.Process, places.Process)
		return stream.Answer(ctx, batch, failed, giveUp), nil
	}
}

// giveUp returns p.GiveUp for the function with the name, nil if p.GiveUp is nil.
func (p *Runtime) giveUp(function string) stream.GiveUp {
	if p.GiveUp == nil {
		return nil
	}
	return func(ctx context.Context, records []events.DynamoDBEventRecord, cause error) error {
		return p.GiveUp(ctx, function, records, cause)
	}
}

// StreamHandlers returns the handlers of the functions on the table's stream, by the
// function's name.
func (p *Runtime) StreamHandlers() map[string]StreamHandler {
	return map[string]StreamHandler{Settlement: p.settlement().Handle, Projection: p.projection()}
}

// sweepTenants settles trips that the stream lost, and then writes the missing covers
// (map cells) of zones (projection.Zones).
func (p *Runtime) sweepTenants(ctx context.Context) error {
	return errors.Join(p.settlement().Sweep(ctx), projection.Zones{DB: p.DB}.Sweep(ctx))
}

// Scheduled returns what each function on a schedule does, by the function's name.
func (p *Runtime) Scheduled() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{Keys: p.Keys().Rotate, Settlement: p.sweepTenants,
		Dispatch: p.sweepDispatch, Jobs: p.work, Deliver: p.sweepWebhooks}
}

// StreamFunctions returns the functions on the table's stream, by name, in the
// form that the stream poller calls: with an event as JSON.
func (p *Runtime) StreamFunctions() map[string]func(context.Context, json.RawMessage) (json.RawMessage, error) {
	out := map[string]func(context.Context, json.RawMessage) (json.RawMessage, error){}
	for name, handle := range p.StreamHandlers() {
		out[name] = func(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
			var event events.DynamoDBEvent
			if err := json.Unmarshal(raw, &event); err != nil {
				return nil, fmt.Errorf("event for %s: %w", name, err)
			}
			answer, err := handle(ctx, event)
			if err != nil {
				return nil, err
			}
			return json.Marshal(answer)
		}
	}
	return out
}
