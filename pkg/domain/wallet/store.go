package wallet

import (
	"context"

	"svc/pkg/base/money"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// Movement is a posting to an actor's wallet.
type Movement struct {
	Side     Side
	Actor    string
	Name     string // the actor's current name; "" keeps the name in the wallet
	Currency string // of a wallet that Move creates; an existing wallet keeps its own
	Posting  Posting
}

// Move adds a movement to a transaction: the posting, and the new balance on
// the condition that the balance is still as read. was is the wallet's item,
// read with the actor's Key; it is the zero Item if there is no wallet. If
// another transaction has changed the wallet since, the transaction fails with
// table.ErrConflict, and the caller must read again. If the posting exists
// already, the transaction fails with the error posted.
func Move(tx *table.Tx, t table.Tenant, was table.Item, m Movement, writeShards int, posted error) error {
	w := Wallet{Side: m.Side, Actor: m.Actor, Currency: m.Currency, Version: 1}
	if was.Found() {
		var err error
		if w, err = FromItem(was); err != nil {
			return err
		}
	}
	amount, err := money.Parse(m.Posting.Amount)
	if err != nil {
		return err
	}
	w.Balance, w.UpdatedAt = w.Balance.Add(amount), max(w.UpdatedAt, m.Posting.CreatedAt)
	if m.Name != "" {
		w.Name = m.Name
	}
	audit.Put(tx, was, w.Item(t, writeShards))
	tx.Create(PostingItem(t, m.Side, m.Actor, m.Posting)).Else(posted)
	return nil
}

// Shown is the maximum number of postings that a wallet's owner sees
// (specification, "Limits").
const Shown = 20

// Statement reads a wallet as its owner sees it: the balance and the last 20
// postings, newest first. It sends one strongly consistent query of the
// wallet's partition, backward from the end. A wallet that was never used is
// empty.
func Statement(ctx context.Context, t table.Tenant, side Side, actor string) (Mine, error) {
	key := Key(t, side, actor)
	page, err := t.Query(ctx, key.PK, table.Query{Backward: true, Consistent: true, From: "POSTING#", Limit: Shown + 1})
	if err != nil {
		return Mine{}, err
	}
	out := Mine{Balance: "0", Transactions: make([]Posting, 0, len(page.Items))}
	for _, it := range page.Items {
		switch {
		case it.Key == key:
			w, err := FromItem(it)
			if err != nil {
				return Mine{}, err
			}
			out.Balance = money.Number(w.Balance)
		case it.Type == "posting" && len(out.Transactions) < Shown:
			var p Posting
			if err := it.Decode(&p); err != nil {
				return Mine{}, err
			}
			out.Transactions = append(out.Transactions, p)
		}
	}
	return out, nil
}
