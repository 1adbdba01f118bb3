package wallet

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
)

// Side is the group of wallets: drivers' or customers'.
type Side string

// The two sides.
const (
	Driver   Side = "driver"
	Customer Side = "customer"
)

// Sides lists both sides.
var Sides = []Side{Driver, Customer}

// SideOf returns the side of the rider's or driver's audience.
func SideOf(audience authz.Audience) Side {
	if audience == authz.Driver {
		return Driver
	}
	return Customer
}

// TripPayment is the only transaction type (specification, "Wallet").
const TripPayment = "TRIP_PAYMENT"

// Posting is one entry of a wallet, as the API shows it.
type Posting struct {
	ID          string      `json:"id" doc:"Identifier of the transaction."`
	Type        string      `json:"type" enum:"TRIP_PAYMENT" doc:"What the transaction is for."`
	Amount      json.Number `json:"amount" doc:"Currency units; negative for debits."`
	Description string      `json:"description" doc:"What the transaction is for, in words."`
	CreatedAt   string      `json:"createdAt" format:"date-time" doc:"When the trip was completed."`
}

// Wallet is an actor's wallet without its postings.
type Wallet struct {
	Side      Side
	Actor     string
	Name      string // of the actor, for the operator's list
	Balance   decimal.Decimal
	Currency  string
	UpdatedAt string
	Version   int64
}

// Key returns the key of an actor's wallet.
func Key(t table.Tenant, side Side, actor string) table.Key {
	return t.Key("WALLET", "WALLET", string(side), actor)
}

// PostingKey returns the key of a posting. Postings are ordered by time, then
// by id.
func PostingKey(t table.Tenant, side Side, actor string, p Posting) table.Key {
	return t.Key("POSTING#"+p.CreatedAt+"#"+p.ID, "WALLET", string(side), actor)
}

// Partition returns shard n of by-g1 with the wallets of a side, highest
// balance first, then by actor.
func Partition(t table.Tenant, side Side, n int) string {
	return t.Partition("WALLETS", string(side), strconv.Itoa(n))
}

// Item returns the stored form of a wallet.
func (w Wallet) Item(t table.Tenant, writeShards int) table.Item {
	return table.Item{Key: Key(t, w.Side, w.Actor), Type: "wallet", Version: w.Version, R: Rank(w.Balance) + "#" + w.Actor,
		G: [4]string{Partition(t, w.Side, ids.Pick(w.Actor, writeShards))},
		Attrs: map[string]any{"side": string(w.Side), "actor": w.Actor, "name": w.Name, "balance": money.Number(w.Balance),
			"currency": w.Currency, "updatedAt": w.UpdatedAt}}
}

// PostingItem returns the stored form of a posting.
func PostingItem(t table.Tenant, side Side, actor string, p Posting) table.Item {
	return table.Item{Key: PostingKey(t, side, actor, p), Type: "posting", Doc: p}
}

// FromItem decodes a wallet from its item. It returns fault.NotFound if there
// is none.
func FromItem(it table.Item) (Wallet, error) {
	if !it.Found() {
		return Wallet{}, fault.NotFound()
	}
	balance, err := money.Parse(it.Number("balance"))
	if err != nil {
		return Wallet{}, fmt.Errorf("wallet: %w", err)
	}
	return Wallet{Side: Side(it.Text("side")), Actor: it.Text("actor"), Name: it.Text("name"), Balance: balance,
		Currency: it.Text("currency"), UpdatedAt: it.Text("updatedAt"), Version: it.Version}, nil
}

const rankDigits, rankDecimals = 33, 9

// Rank encodes a balance so that higher balances sort first: 24 digits before
// the decimal point and nine after it, exact for every currency. A balance
// outside that range gets the rank of the nearest one inside it.
func Rank(balance decimal.Decimal) string {
	n := balance.Shift(rankDecimals).Truncate(0).BigInt()
	digits := new(big.Int).Abs(n).String()
	if len(digits) > rankDigits {
		digits = strings.Repeat("9", rankDigits)
	}
	digits = strings.Repeat("0", rankDigits-len(digits)) + digits
	if n.Sign() < 0 {
		return "1" + digits
	}
	complement := []byte(digits)
	for i := range complement {
		complement[i] = '0' + '9' - complement[i]
	}
	return "0" + string(complement)
}
