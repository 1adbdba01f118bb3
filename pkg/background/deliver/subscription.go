package deliver

import (
	"context"
	"errors"
	"slices"

	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/domain/webhook"
)

// errEnded means that an endpoint gets nothing any more: it was removed or disabled, or
// it is the subscription of an agent whose access has ended.
var errEnded = errors.New("the endpoint has ended")

// stands returns errEnded if the endpoint may get no message now. That is so if the
// endpoint has changed since it was read as was, or if it is a subscription whose agent's
// access has ended. stands removes such a subscription. A database error is returned as a
// tableError.
func (w Worker) stands(ctx context.Context, t table.Tenant, was *webhook.Record) error {
	p, keys := w.DB.Platform("CLIENT"), []table.Key{was.From()}
	if was.Subscription != nil {
		keys = append(keys, was.Subscription.Keys(t, p)...)
	}
	items, err := table.Join(t.Handle, p.Handle).Batch(ctx, keys...)
	if err != nil {
		return tableError{err}
	}
	book, err := webhook.Kind.FromItem(items[0])
	if err != nil {
		return tableError{err}
	}
	now := book.Find(was.ID)
	switch {
	case now == nil || now.Status != was.Status || now.URL != was.URL || now.Challenges != was.Challenges:
		return errEnded
	case was.Subscription == nil:
		return nil
	}
	var ended *fault.Error
	switch err := was.Subscription.Stands(items[1:], w.Now()); {
	case err == nil:
		return nil
	case !errors.As(err, &ended):
		return tableError{err}
	}
	if err := remove(ctx, t, was); err != nil {
		return tableError{err}
	}
	return errEnded
}

// unlessEnded returns nil for errEnded, which leaves nothing more to do, and any other
// error unchanged.
func unlessEnded(err error) error {
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// remove removes the subscription ended, unless its agent has renewed it meanwhile.
func remove(ctx context.Context, t table.Tenant, ended *webhook.Record) error {
	return edit(ctx, t, ended.Subscription.Person(), func(book *webhook.Book, _ *table.Tx) bool {
		r := book.Find(ended.ID)
		if r == nil || r.Subscription == nil || r.Subscription.RefreshBefore != ended.Subscription.RefreshBefore {
			return false
		}
		book.Endpoints = slices.DeleteFunc(book.Endpoints, func(e webhook.Record) bool { return e.ID == ended.ID })
		return true
	})
}
