package wallet

import (
	"context"
	"errors"
	"strings"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// The states of a withdrawal. Only Asked can change.
const (
	Asked     = "REQUESTED"
	Paid      = "PAID"
	Refused   = "REFUSED"
	Cancelled = "CANCELLED"
)

// Withdrawal is a driver's request to be paid out a part of the balance. While its status
// is Asked, the wallet holds its amount: no other withdrawal or payout can use the amount.
type Withdrawal struct {
	ID          string       `json:"id" doc:"Identifier of the withdrawal."`
	DriverID    string       `json:"driverId" doc:"The driver who asked for it."`
	Amount      money.Amount `json:"amount" doc:"Currency units."`
	Currency    string       `json:"currency" example:"USD" doc:"ISO 4217 code."`
	Status      string       `json:"status" enum:"REQUESTED,PAID,REFUSED,CANCELLED" doc:"REQUESTED until an operator pays or refuses it, or the driver takes it back."`
	RequestedAt string       `json:"requestedAt" format:"date-time" doc:"When the driver asked for it."`
	DecidedAt   *string      `json:"decidedAt" format:"date-time" doc:"When it was paid, refused or taken back."`
	Reason      *string      `json:"reason" doc:"Why it was refused."`
	PostingID   *string      `json:"postingId" doc:"The posting that paid it."`
}

// The numbers of the indexes that contain withdrawals, with their partitions.
const (
	withdrawalsOfTenant = 1 // partition WITHDRAWALS
	withdrawalsByStatus = 2 // partition WITHDRAWALS#status
	withdrawalsOfDriver = 3 // partition DRIVER#id#WITHDRAWALS
)

// WithdrawalKey returns the key of a withdrawal.
func WithdrawalKey(t table.Tenant, id string) table.Key { return t.Key("WITHDRAWAL", id, "WITHDRAWAL") }

// WithdrawalsOf returns the partition of a driver's withdrawals and its index.
func WithdrawalsOf(t table.Tenant, driver string) (partition string, index int) {
	return t.Partition("DRIVER", driver, "WITHDRAWALS"), withdrawalsOfDriver
}

// WithdrawalKind stores withdrawals.
var WithdrawalKind = table.Kind[Withdrawal]{Type: "withdrawal", Personal: "name, an operator's words",
	Erasure: "removes; amounts stay",
	Row: func(t table.Tenant, _ string, w Withdrawal) table.Item {
		own, _ := WithdrawalsOf(t, w.DriverID)
		return table.Item{Key: WithdrawalKey(t, w.ID), Version: 1, R: w.RequestedAt + "#" + w.ID,
			G:     [4]string{t.Partition("WITHDRAWALS"), t.Partition("WITHDRAWALS", w.Status), own},
			Attrs: map[string]any{"status": w.Status, "driverId": w.DriverID}}
	}}

// Till makes and ends withdrawals for one caller.
type Till struct {
	Tenant table.Tenant
	By     audit.By
	Flags  table.Item // a copy of the tenant's flags
	// Read returns an item that the checks of the request have read, for the first
	// attempt of a change. nil means that nothing was read.
	Read func(context.Context, table.Key) (table.Item, error)
	// Commit commits a transaction. answer is the response of the request.
	Commit func(ctx context.Context, tx *table.Tx, answer any) error
}

// shards returns the number of shards that writes use.
func (s Till) shards() int { return max(1, int(s.Flags.Int("writeShards"))) }

// short returns the 409 for a wallet that does not have an amount. what is the first
// sentence of its message.
func short(w Wallet, what string) error {
	return &fault.Error{Kind: fault.KindBalance, Message: what + " The wallet has " + w.Balance.String() +
		" " + w.Currency + ", of which withdrawals hold " + w.Held.String() + "."}
}

// Ask makes a withdrawal for the driver, and lets the wallet hold its amount. Errors: a
// 400 for an amount that is not valid, a 409 if the wallet does not have the amount, apart
// from what other withdrawals hold.
func (s Till) Ask(ctx context.Context, driver string, n money.Amount) (*Withdrawal, error) {
	currency := s.Flags.Text("currency")
	amount, err := money.Accept(n, currency)
	most := money.MaxPosting(s.Flags.Amount("maxPosting"), currency).Decimal()
	switch {
	case err != nil:
		return nil, fault.Field("body.amount", "%s", err.Error())
	case !amount.IsPositive():
		return nil, fault.Field("body.amount", "expected an amount above 0")
	case amount.GreaterThan(most):
		return nil, fault.Field("body.amount", "expected at most %s, the company's largest posting", most)
	}
	at := timestamp.Format(s.By.At)
	out := &Withdrawal{ID: ids.New(ids.Payout, s.By.At), DriverID: driver, Amount: money.Of(amount),
		Currency: currency, Status: Asked, RequestedAt: at}
	read := s.Read
	return out, table.Retry(ctx, func(ctx context.Context) error {
		was, err := reader(read, s.Tenant)(ctx, Key(s.Tenant, Driver, driver))
		if err != nil {
			return err
		}
		read = nil
		if !was.Found() {
			return short(Wallet{Currency: currency}, "There is nothing to withdraw.")
		}
		tx := s.Tenant.Write()
		if _, err := Move(tx, s.Tenant, was, Movement{Side: Driver, Actor: driver, Hold: amount,
			Allows: func(after Wallet) error {
				if after.Balance.LessThan(after.Held) {
					after.Held = after.Held.Sub(amount)
					return short(after, "The wallet does not hold the amount.")
				}
				return nil
			}}, s.shards(), table.ErrConflict); err != nil {
			return err
		}
		tx.Create(WithdrawalKind.Item(s.Tenant, "", *out))
		return s.Commit(ctx, tx, out)
	})
}

// reader returns read or, if read is nil, a function that reads from the table.
func reader(read func(context.Context, table.Key) (table.Item, error), t table.Tenant) func(context.Context,
	table.Key) (table.Item, error) {
	if read == nil {
		return t.Get
	}
	return read
}

// End pays, refuses or takes back a withdrawal. it is the withdrawal's item as it was
// read. status is the new status. driver is the caller if a driver takes the withdrawal
// back, and "" for an operator. Errors: a 404 for another driver's withdrawal; a 409 if
// it has ended already, or if the wallet no longer has the amount.
func (s Till) End(ctx context.Context, it table.Item, driver, status string, reason *string) (*Withdrawal, error) {
	var out Withdrawal
	stale, look := false, false
	return &out, table.Retry(ctx, func(ctx context.Context) (err error) {
		if stale {
			if it, err = s.Tenant.Get(ctx, it.Key); err != nil {
				return err
			}
		}
		stale = true
		was, err := WithdrawalKind.FromItem(it)
		switch {
		case err != nil:
			return err
		case driver != "" && was.DriverID != driver:
			return fault.NotFound()
		case was.Status != Asked:
			return fault.InvalidState("The withdrawal is %s already.", was.Status)
		}
		at := timestamp.Format(s.By.At)
		out = was
		out.Status, out.DecidedAt, out.Reason = status, &at, reason
		tx := s.Tenant.Write()
		if err := s.settle(ctx, tx, &out, look); err != nil {
			return err
		}
		audit.Put(tx, it, WithdrawalKind.Item(s.Tenant, "", out))
		if driver == "" {
			audit.Append(tx, s.Tenant, s.By, "withdrawal."+strings.ToLower(status), was.ID, was, out)
		}
		if err = s.Commit(ctx, tx, &out); errors.Is(err, errLook) {
			look, err = true, table.ErrConflict
		}
		return err
	})
}

// errLook means that the wallet must be read to find out why it cannot be changed.
var errLook = errors.New("the wallet must be read")

// settle frees the amount that the wallet holds for the withdrawal. If the withdrawal is
// paid, settle also posts the payout. The posting's id is derived from the withdrawal's,
// so a withdrawal is never paid twice. Without look, settle does not read the wallet: the
// wallet is known only from the withdrawal, so the read would be one more round trip. The
// condition compares only the balance, which commissions of cash rides may have used up.
func (s Till) settle(ctx context.Context, tx *table.Tx, w *Withdrawal, look bool) error {
	amount, key := w.Amount.Decimal(), Key(s.Tenant, Driver, w.DriverID)
	if w.Status != Paid {
		tx.Update(key, table.Change{Add: map[string]any{"held": money.Of(amount.Neg()), "version": 1}}).
			If("attribute_exists(pk)").Else(table.ErrConflict)
		return nil
	}
	_, id, _ := strings.Cut(w.ID, "_")
	id = ids.Posting + "_" + id
	w.PostingID = &id
	m := Movement{Side: Driver, Actor: w.DriverID, Hold: amount.Neg(), Entries: []Entry{{By: &s.By.Who,
		Posting: Posting{ID: id, Type: Payout, Amount: money.Of(amount.Neg()), Description: "Withdrawal " + w.ID,
			CreatedAt: *w.DecidedAt}}}}
	paid := fault.InvalidState("The withdrawal is paid already.")
	if !look {
		Shift(tx, s.Tenant, m, amount, paid, errLook)
		return nil
	}
	purse, err := s.Tenant.Get(ctx, key)
	if err != nil {
		return err
	}
	if !purse.Found() {
		return fault.NotFound()
	}
	m.Allows = func(after Wallet) error {
		if after.Balance.IsNegative() {
			after.Balance, after.Held = after.Balance.Add(amount), after.Held.Add(amount)
			return short(after, "The wallet does not have the amount any more.")
		}
		return nil
	}
	_, err = Move(tx, s.Tenant, purse, m, s.shards(), paid)
	return err
}
