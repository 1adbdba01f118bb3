package projection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/counter"
	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
)

// Step updates derived data (counters, ratings, names, rows) to the current state of the
// items.
type Step struct {
	Now func() time.Time
	// RankRows returns the rank rows of a feedback post; nil means none.
	RankRows func(post table.Item) []table.Item

	heeds bool // return errHeld while a check holds the counters (hold.go)
}

// rankRows calls RankRows, if it is set.
func (s Step) rankRows(post table.Item) []table.Item {
	if s.RankRows == nil {
		return nil
	}
	return s.RankRows(post)
}

// maxTxOps is the maximum number of operations of a transaction for several items.
// It is below DynamoDB's limit of 100, because commitRows does not count the
// COUNTED item and the wallet.
const maxTxOps = 90

// Tenant updates what is derived from the given items of a tenant. It takes at
// most 90 keys, ideally of items that share counters. It returns the keys of
// the items whose derived data it updated, also with an error.
func (s Step) Tenant(ctx context.Context, t table.Tenant, keys []table.Key) ([]table.Key, error) {
	return s.run(ctx, t.Handle, &t, keys)
}

// Platform updates what is derived from feedback posts, as Tenant does for a
// tenant's items. p must be a handle for the kinds POST and POSTS.
func (s Step) Platform(ctx context.Context, p table.Platform, keys []table.Key) ([]table.Key, error) {
	return s.run(ctx, p.Handle, nil, keys)
}

// run implements Tenant and Platform; t is nil for Platform.
func (s Step) run(ctx context.Context, h table.Handle, t *table.Tenant, keys []table.Key) (changed []table.Key,
	err error) {
	err = table.Retry(ctx, func(ctx context.Context) error {
		pieces, shard, err := s.read(ctx, h, t, keys)
		if err != nil {
			return err
		}
		var left []table.Key
		for _, p := range pieces {
			left = append(left, p.key)
		}
		for len(pieces) > 0 {
			n, err := s.commit(ctx, h, t, pieces, shard)
			if err != nil {
				keys = left // a retry repeats only what is not committed
				return err
			}
			for _, p := range pieces[:n] {
				changed = append(changed, p.key)
			}
			pieces, left = pieces[n:], left[n:]
		}
		return nil
	})
	if err != nil {
		return changed, fmt.Errorf("projection: %w", err)
	}
	return changed, nil
}

// piece is an item, what was counted of it, and what must be counted of it now.
type piece struct {
	key        table.Key
	item       table.Item // current item
	stored     table.Item // COUNTED as read
	was, next  Counted
	difference counter.Changes
	wallet     table.Item  // of a driver or customer with a new name; not Found if there is none
	rated      []table.Key // the records of those whose ratings the trip changes
}

// ops returns the largest number of operations that the piece adds to a transaction.
func (p piece) ops() int {
	n := 1 + len(p.difference) + len(p.next.Ranks) + len(p.was.Ranks) + len(p.rated)
	if p.wallet.Found() || p.displaced() {
		n++
	}
	return n
}

// read returns a piece for each item that changed since it was counted or whose rows are
// pending, and picks a shard of the counters. It reads the COUNTED items first, then the
// items, and then the wallets of people with a new name. For a tenant that is deleted or
// being deleted, it returns no piece.
func (s Step) read(ctx context.Context, h table.Handle, t *table.Tenant, keys []table.Key) ([]piece, int, error) {
	first := make([]table.Key, len(keys), len(keys)+1)
	for i, key := range keys {
		first[i] = CountedKey(key)
	}
	if t != nil {
		first = append(first, authz.FlagsKey(*t, rand.IntN(authz.Copies))) //nolint:gosec // any copy will do
	}
	counted, err := h.Batch(ctx, first...)
	if err != nil {
		return nil, 0, err
	}
	shard := 0
	if t != nil {
		if tenant.Gone(counted[len(keys)]) {
			return nil, 0, nil
		}
		if s.heeds && held(counted[len(keys)], s.Now()) {
			return nil, 0, errHeld
		}
		shard = rand.IntN(counter.Shards(int(counted[len(keys)].Int("writeShards")))) //nolint:gosec // any shard will do
	}
	items, err := h.Batch(ctx, keys...)
	if err != nil {
		return nil, 0, err
	}
	var out []piece
	now := timestamp.Format(s.Now())
	for i, key := range keys {
		p := piece{key: key, item: items[i], stored: counted[i]}
		if err := s.compare(&p, now); err != nil {
			return nil, 0, stream.BadData(fmt.Errorf("%s %s: %w", key.PK, key.SK, err))
		}
		if !same(p.was, p.next) || p.was.Pending || p.displaced() {
			out = append(out, p)
		}
	}
	if err := readRated(ctx, t, out); err != nil {
		return nil, 0, err
	}
	return out, shard, readWallets(ctx, t, out)
}

// compare sets in p what was counted of the item, what must be counted of it now, and the
// difference.
func (s Step) compare(p *piece, now string) (err error) {
	if p.was, err = countedOf(p.stored); err != nil {
		return err
	}
	if p.next, err = s.count(p.item, p.was, now); err != nil {
		return err
	}
	p.difference, err = difference(p.was, p.next)
	return err
}

// same reports whether two Counted are equal.
func same(a, b Counted) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// difference returns what must be added to the counters after was has been counted, so
// that next is counted.
func difference(was, next Counted) (counter.Changes, error) {
	out, err := next.counterAdditions()
	if err != nil {
		return nil, err
	}
	old, err := was.counterAdditions()
	if err != nil {
		return nil, err
	}
	out.AddAll(old, -1)
	return out, nil
}

// commit writes as many of the first pieces as fit into a transaction, and
// returns their number. A customer whose rows change gets its own transaction, and so
// does a displaced wallet, because another piece may rename it.
func (s Step) commit(ctx context.Context, h table.Handle, t *table.Tenant, pieces []piece, shard int) (int, error) {
	if pieces[0].next.Pending {
		return 1, s.commitRows(ctx, *t, pieces[0], shard)
	}
	tx, all, stars, n := h.Write(), counter.Changes{}, ratings{}, 0
	for _, p := range pieces {
		if p.next.Pending || n > 0 && (p.displaced() || tx.Len()+len(all)+len(stars)+p.ops() > maxTxOps) {
			break
		}
		p.next.put(tx, p.stored)
		p.rename(tx)
		p.replace(tx)
		s.rerank(tx, p)
		all.AddAll(p.difference, 1)
		if t != nil {
			stars.addPiece(*t, p)
		}
		if n++; p.displaced() {
			break
		}
	}
	stars.write(tx)
	if t != nil {
		all.Write(tx, *t, shard)
	}
	return n, conflicting(tx.Commit(ctx))
}

// conflicting turns a failed condition into a conflict: another step counted
// the item in between, so the caller must read again.
func conflicting(err error) error {
	if errors.Is(err, table.ErrCondition) {
		return table.ErrConflict
	}
	return err
}

// rerank writes a post's new rank rows and deletes the outdated ones. Rows that
// were written before stay, unless their content has changed since.
func (s Step) rerank(tx *table.Tx, p piece) {
	has := map[table.Key]bool{}
	if p.next.Type == "post" {
		for _, row := range s.rankRows(p.item) {
			has[row.Key] = true
			if p.was.Rank != p.next.Rank || !slices.Contains(p.was.Ranks, row.Key) {
				tx.Put(row)
			}
		}
	}
	for _, key := range p.was.Ranks {
		if !has[key] {
			tx.Delete(key)
		}
	}
}
