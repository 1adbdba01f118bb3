package projection

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/counter"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/report"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// Types are the item types that the projection counts.
var Types = []string{"trip", "driver", "customer", "wallet", "post"}

// CountedKey returns the key of the COUNTED item of an item, which records what the
// projection counted of it. Both are in the same partition.
func CountedKey(item table.Key) table.Key { return table.Key{PK: item.PK, SK: "COUNTED"} }

// Counted is what the projection counted of an item. The zero Counted means that nothing
// was counted.
type Counted struct {
	Type        string        `json:"type,omitempty"`
	Status      string        `json:"status,omitempty"`      // of a trip, a driver
	RequestedAt string        `json:"requestedAt,omitempty"` // of a trip
	Completed   *completion   `json:"completed,omitempty"`   // of a completed trip
	Rating      *rating       `json:"rating,omitempty"`      // of a trip's driver
	RiderRating *rating       `json:"riderRating,omitempty"` // of a trip's rider
	Fare        *money.Amount `json:"fare,omitempty"`        // of a completed trip, as builds up to 2026-11 counted it
	Side        wallet.Side   `json:"side,omitempty"`        // of a wallet
	Balance     money.Amount  `json:"balance,omitempty"`     // of a wallet
	Name        string        `json:"name,omitempty"`        // of a driver or customer, as the wallet has it

	// Of a customer: the current set of suffix rows, and the earlier sets whose
	// end time a step must still write to their rows. Pending means that the
	// rows in the table may not match yet.
	Rows    *customer.RowSet  `json:"rows,omitempty"`
	Ended   []customer.RowSet `json:"ended,omitempty"`
	Pending bool              `json:"pending,omitempty"`

	Ranks []table.Key `json:"ranks,omitempty"` // of a post: its rank rows
	Rank  string      `json:"rank,omitempty"`  // of a post: the hash of the rows' contents
}

// completion is what was counted of a completed trip for its time of completion.
// Fare is 0 if the trip has none.
type completion struct {
	At   string       `json:"at"`
	Fare money.Amount `json:"fare"`
}

// countedOf returns what a COUNTED item records. For an absent item it returns the zero
// Counted.
func countedOf(it table.Item) (Counted, error) {
	var c Counted
	if !it.Found() {
		return c, nil
	}
	err := it.Decode(&c)
	return c, err
}

var _ = table.Kind[any]{Type: "counted", Personal: "words by which a search finds a rider", Erasure: "deletes"}

// put stores c in the COUNTED item was, on the condition that the item has not changed
// since it was read.
func (c Counted) put(tx *table.Tx, was table.Item) {
	audit.Put(tx, was, table.Item{Key: was.Key, Type: "counted", Version: 1, Doc: c})
}

// counterAdditions returns what was added to the counters for the item.
func (c Counted) counterAdditions() (counter.Changes, error) {
	out, one := counter.Changes{}, decimal.NewFromInt(1)
	switch c.Type {
	case "":
	case "trip":
		return out, c.trip(out)
	case "driver":
		out.Add(counter.Drivers, c.Status, one)
	case "customer":
		out.Add(counter.Customers, "count", one)
	case "wallet":
		total := counter.CustomerWallets
		if c.Side == wallet.Driver {
			total = counter.DriverWallets
		}
		out.Add(total, "count", one)
		out.Add(total, "balance", c.Balance.Decimal())
	}
	return out, nil
}

// trip adds to out what was added to the counters for a trip.
func (c Counted) trip(out counter.Changes) error {
	at, err := timestamp.Parse(c.RequestedAt)
	if err != nil {
		return err
	}
	report.Requested(out, trip.Status(c.Status), at)
	if c.Fare != nil {
		report.OlderRevenue(out, c.Fare.Decimal(), at)
	}
	if c.Completed == nil {
		return nil
	}
	if at, err = timestamp.Parse(c.Completed.At); err != nil {
		return err
	}
	report.Completed(out, c.Completed.Fare.Decimal(), at)
	return nil
}

// completionOf returns what the projection counts of a completed trip. A trip never
// counts as completed before its request, although the clocks of two processes may
// differ. So a check that reads trips in the order of their requests has seen every trip
// that was completed before the last request.
func completionOf(tr trip.Trip) *completion {
	out := completion{tr.RequestedAt, "0"}
	if tr.CompletedAt != nil {
		out.At = max(out.At, *tr.CompletedAt)
	}
	if tr.FinalFare != nil {
		out.Fare = *tr.FinalFare
	}
	return &out
}

// count returns what must be counted of an item, from its current state and from was,
// what was counted before. An absent item counts nothing. Ended sets of rows stay listed
// until a step has written their end time.
func (s Step) count(it table.Item, was Counted, now string) (Counted, error) {
	next := Counted{}
	if it.Found() {
		next.Type = it.Type
	}
	switch next.Type {
	case "trip":
		tr, err := trip.FromItem(it)
		if err != nil {
			return Counted{}, err
		}
		next.Status, next.RequestedAt = string(tr.Status), tr.RequestedAt
		if tr.Status == trip.Completed {
			next.Completed = completionOf(tr)
		}
		if tr.Rated > 0 && tr.DriverID != nil {
			next.Rating = &rating{*tr.DriverID, tr.Rated}
		}
		if tr.RatedRider > 0 {
			next.RiderRating = &rating{tr.CustomerID, tr.RatedRider}
		}
	case "driver":
		r, err := driver.FromItem(it)
		if err != nil {
			return Counted{}, err
		}
		next.Status, next.Name = r.Shown().Status, strings.TrimSpace(r.FirstName+" "+r.LastName)
	case "wallet":
		next.Side, next.Balance = wallet.Side(it.Text("side")), it.Number("balance")
	case "customer":
		r, err := customer.FromItem(it)
		if err != nil {
			return Counted{}, err
		}
		if next.Name = r.Name; next.Name == "" {
			next.Name = strings.TrimSpace(r.FirstName + " " + r.LastName)
		}
		next.rows(was, r.Words(), now)
	case "post":
		next.ranks(s.rankRows(it))
	case "":
	default:
		return Counted{}, fmt.Errorf("items of type %q are not counted", it.Type)
	}
	if next.Type == "" {
		next.rows(was, nil, now)
	}
	return next, nil
}

// rows sets c.Rows, the search rows that a customer has from now on, one for each suffix
// of a word of the name. They are the old set was.Rows, or a new one if the words
// changed.
func (c *Counted) rows(was Counted, words []string, now string) {
	c.Rows, c.Ended, c.Pending = was.Rows, was.Ended, was.Pending
	if (was.Rows == nil && len(words) == 0) || (was.Rows != nil && slices.Equal(was.Rows.Words, words)) {
		return
	}
	next := customer.RowSet{Words: words, N: 1, Since: now}
	if was.Rows != nil {
		old := *was.Rows
		old.Until, next.N = now, old.N+1
		c.Ended = append(slices.Clone(was.Ended), old)
	}
	c.Rows, c.Pending = &next, true
}

// ranks notes the keys of a post's rank rows in c, and a hash of their contents.
func (c *Counted) ranks(rows []table.Item) {
	for _, row := range rows {
		c.Ranks = append(c.Ranks, row.Key)
		text, _ := json.Marshal([]any{row.Type, row.G, row.R, row.Attrs, row.Doc, row.Expires})
		c.Rank = ids.Hash(c.Rank + string(text))
	}
}
