package wallet

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// Movement is a change of one wallet: new postings, and a change of the amount that is
// reserved for withdrawals.
type Movement struct {
	Side     Side
	Actor    string // id of the driver or customer
	Name     string // the actor's current name; "" keeps the name in the wallet
	Currency string // the wallet's currency if Move must create it; an existing wallet keeps its own
	Entries  []Entry
	Hold     decimal.Decimal // is added to Wallet.Held, the amount that withdrawals reserve
	// Allows, if not nil, checks the wallet as it is after the change. Move returns its
	// error.
	Allows func(after Wallet) error
}

// Move adds a movement to a transaction: the postings, and the new balance on
// the condition that the balance is still as read. was is the wallet's item,
// read with the actor's Key; it is the zero Item if there is no wallet. If
// another transaction has changed the wallet since that read, the transaction fails
// with table.ErrConflict, and the caller must read again. If a posting exists
// already, the transaction fails with the error posted.
func Move(tx *table.Tx, t table.Tenant, was table.Item, m Movement, writeShards int, posted error) (Wallet, error) {
	w := Wallet{Side: m.Side, Actor: m.Actor, Currency: m.Currency, Version: 1}
	if was.Found() {
		var err error
		if w, err = FromItem(was); err != nil {
			return w, err
		}
	}
	for _, e := range m.Entries {
		w.Balance, w.UpdatedAt = w.Balance.Add(e.Amount.Decimal()), max(w.UpdatedAt, e.CreatedAt)
	}
	if w.Held = w.Held.Add(m.Hold); m.Name != "" {
		w.Name = m.Name
	}
	if m.Allows != nil {
		if err := m.Allows(w); err != nil {
			return w, err
		}
	}
	audit.Put(tx, was, w.Item(t, writeShards))
	m.create(tx, t, posted)
	return w, nil
}

// Shift adds a movement to the transaction without reading the wallet. This saves a round
// trip if the checks of the request did not read it. If there is no wallet, or its
// balance is less than least, the transaction fails with the error unfit. If a posting
// exists already, it fails with the error posted. The wallet keeps its name. Its place in
// the list by balance changes later, when the projection has seen the change.
func Shift(tx *table.Tx, t table.Tenant, m Movement, least decimal.Decimal, posted, unfit error) {
	sum, at := decimal.Zero, ""
	for _, e := range m.Entries {
		sum, at = sum.Add(e.Amount.Decimal()), max(at, e.CreatedAt)
	}
	op := tx.Update(Key(t, m.Side, m.Actor), table.Change{Set: map[string]any{"updatedAt": at},
		Add: map[string]any{"balance": money.Of(sum), "held": money.Of(m.Hold), "version": 1}}).
		If("attribute_exists(pk)").Else(unfit)
	if !least.IsZero() {
		op.If("'balance' >= ?", money.Of(least))
	}
	m.create(tx, t, posted)
}

// Holds makes the transaction fail with the error poor unless the wallet's balance is at
// least the amount least or, if above is true, more than least. A missing wallet has the
// balance 0.
func Holds(tx *table.Tx, t table.Tenant, side Side, actor string, least decimal.Decimal, above bool, poor error) {
	how := "'balance' >= ?"
	if above {
		how = "'balance' > ?"
	}
	if least.IsNegative() || least.IsZero() && !above {
		how += " OR attribute_not_exists('balance')"
	}
	tx.Check(Key(t, side, actor)).If(how, money.Of(least)).Else(poor)
}

// create adds the postings of a movement to a transaction. If a posting exists already, the
// transaction fails with the error posted.
func (m Movement) create(tx *table.Tx, t table.Tenant, posted error) {
	for _, e := range m.Entries {
		tx.Create(PostingItem(t, m.Side, m.Actor, e)).Else(posted)
	}
}

// Postings is the query of a wallet's partition for its postings, newest first.
var Postings = table.Query{Backward: true, Consistent: true, From: postingPrefix, To: "POSTING$"}

// postingPrefix is the prefix of the sort keys of postings.
const postingPrefix = "POSTING#"

// PostedAt returns a lower bound of the sort keys of the postings at the time t or later.
// It is above the keys of all earlier postings.
func PostedAt(t time.Time) string {
	if t.Year() > 9999 {
		return Postings.To // sorts after every posting
	}
	return postingPrefix + timestamp.Format(t)
}

// Floor returns, from a copy of the tenant's flags, the lowest balance to which a ride or a
// posting may bring a rider's wallet. ok is false if the tenant has no such limit.
func Floor(flags table.Item) (floor decimal.Decimal, ok bool) {
	least := flags.Amount("walletFloor")
	return least.Decimal(), least != ""
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
	page, err := t.Query(ctx, key.PK, table.Query{Backward: true, Consistent: true, From: postingPrefix, Limit: Shown + 1})
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
			out.Balance = money.Of(w.Balance)
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
