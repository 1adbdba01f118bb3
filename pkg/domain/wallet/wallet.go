package wallet

import (
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

// Side says whether a wallet is a driver's or a customer's.
type Side string

// The values of Side.
const (
	Driver   Side = "driver"
	Customer Side = "customer"
)

// Sides lists the values of Side.
var Sides = []Side{Driver, Customer}

// SideOf returns the Side of the wallet of a token's actor. audience is rider or driver.
func SideOf(audience authz.Audience) Side {
	if audience == authz.Driver {
		return Driver
	}
	return Customer
}

// The types of postings. Only settlement and the correction of a fare post
// TripPayment (specification, "Wallet"); operators post the others.
const (
	TripPayment = "TRIP_PAYMENT"
	TopUp       = "TOP_UP"
	Refund      = "REFUND"
	Payout      = "PAYOUT"
	Adjustment  = "ADJUSTMENT"
)

// Posting is one entry of a wallet, as the API shows it.
type Posting struct {
	ID          string       `json:"id" doc:"Identifier of the transaction."`
	Type        string       `json:"type" enum:"TRIP_PAYMENT,TOP_UP,REFUND,PAYOUT,ADJUSTMENT" doc:"What the transaction is for. Only TRIP_PAYMENT is of the specification; operators post the others."`
	Amount      money.Amount `json:"amount" doc:"Currency units; negative for debits."`
	Description string       `json:"description" doc:"What the transaction is for, in words."`
	CreatedAt   string       `json:"createdAt" format:"date-time" doc:"When it was posted. For the payment of a trip, when the trip was completed."`
}

// Entry is a posting as it is stored and as operators see it.
type Entry struct {
	Posting
	TripID *string `json:"tripId" doc:"The trip that the transaction is about."`
	By     *string `json:"by" doc:"Who posted it; null for a trip payment that settlement posted."`
}

// Wallet is an actor's wallet without its postings.
type Wallet struct {
	Side      Side
	Actor     string
	Name      string // the actor's name, for the operator's list
	Balance   decimal.Decimal
	Held      decimal.Decimal // sum of the open withdrawals; a part of Balance
	Currency  string
	UpdatedAt string
	Version   int64
}

// Key returns the key of an actor's wallet. actor is the id of the driver or customer.
func Key(t table.Tenant, side Side, actor string) table.Key {
	return t.Key("WALLET", string(side), actor, "WALLET")
}

// PostingKey returns the key of a posting. Postings are ordered by time, then
// by id.
func PostingKey(t table.Tenant, side Side, actor string, p Posting) table.Key {
	return t.Key("WALLET", string(side), actor, postingPrefix+p.CreatedAt+"#"+p.ID)
}

// Partition returns the partition of index by-g1 with the wallets of drivers or of
// customers in shard n, highest balance first, then by actor.
func Partition(t table.Tenant, side Side, n int) string {
	return t.Partition("WALLETS", string(side), strconv.Itoa(n))
}

var _ = table.Kind[any]{Type: "wallet", Personal: "name, an operator's words", Erasure: "removes; amounts stay"}

// Item returns the stored form of a wallet.
func (w Wallet) Item(t table.Tenant, writeShards int) table.Item {
	var held any // nil, an absent attribute, for 0
	if !w.Held.IsZero() {
		held = money.Of(w.Held)
	}
	return table.Item{Key: Key(t, w.Side, w.Actor), Type: "wallet", Version: w.Version, R: Rank(w.Balance) + "#" + w.Actor,
		G: [4]string{Partition(t, w.Side, ids.Pick(w.Actor, writeShards))},
		Attrs: map[string]any{"side": string(w.Side), "actor": w.Actor, "name": w.Name, "balance": money.Of(w.Balance),
			"currency": w.Currency, "updatedAt": w.UpdatedAt, "held": held}}
}

var _ = table.Kind[any]{Type: "posting", Personal: "name, an operator's words", Erasure: "removes; amounts stay",
	Once: "an entry of a log"}

// PostingItem returns the stored form of a posting.
func PostingItem(t table.Tenant, side Side, actor string, e Entry) table.Item {
	return table.Item{Key: PostingKey(t, side, actor, e.Posting), Type: "posting", Doc: e}
}

// FromItem decodes a wallet from its item. It returns fault.NotFound if there
// is none.
func FromItem(it table.Item) (Wallet, error) {
	if !it.Found() {
		return Wallet{}, fault.NotFound()
	}
	return Wallet{Side: Side(it.Text("side")), Actor: it.Text("actor"), Name: it.Text("name"),
		Balance: it.Number("balance").Decimal(), Held: it.Number("held").Decimal(), Currency: it.Text("currency"),
		UpdatedAt: it.Text("updatedAt"), Version: it.Version}, nil
}

// RankOf returns the range key of a wallet's item in the list by balance, from the item.
func RankOf(it table.Item) string {
	return Rank(it.Number("balance").Decimal()) + "#" + it.Text("actor")
}

// rankDigits is the number of digits of a rank, of which rankDecimals are decimals.
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
