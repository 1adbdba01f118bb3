// Package statement owns the statements of drivers: what happened to a driver's
// wallet in a month, from the opening to the closing balance. It computes them from
// the postings and the receipts, and stores nothing.
package statement

import (
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/base/fault"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/wallet"
)

// Statement is a driver's statement of one month. Amounts are in units of
// Currency. OpeningBalance, Earnings, TopUps, Payouts and Adjustments add up to
// ClosingBalance.
type Statement struct {
	DriverID       string           `json:"driverId" doc:"The driver."`
	DriverName     string           `json:"driverName" doc:"The driver's name; empty if the person was erased."`
	Month          string           `json:"month" example:"2026-01" doc:"The month."`
	TimeZone       string           `json:"timeZone" example:"America/New_York" doc:"The company's time zone, in which the month begins and ends."`
	From           string           `json:"from" format:"date-time" doc:"When the month began."`
	To             string           `json:"to" format:"date-time" doc:"When the month ends. Postings at that time are the next month's."`
	IssuedAt       string           `json:"issuedAt" format:"date-time" doc:"When the statement was computed."`
	Currency       string           `json:"currency" example:"USD" doc:"ISO 4217 code."`
	OpeningBalance money.Amount     `json:"openingBalance" doc:"The balance when the month began."`
	Rides          int              `json:"rides" doc:"Rides that were settled in the month."`
	Fares          money.Amount     `json:"fares" doc:"Fares of these rides by their receipts, with the corrections of the month."`
	Commission     money.Amount     `json:"commission" doc:"What the company kept of the fares: all of it if the rider did not pay in cash and the ride has no service type."`
	Outside        money.Amount     `json:"outside" doc:"What the driver got of the fares outside of the wallet: those paid in cash."`
	Earnings       money.Amount     `json:"earnings" doc:"What rides added to the balance: fares less commission less outside."`
	TopUps         money.Amount     `json:"topUps" doc:"Sum of the postings of the type TOP_UP."`
	Payouts        money.Amount     `json:"payouts" doc:"Sum of the payouts, negative."`
	Adjustments    money.Amount     `json:"adjustments" doc:"Sum of the other postings."`
	ClosingBalance money.Amount     `json:"closingBalance" doc:"The balance at the end of the month, or now."`
	Entries        []StatementEntry `json:"entries" doc:"The postings of the month, oldest first."`
}

// StatementEntry is one posting of a statement.
type StatementEntry struct { //nolint:revive // the name of the schema
	wallet.Posting
	TripID     *string       `json:"tripId" doc:"The trip that the transaction is about."`
	TripCode   *string       `json:"tripCode" doc:"The trip's short code."`
	Corrects   bool          `json:"corrects" doc:"The posting is of a correction of a fare."`
	Fare       *money.Amount `json:"fare" nullable:"true" doc:"What the posting adds to the fares: the ride's fare, negative if the posting reverses it, or the difference if a correction has one posting. null if the posting is not of a ride."`
	Commission *money.Amount `json:"commission" nullable:"true" doc:"What the company kept of the fare."`
	Outside    *money.Amount `json:"outside" nullable:"true" doc:"What the driver got of the fare outside of the wallet."`
	Balance    money.Amount  `json:"balance" doc:"The balance after the posting."`
}

// period is a month in a time zone: its beginning and its end.
type period struct {
	from, to time.Time
	zone     *time.Location
}

// earliest and latest are the first and the last month that can have a statement. The month
// after latest would end in the year 10000, which timestamps cannot represent.
const earliest, latest = "2000-01", "9998-12"

// monthOf parses a month such as 2026-01. zone is the time zone in which the month begins
// and ends. Errors: a 400.
func monthOf(text string, zone *time.Location) (p period, err error) {
	at, err := time.Parse("2006-01", text)
	if err != nil || text < earliest || text > latest {
		return p, fault.Field("path.month", "expected a month such as 2026-01, from %s to %s", earliest, latest)
	}
	begins := func(day time.Time) time.Time {
		in, parsed := timestamp.ParseInput(day.Format(time.DateOnly))
		err = parsed
		return timestamp.Ceil(in.From(zone))
	}
	p = period{from: begins(at), zone: zone}
	if err == nil {
		p.to = begins(at.AddDate(0, 1, 0))
	}
	return p, err
}

// ledger has the data from which a statement is computed.
type ledger struct {
	balance decimal.Decimal          // the wallet's balance after all postings
	since   []wallet.Entry           // the postings since the month began, newest first
	shares  map[string]receipt.Share // the parts of the fare, by the posting's id
	codes   map[string]string        // the trips' codes, by trip id
}

// compute fills in the statement's entries, newest first, and the sums of the month. It
// starts with the wallet's current balance and subtracts the postings, newest first. So it
// reaches the closing and then the opening balance.
func (s *Statement) compute(p period, l ledger) error {
	end := timestamp.Format(p.to)
	begin := timestamp.Format(p.from)
	balance := l.balance
	sums := map[string]decimal.Decimal{}
	for _, e := range l.since {
		amount := e.Amount.Decimal()
		if e.CreatedAt >= end {
			balance = balance.Sub(amount)
			continue
		}
		if e.CreatedAt < begin {
			break
		}
		if s.ClosingBalance == "" {
			s.ClosingBalance = money.Of(balance)
		}
		entry := StatementEntry{Posting: e.Posting, TripID: e.TripID, Balance: money.Of(balance)}
		s.explain(&entry, e, l, sums)
		s.Entries = append(s.Entries, entry)
		sums[e.Type] = sums[e.Type].Add(amount)
		balance = balance.Sub(amount)
	}
	s.OpeningBalance = money.Of(balance)
	if s.ClosingBalance == "" {
		s.ClosingBalance = s.OpeningBalance
	}
	s.Fares, s.Commission, s.Outside = money.Of(sums["fare"]), money.Of(sums["commission"]),
		money.Of(sums["outside"])
	s.Earnings, s.TopUps, s.Payouts = money.Of(sums[wallet.TripPayment]), money.Of(sums[wallet.TopUp]),
		money.Of(sums[wallet.Payout])
	s.Adjustments = money.Of(sums[wallet.Adjustment].Add(sums[wallet.Refund]))
	return nil
}

// explain sets the parts of the fare in the entry of a ride's posting, and adds them to
// sums.
func (s *Statement) explain(entry *StatementEntry, e wallet.Entry, l ledger, sums map[string]decimal.Decimal) {
	if e.Type != wallet.TripPayment {
		return
	}
	if entry.Corrects = e.By != nil; !entry.Corrects {
		s.Rides++
	}
	share, ok := l.shares[e.ID]
	if !ok {
		return
	}
	if code := l.codes[tripOf(e)]; code != "" {
		entry.TripCode = &code
	}
	entry.Fare, entry.Commission, entry.Outside = money.Ptr(share.Fare), money.Ptr(share.Commission),
		money.Ptr(share.Outside)
	sums["fare"], sums["commission"] = sums["fare"].Add(share.Fare), sums["commission"].Add(share.Commission)
	sums["outside"] = sums["outside"].Add(share.Outside)
}

// tripOf returns the id of the trip that an entry pays, "" if it is not known.
func tripOf(e wallet.Entry) string {
	if e.Type != wallet.TripPayment || e.TripID == nil {
		return ""
	}
	return strings.TrimSpace(*e.TripID)
}
