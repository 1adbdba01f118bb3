package projection

import (
	"context"
	"errors"
	"slices"
	"strings"

	"svc/pkg/data/table"
	"svc/pkg/domain/wallet"
)

// rename copies a driver's or customer's new name to the wallet, because
// wallet lists show the name. A wallet that does not exist yet gets the name
// when it is created.
func (s Step) rename(ctx context.Context, t *table.Tenant, p piece) error {
	if t == nil || p.was.Type == "" || p.next.Name == "" || p.next.Name == p.was.Name {
		return nil
	}
	side := wallet.Driver
	if p.next.Type == "customer" {
		side = wallet.Customer
	}
	id := idOf(p.key)
	tx := t.Write()
	tx.Update(wallet.Key(*t, side, id), table.Change{Set: map[string]any{"name": p.next.Name},
		Add: map[string]any{"version": 1}}).
		If("attribute_exists(pk) AND 'name' <> ?", p.next.Name)
	if err := tx.Commit(ctx); err != nil && !errors.Is(err, table.ErrCondition) {
		return err
	}
	return nil
}

// idOf returns the id at the end of a driver's or customer's key.
func idOf(key table.Key) string { return key.PK[strings.LastIndexByte(key.PK, '#')+1:] }

// commitRows commits a customer whose suffix rows change. It uses one
// transaction if everything fits. Otherwise the first transaction marks the
// rows as pending in COUNTED, and the last one marks them as complete. Every
// transaction in between requires an unchanged COUNTED, so an outdated step can
// write nothing. If a step is interrupted, the next step for the customer
// completes the work.
func (s Step) commitRows(ctx context.Context, t table.Tenant, p piece, shard int) error {
	if err := s.rename(ctx, &t, p); err != nil {
		return err
	}
	id := idOf(p.key)
	rows := p.next.Rows.Rows(t, id)
	for _, ended := range p.next.Ended {
		rows = append(rows, ended.Rows(t, id)...)
	}
	done := p.next
	done.Ended, done.Pending = nil, false
	if len(rows)+len(p.difference) < maxTxOps {
		tx := t.Write()
		done.put(tx, p.stored)
		for _, row := range rows {
			tx.Put(row)
		}
		p.difference.Write(tx, t, shard)
		return conflicting(tx.Commit(ctx))
	}
	version := p.stored.Version
	if !same(p.was, p.next) { // otherwise the customer is already pending and counted
		tx := t.Write()
		p.next.put(tx, p.stored)
		p.difference.Write(tx, t, shard)
		if err := conflicting(tx.Commit(ctx)); err != nil {
			return err
		}
		version++
	}
	for chunk := range slices.Chunk(rows, maxTxOps) {
		tx := t.Write()
		tx.Check(CountedKey(p.key)).If("'version' = ?", version).Else(table.ErrConflict)
		for _, row := range chunk {
			tx.Put(row)
		}
		if err := conflicting(tx.Commit(ctx)); err != nil {
			return err
		}
	}
	tx := t.Write()
	it := table.Item{Key: CountedKey(p.key), Type: "counted", Version: version, Doc: done, Preserve: p.stored.Unknown()}
	tx.Replace(it).Else(table.ErrConflict)
	return conflicting(tx.Commit(ctx))
}
