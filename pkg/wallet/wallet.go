package wallet

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"svc/pkg/authz"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/money"
	"svc/pkg/table"
)

// Side says whose wallets.
type Side string

// The two sides.
const (
	Driver   Side = "driver"
	Customer Side = "customer"
)

// Sides lists them.
var Sides = []Side{Driver, Customer}

// SideOf gives the side of a rider's or a driver's audience.
func SideOf(audience authz.Audience) Side {
	if audience == authz.Driver {
		return Driver
	}
	return Customer
}

// TripPayment is the one type of transaction that is known (specification,
// "Wallet").
const TripPayment = "TRIP_PAYMENT"

// Posting is one entry of a wallet, and what is shown of it.
type Posting struct {
	ID          string      `json:"id"`
	Type        string      `json:"type" enum:"TRIP_PAYMENT"`
	Amount      json.Number `json:"amount" doc:"Currency units; negative for debits."`
	Description string      `json:"description"`
	CreatedAt   string      `json:"createdAt" format:"date-time"`
}

// Wallet is an actor's wallet without its postings.
type Wallet struct {
	Side      Side
	Actor     string
	Name      string // of the actor, for the operator's listing
	Balance   decimal.Decimal
	Currency  string
	UpdatedAt string
	Version   int64
}

// Key is the key of an actor's wallet.
func Key(t table.Tenant, side Side, actor string) table.Key {
	return t.Key("WALLET", "WALLET", string(side), actor)
}

// PostingKey is the key of a posting: they order by time, then id.
func PostingKey(t table.Tenant, side Side, actor string, p Posting) table.Key {
	return t.Key("POSTING#"+p.CreatedAt+"#"+p.ID, "WALLET", string(side), actor)
}

// Partition is shard n of by-g1 with a side's wallets, highest balance first,
// then by actor.
func Partition(t table.Tenant, side Side, n int) string {
	return t.Partition("WALLETS", string(side), strconv.Itoa(n))
}

// Item is the stored form of a wallet.
func (w Wallet) Item(t table.Tenant, writeShards int) table.Item {
	return table.Item{Key: Key(t, w.Side, w.Actor), Type: "wallet", Version: w.Version, R: Rank(w.Balance) + "#" + w.Actor,
		G: [4]string{Partition(t, w.Side, ids.Pick(w.Actor, writeShards))},
		Attrs: map[string]any{"side": string(w.Side), "actor": w.Actor, "name": w.Name, "balance": money.Number(w.Balance),
			"currency": w.Currency, "updatedAt": w.UpdatedAt}}
}

// PostingItem is the stored form of a posting.
func PostingItem(t table.Tenant, side Side, actor string, p Posting) table.Item {
	return table.Item{Key: PostingKey(t, side, actor, p), Type: "posting", Doc: p}
}

// FromItem reads a wallet of its item; fault.NotFound when there is none.
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

// Rank writes a balance so that the texts of higher balances sort first: 24
// digits before the point and nine after it, exact for every currency. What
// lies beyond is ranked with the nearest that fits.
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
