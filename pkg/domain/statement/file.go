package statement

import (
	"time"

	"svc/pkg/base/money"
	"svc/pkg/base/sheet"
	"svc/pkg/base/timestamp"
)

// line is one line of a statement's CSV file. Date is the day in the company's time
// zone. The types OPENING and CLOSING have a balance only.
type line struct {
	Date        string        `json:"date"`
	At          string        `json:"at"`
	Type        string        `json:"type"`
	Description string        `json:"description"`
	TripCode    *string       `json:"tripCode"`
	Fare        *money.Amount `json:"fare"`
	Commission  *money.Amount `json:"commission"`
	Outside     *money.Amount `json:"outside"`
	Amount      *money.Amount `json:"amount"`
	Balance     money.Amount  `json:"balance"`
	Currency    string        `json:"currency"`
}

// CSV returns the statement as a file for a spreadsheet.
func (s *Statement) CSV() ([]byte, error) {
	zone, err := time.LoadLocation(s.TimeZone)
	if err != nil {
		return nil, err
	}
	w := sheet.New("csv", sheet.Columns[line]())
	w.Header()
	write := func(l line) {
		at, failed := timestamp.Parse(l.At)
		if err == nil {
			err = failed
		}
		if l.Date, l.Currency = at.In(zone).Format(time.DateOnly), s.Currency; err == nil {
			err = w.Row(l)
		}
	}
	write(line{At: s.From, Type: "OPENING", Balance: s.OpeningBalance})
	for _, e := range s.Entries {
		write(line{At: e.CreatedAt, Type: e.Type, Description: e.Description, TripCode: e.TripCode, Fare: e.Fare,
			Commission: e.Commission, Outside: e.Outside, Amount: &e.Amount, Balance: e.Balance})
	}
	write(line{At: s.ClosedAt(), Type: "CLOSING", Balance: s.ClosingBalance})
	return w.Buf.Bytes(), err
}

// ClosedAt returns the time of the closing balance: the month's last millisecond, or
// when the statement was computed if that is earlier.
func (s *Statement) ClosedAt() string {
	to, err := timestamp.Parse(s.To)
	if err != nil {
		return s.IssuedAt
	}
	return min(timestamp.Format(to.Add(-time.Millisecond)), s.IssuedAt)
}
