package app

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/feedback"
	"svc/pkg/projection"
	"svc/pkg/settlement"
)

// StreamHandler takes a batch of the table's stream and says which records
// are to come again.
type StreamHandler func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error)

func (p *Place) settlement() StreamHandler { return settlement.Function{DB: p.DB, Now: p.Now}.Handle }

func (p *Place) projection() StreamHandler {
	return projection.Function{DB: p.DB, Step: projection.Step{Now: p.Now, RankRows: feedback.RankRows}}.Handle
}

// StreamHandlers gives the functions on the table's stream.
func (p *Place) StreamHandlers() map[string]StreamHandler {
	return map[string]StreamHandler{Settlement: p.settlement(), Projection: p.projection()}
}

// StreamFunctions gives them as the stream poller calls them.
func (p *Place) StreamFunctions() map[string]func(context.Context, json.RawMessage) (json.RawMessage, error) {
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
