package feedback

import (
	"context"
	"errors"
	"fmt"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
)

// ChangeStatus sets the status of the post, named by id or slug, and adds an
// audit entry to the log of the author's tenant, unless that tenant is deleted or is
// being deleted. If the post has that status already, nothing changes. Lists change
// after the projection has processed the post. Errors: a 404 if there is no such post,
// a 400 for an unknown status.
func ChangeStatus(ctx context.Context, db *table.DB, by audit.By, name, status string) (Post, error) {
	to, err := Parse(status)
	if err != nil {
		return Post{}, err
	}
	s := Store{Platform: db.Platform(Kinds...), Now: by.At}
	id, err := s.resolve(ctx, name, s.Platform.Get)
	if err != nil {
		return Post{}, err
	}
	var p Post
	err = table.Retry(ctx, func(ctx context.Context) error {
		it, err := s.Platform.Get(ctx, Key(id))
		if err != nil {
			return err
		}
		if p, err = found(it); err != nil || p.Status == to {
			return err
		}
		was := p
		p.Status, p.UpdatedAt = to, timestamp.Format(by.At)
		t := db.Tenant(p.Tenant)
		tx := table.Join(s.Platform.Handle, t.Handle).Write()
		if err := s.moveText(ctx, tx, was, &p); err != nil {
			return err
		}
		audit.Put(tx, it, p.Item())
		if err := addToLog(ctx, tx, t, by, "feedback.status", p.ID, map[string]any{"status": was.Status},
			map[string]any{"status": to}); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
	if err != nil {
		return Post{}, fmt.Errorf("status of a post: %w", err)
	}
	return p, nil
}

// addToLog adds an audit entry about a post to the log of t, the tenant of the post's
// author, unless the tenant is deleted or is being deleted. what names the change, post is
// the post's id, and before and after are what the entry shows of the post.
func addToLog(ctx context.Context, tx *table.Tx, t table.Tenant, by audit.By, what, post string,
	before, after any) error {
	flags, err := tenant.Flags(ctx, t)
	if err != nil || tenant.Gone(flags) {
		return err
	}
	audit.Append(tx, t, by, what, post, before, after)
	return nil
}

// moveText moves the post's search row (textPartition), in the transaction, if the new
// status requires another partition. was is the post before the change. The row gets a new
// range key, because each process reads only rows that come after the rows that it has in
// memory (texts).
func (s Store) moveText(ctx context.Context, tx *table.Tx, was Post, now *Post) error {
	if was.textKey().PK == textPartition(now.Status) {
		return nil
	}
	body, err := s.Platform.Get(ctx, bodyKey(was.ID))
	if err != nil {
		return err
	}
	texts, err := table.DecodeDoc[Texts](body)
	if err != nil {
		return err
	}
	now.TextAt = ids.New(ids.Post, s.Now)
	tx.Delete(was.textKey())
	tx.Put(textItem(*now, texts))
	return nil
}

// Delete removes the post, named by id or slug, with its texts, comments and
// votes, and adds an audit entry to the log of the author's tenant, unless that tenant
// is deleted or is being deleted. Lists change after the projection has processed the
// deletion. If Delete is interrupted, call it again with the post's id, because the slug
// may be gone. The second call removes what is left. Errors: a 404 if there is no such
// post, also if an interrupted call has removed the post itself.
func Delete(ctx context.Context, db *table.DB, by audit.By, name string) (Post, error) {
	s := Store{Platform: db.Platform(Kinds...), Now: by.At}
	id, err := s.resolve(ctx, name, s.Platform.Get)
	if err != nil {
		return Post{}, err
	}
	var p Post
	err = table.Retry(ctx, func(ctx context.Context) error {
		it, err := s.Platform.Get(ctx, Key(id))
		if err != nil {
			return err
		}
		if p, err = found(it); err != nil {
			return err
		}
		t := db.Tenant(p.Tenant)
		tx := table.Join(s.Platform.Handle, t.Handle).Write()
		tx.Delete(it.Key).If("'version' = ?", it.Version).Else(table.ErrConflict)
		for _, key := range []table.Key{bodyKey(id), slugKey(p.Slug), p.textKey()} {
			tx.Delete(key)
		}
		if err := addToLog(ctx, tx, t, by, "feedback.delete", id, map[string]any{"slug": p.Slug, "status": p.Status},
			nil); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
	if err == nil || errors.Is(err, fault.NotFound()) {
		err = errors.Join(err, s.deleteRest(ctx, id))
	}
	if err != nil {
		return Post{}, fmt.Errorf("delete a post: %w", err)
	}
	return p, nil
}

// deleteRest removes the remaining items in the partition of a deleted post: votes,
// comments and quotas. No vote or comment can be added any more, because both require the
// post. The item of type counted stays, because it lists the rank rows that the projection
// must still delete.
func (s Store) deleteRest(ctx context.Context, post string) error {
	const perTransaction = 100
	q := table.Query{Limit: perTransaction, Consistent: true}
	for items, err := range s.Platform.Pages(ctx, Key(post).PK, q) {
		if err != nil {
			return err
		}
		tx := s.Platform.Write()
		for _, it := range items {
			if it.Type != "counted" {
				tx.Delete(it.Key)
			}
		}
		if err := table.Retry(ctx, tx.Commit); err != nil {
			return err
		}
	}
	return nil
}
