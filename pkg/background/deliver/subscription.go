package deliver

import (
	"context"
	"errors"
	"slices"

	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/domain/webhook"
)

// stands reports whether an endpoint may get a message now. It may not if it is the
// subscription of an agent whose access has ended; then stands removes it. It is
// called directly before each message.
func (w Worker) stands(ctx context.Context, t table.Tenant, r *webhook.Record) (bool, error) {
	if r.Subscription == nil {
		return true, nil
	}
	p := w.DB.Platform("CLIENT")
	items, err := table.Join(t.Handle, p.Handle).Batch(ctx, r.Subscription.Keys(t, p)...)
	if err != nil {
		return false, err
	}
	var ended *fault.Error
	switch err := r.Subscription.Stands(items, w.Now()); {
	case err == nil:
		return true, nil
	case !errors.As(err, &ended):
		return false, err
	}
	return false, remove(ctx, t, r)
}

// remove removes a subscription, unless the agent has renewed it meanwhile.
func remove(ctx context.Context, t table.Tenant, ended *webhook.Record) error {
	return edit(ctx, t, func(book *webhook.Book, _ *table.Tx) bool {
		r := book.Find(ended.ID)
		if r == nil || r.Subscription == nil || r.Subscription.RefreshBefore != ended.Subscription.RefreshBefore {
			return false
		}
		book.Endpoints = slices.DeleteFunc(book.Endpoints, func(e webhook.Record) bool { return e.ID == ended.ID })
		return true
	})
}
