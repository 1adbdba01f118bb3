package trip

import (
	"context"

	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// CancelInput names a trip and contains the reason for its cancellation.
type CancelInput struct {
	ID   string `path:"id" doc:"Identifier of the trip." example:"trp_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body *Reason
}

// reason returns the reason in the body, nil for none.
func (in *CancelInput) reason() *string {
	if in.Body == nil {
		return nil
	}
	return in.Body.Reason
}

// cancel cancels a trip for the rider who calls.
func cancel(ctx context.Context, c *api.Caller, in *CancelInput) (*Stopped, error) {
	s, it, err := open(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	return s.Cancel(ctx, it, actor(c), in.reason())
}

// StopInput names a trip that an operator cancels.
type StopInput struct {
	ID   string `path:"id" doc:"Identifier of the trip." example:"trp_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body *struct {
		Reason
		Fee bool `json:"fee,omitempty" doc:"Whether the rider owes the company's cancellation fee, such as a rider who did not come. A 409 if no fee can be owed. Without it the rider owes nothing."`
	}
}

// stop cancels a trip for the operator who calls.
func stop(ctx context.Context, c *api.Caller, in *StopInput) (*Stopped, error) {
	s, it, err := open(ctx, c, in.ID)
	switch {
	case err != nil:
		return nil, err
	case in.Body == nil:
		return s.Cancel(ctx, it, actor(c), nil)
	}
	return s.CancelFor(ctx, it, actor(c), in.Body.Reason.Reason, in.Body.Fee)
}

// actor returns the caller as the actor of a change.
func actor(c *api.Caller) LogActor { return LogActor{string(c.Audience), c.Actor.Subject} }

// act returns the handler of a transition that needs only the trip and the actor. move
// makes the transition.
func act[T any](move func(Store, context.Context, table.Item, LogActor) (*T, error)) func(context.Context, *api.Caller,
	*GetInput) (*T, error) {
	return func(ctx context.Context, c *api.Caller, in *GetInput) (*T, error) {
		s, it, err := open(ctx, c, in.ID)
		if err != nil {
			return nil, err
		}
		return move(s, ctx, it, actor(c))
	}
}

// accept calls Accept. It has the parameters that the function act needs.
func (s Store) accept(ctx context.Context, it table.Item, driver LogActor) (*Accepted, error) {
	return s.Accept(ctx, it, driver.ID)
}

// CompleteInput names a trip and contains the measurements.
type CompleteInput struct {
	ID   string `path:"id" doc:"Identifier of the trip." example:"trp_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body *Measurements
}

// complete ends a ride. It checks the driver before the values of the body. So for
// another driver's trip a body that satisfies the schema gets a 404, even if its fare is
// not valid. It needs the trip to validate the body, because the decimals of the fare
// depend on the trip's currency. Store.Complete checks the status afterwards.
func complete(ctx context.Context, c *api.Caller, in *CompleteInput) (*Finished, error) {
	s, it, err := open(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	t, err := FromItem(it)
	if err != nil {
		return nil, err
	}
	if t.anothers(actor(c)) {
		return nil, fault.NotFound()
	}
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	var m Measured
	if in.Body != nil {
		if m, err = in.Body.Measured(t.Currency, state.Flags.Amount("maxFare")); err != nil {
			return nil, err
		}
	}
	return s.Complete(ctx, it, actor(c), m)
}

// open returns the store and the trip's item, for the handler of a transition. id is the
// trip's id. Errors: a 404.
func open(ctx context.Context, c *api.Caller, id string) (Store, table.Item, error) {
	it, err := item(ctx, c, id)
	if err != nil {
		return Store{}, table.Item{}, err
	}
	s, err := storeOf(ctx, c)
	return s, it, err
}
