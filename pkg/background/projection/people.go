package projection

import (
	"context"
	"slices"
	"strings"

	"svc/pkg/data/table"
	"svc/pkg/domain/wallet"
)

// readWallets reads the wallets of the drivers and customers with a new name,
// because wallet lists show the name. A wallet that does not exist yet gets the
// name when it is created.
func readWallets(ctx context.Context, t *table.Tenant, pieces []piece) error {
	var keys []table.Key
	var at []int
	for i, p := range pieces {
		if t == nil || p.was.Type == "" || p.next.Name == "" || p.next.Name == p.was.Name {
			continue
		}
		keys, at = append(keys, p.walletKey(*t)), append(at, i)
	}
	if len(keys) == 0 {
		return nil
	}
	found, err := t.Batch(ctx, keys...)
	for i, it := range found {
		pieces[at[i]].wallet = it
	}
	return err
}

// walletKey returns the key of the wallet of the piece, which is a driver or customer.
func (p piece) walletKey(t table.Tenant) table.Key {
	side := wallet.Driver
	if p.next.Type == "customer" {
		side = wallet.Customer
	}
	return wallet.Key(t, side, idOf(p.key))
}

// rename copies a new name of a driver or customer to the wallet. The transaction must
// also write COUNTED, so that an outdated step cannot write an old name.
func (p piece) rename(tx *table.Tx) {
	if p.wallet.Found() {
		setName(tx, p.wallet.Key, p.next.Name).If("attribute_exists(pk)")
	}
}

// setName adds the write of a name to a wallet to the transaction.
func setName(tx *table.Tx, wallet table.Key, name string) *table.Op {
	return tx.Update(wallet, table.Change{Set: map[string]any{"name": name}, Add: map[string]any{"version": 1}})
}

// displaced reports whether the piece is a wallet with an outdated position in the list
// by balance. wallet.Shift changes the balance without the position.
func (p piece) displaced() bool { return p.next.Type == "wallet" && p.item.R != wallet.RankOf(p.item) }

// replace moves a displaced wallet to its position in the list by balance. If its balance
// has changed since it was read, the transaction fails.
func (p piece) replace(tx *table.Tx) {
	if p.displaced() {
		tx.Update(p.key, table.Change{Set: map[string]any{"r": wallet.RankOf(p.item)},
			Add: map[string]any{"version": 1}}).If("'balance' = ?", p.item.Number("balance"))
	}
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
		p.rename(tx)
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
		p.rename(tx)
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
