package dispatch

import (
	"context"
	"slices"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/trip"
)

// Message names a trip that needs a step. Trip may also be pending or pendingAgain, for
// all waiting trips of the tenant, or offline followed by a driver's id.
type Message struct {
	Tenant string `json:"tenant"`
	Trip   string `json:"trip"`
}

// Feed reads the table's stream and tells the worker which trips have changed.
type Feed struct {
	DB *table.DB
	// Send passes messages on. After an error the stream delivers the batch again.
	Send func(context.Context, []Message) error
}

// steps are the statuses in which a trip may need a step of the worker.
var steps = []trip.Status{trip.Pending, trip.Searching, trip.CollectingOffers, trip.Scheduled, trip.Assigned,
	trip.Cancelled}

// atOnce is the number of changes whose messages are sent together. After an error, each
// change is tried alone.
const atOnce = 10

// Process sends a message for each trip of the batch that is dispatched or
// scheduled, and for each driver who goes offline. It returns the changes that failed.
func (f Feed) Process(ctx context.Context, batch events.DynamoDBEvent) []stream.Failure {
	var changes []stream.Change
	for _, c := range stream.Changes(batch) {
		if _, ok := f.message(c); ok {
			changes = append(changes, c)
		}
	}
	groups := slices.Collect(slices.Chunk(changes, atOnce))
	return stream.Each(ctx, groups, len(groups), func(ctx context.Context, some []stream.Change) error {
		messages := make([]Message, len(some))
		for i, c := range some {
			messages[i], _ = f.message(c)
		}
		return f.Send(ctx, messages)
	})
}

// message returns the message about a change; ok is false if none is needed.
func (f Feed) message(c stream.Change) (m Message, ok bool) {
	it := c.New
	if !it.Found() {
		it = c.Old
	}
	if it.Type == "settings" && switchedOn(c) {
		owner, owned := stream.TenantOf(f.DB, c.Key)
		return Message{owner.ID(), pending}, owned
	}
	if it.Type == "driver" && wentOffline(c) {
		owner, owned := stream.TenantOf(f.DB, c.Key)
		r, err := driver.FromItem(c.New)
		return Message{owner.ID(), offline + r.ID}, owned && err == nil
	}
	status := trip.Status(it.Text("status"))
	if it.Type != "trip" || !slices.Contains(steps, status) || (!it.Flag("dispatched") && status != trip.Scheduled) {
		return m, false
	}
	t, err := trip.FromItem(it)
	owner, owned := stream.TenantOf(f.DB, c.Key)
	return Message{owner.ID(), t.ID}, owned && err == nil
}
