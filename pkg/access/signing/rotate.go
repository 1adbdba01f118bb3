package signing

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
)

// Rotate generates at most one key for each algorithm: the first key if there
// is none, or else a waiting key if there is none. It also removes keys whose
// last token has expired. It is safe to run at any time, repeatedly and in
// parallel: one transaction makes the changes for an algorithm. If another
// Rotate changed the keys after they were read, the transaction fails and
// Rotate retries it. Rotate seals private keys and never opens them. It also makes
// the key that authenticates cursors (CursorKey) if there is none.
func (k *Keys) Rotate(ctx context.Context) error {
	for _, alg := range Algorithms {
		if err := k.advance(ctx, alg); err != nil {
			return fmt.Errorf("rotating the %s keys: %w", alg, err)
		}
	}
	return k.refresh(ctx)
}

// advance does the work of Rotate for one algorithm.
func (k *Keys) advance(ctx context.Context, alg string) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		records, control, err := k.records(ctx)
		if err != nil {
			return err
		}
		now := k.options.Now().UTC()
		tx := k.p.Write()
		for _, r := range ended(records, alg, now) {
			tx.Delete(k.key(r.KID))
		}
		if from, due := due(records, alg, now); due {
			if err := k.create(ctx, tx, alg, from, now); err != nil {
				return err
			}
		}
		if tx.Len() == 0 && control.Text(cursors) != "" {
			return nil
		}
		control.Attrs = map[string]any{cursors: cmp.Or(control.Text(cursors), rand.Text())}
		if control.Found() {
			tx.Replace(control).Else(table.ErrConflict)
		} else {
			control.Version = 1
			tx.Create(control).Else(table.ErrConflict)
		}
		return tx.Commit(ctx)
	})
}

// create generates a key that signs from the given time, seals its private half, and adds
// its item to the transaction.
func (k *Keys) create(ctx context.Context, tx *table.Tx, alg string, from, now time.Time) error {
	if k.options.Sealer == nil {
		return errors.New("this process cannot seal signing keys")
	}
	r := record{KID: ids.New("key", now), Alg: alg, PublishedAt: now, SignsFrom: from}
	public, private, err := generate(alg, r.KID)
	if err != nil {
		return err
	}
	if r.Sealed, err = k.options.Sealer.Seal(ctx, r.KID, private); err != nil {
		return fmt.Errorf("sealing a key: %w", err)
	}
	r.Public = public
	tx.Create(k.item(r)).Else(table.ErrConflict)
	return nil
}

// due reports whether a key must be generated at the time now, and returns from
// when it signs. The first key of an algorithm signs at once. Each later key
// signs when the period of its predecessor ends, and never earlier than Lead
// after its publication.
func due(records []record, alg string, now time.Time) (from time.Time, is bool) {
	at := signing(records, alg, now)
	if at < 0 {
		return now, true
	}
	signs := records[at]
	for _, r := range records {
		if r.Alg == alg && r.RevokedAt == nil && r.KID != signs.KID && r.SignsFrom.After(now) {
			return time.Time{}, false // a key is already waiting
		}
	}
	from = signs.SignsFrom.Add(Period)
	if earliest := now.Add(Lead); from.Before(earliest) {
		from = earliest
	}
	return from, true
}

// ended returns the keys of the algorithm whose tokens have all expired: a
// successor has signed for longer than Life and margin. It omits revoked keys,
// because the table's TTL deletes them.
func ended(records []record, alg string, now time.Time) []record {
	var out []record
	at := signing(records, alg, now)
	for i, r := range records {
		if r.Alg != alg || i == at || r.RevokedAt != nil || r.SignsFrom.After(now) {
			continue
		}
		for _, next := range records {
			if next.Alg == alg && next.RevokedAt == nil && next.SignsFrom.After(r.SignsFrom) &&
				now.Sub(next.SignsFrom) > Life+margin {
				out = append(out, r)
				break
			}
		}
	}
	return out
}

// Revoke invalidates every token of a key: at once in this process, and at most
// Reread later in other processes. If the key was the one that signs, its
// predecessor signs from then on if it is still published, else the waiting
// key. If there is neither, the caller must call Rotate. Revoke returns
// fault.NotFound for an unknown kid. Revoking a revoked key changes nothing.
func (k *Keys) Revoke(ctx context.Context, kid string) error {
	err := table.Retry(ctx, func(ctx context.Context) error {
		records, _, err := k.records(ctx)
		if err != nil {
			return err
		}
		for _, r := range records {
			if r.KID != kid {
				continue
			}
			if r.RevokedAt != nil {
				return nil
			}
			now := k.options.Now().UTC()
			r.RevokedAt, r.Sealed = &now, nil
			tx := k.p.Write()
			tx.Replace(k.item(r)).Else(table.ErrConflict)
			return tx.Commit(ctx)
		}
		return fault.NotFound()
	})
	if err != nil {
		return fmt.Errorf("revoking a key: %w", err)
	}
	return k.refresh(ctx)
}

// Key is a signing key as `svc keys list` shows it.
type Key struct {
	KID         string     `json:"kid"`
	Alg         string     `json:"alg"`
	State       string     `json:"state"` // waiting, signing, verifying or revoked
	PublishedAt time.Time  `json:"publishedAt"`
	SignsFrom   time.Time  `json:"signsFrom"`
	RevokedAt   *time.Time `json:"revokedAt"`
}

// List returns all keys, in the order in which they begin to sign. It reads the
// table, not the set in memory.
func (k *Keys) List(ctx context.Context) ([]Key, error) {
	records, _, err := k.records(ctx)
	if err != nil {
		return nil, err
	}
	now, out := k.options.Now(), make([]Key, 0, len(records))
	for i, r := range records {
		state := "verifying"
		switch {
		case r.RevokedAt != nil:
			state = "revoked"
		case signing(records, r.Alg, now) == i:
			state = "signing"
		case r.SignsFrom.After(now):
			state = "waiting"
		}
		out = append(out, Key{r.KID, r.Alg, state, r.PublishedAt, r.SignsFrom, r.RevokedAt})
	}
	return out, nil
}
