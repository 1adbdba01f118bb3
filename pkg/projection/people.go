package projection

import (
	"context"
	"errors"
	"slices"
	"strings"

	"svc/pkg/table"
	"svc/pkg/wallet"
)

// rename carries another name of a driver or customer over to the wallet,
// which is listed with it. Where there is no wallet yet, it will be made with
// the name.
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
	tx.Update(wallet.Key(*t, side, id), table.Change{Set: map[string]any{"name": p.next.Name}, Add: map[string]any{"version": 1}}).
		If("attribute_exists(pk) AND 'name' <> ?", p.next.Name)
	if err := tx.Commit(ctx); err != nil && !errors.Is(err, table.ErrCondition) {
		return err
	}
	return nil
}

// idOf gives the id that a driver's or customer's key ends in.
func idOf(key table.Key) string { return key.PK[strings.LastIndexByte(key.PK, '#')+1:] }

// commitRows writes what changed of a customer whose suffix rows change. When
// all fits into one transaction, it is one. Otherwise COUNTED says first that
// the rows are pending, and at last that they are there; in between every
// transaction holds only while COUNTED is as it was written, so that a step
// left behind writes nothing any more. A step that ends in between is taken up
// by the next.
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
	if len(rows)+len(p.difference) < room {
		tx := t.Write()
		done.put(tx, p.stored)
		for _, row := range rows {
			tx.Put(row)
		}
		p.difference.Write(tx, t, shard)
		return conflicting(tx.Commit(ctx))
	}
	version := p.stored.Version
	if !same(p.was, p.next) { // else it is pending already, and counted
		tx := t.Write()
		p.next.put(tx, p.stored)
		p.difference.Write(tx, t, shard)
		if err := conflicting(tx.Commit(ctx)); err != nil {
			return err
		}
		version++
	}
	for chunk := range slices.Chunk(rows, room) {
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
	it := table.Item{Key: CountedKey(p.key), Type: "counted", Version: version, Doc: done}
	tx.Replace(it).Else(table.ErrConflict)
	return conflicting(tx.Commit(ctx))
}
