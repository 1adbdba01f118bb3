package export

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/money"
	"svc/pkg/base/sheet"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/report"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// Row is one row of a file, or with a nil Value only progress. A later iteration
// that begins after Position returns the rows that follow.
type Row struct {
	Value    any
	Position string
}

// Scope is what the rows of a file are taken from.
type Scope struct {
	Tenant   table.Tenant
	From, To time.Time // the zero From means no start
	Shards   int       // that lists are read from
	Zone     *time.Location
	Currency string
}

// kind is one kind of file.
type kind struct {
	columns []string
	policy  authz.Policy // for the same data in the API
	rows    func(ctx context.Context, s Scope, after string) iter.Seq2[Row, error]
}

var kinds = map[string]kind{
	"trips": {sheet.Columns[trip.Trip](), authz.Operators("tenant.trips:read", "VIEW_TRIPS"),
		listed(trip.FromItem, "TRIPS")},
	"customers": {sheet.Columns[customer.Customer](), authz.Operators("tenant.customers:read", "VIEW_CUSTOMERS"),
		listed(customer.Shown, "CUSTOMERS")},
	"drivers": {sheet.Columns[driver.Driver](), authz.Operators("tenant.drivers:read", "VIEW_DRIVERS"), drivers},
	"orders": {sheet.Columns[delivery.Order](), authz.Operators("tenant.delivery:read", "VIEW_FOOD_ORDERS"),
		listed(delivery.OrderKind.FromItem, "ORDERS")},
	"postings": {sheet.Columns[Posting](), authz.Operators("tenant.wallets:read", "VIEW_WALLETS"), postings},
	"receipts": {sheet.Columns[ofTrip](), authz.Operators("tenant.wallets:read", "VIEW_WALLETS"), receipts},
	"report":   {sheet.Columns[Day](), authz.Operators("tenant.reports:read", "VIEW_REPORTS"), days},
}

// Kinds returns the names of the kinds, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// Needs returns what the operator needs for a job, as long as it runs.
func (j Job) Needs() []authz.Policy { return []authz.Policy{Policy, kinds[j.Kind].policy} }

// listed returns the rows of a list of by-g1 whose range key begins with the time
// of creation.
func listed[T any](fromItem func(table.Item) (T, error), list string) func(context.Context, Scope,
	string) iter.Seq2[Row, error] {
	return func(ctx context.Context, s Scope, after string) iter.Seq2[Row, error] {
		q := table.Query{Index: 1, From: bound(s.From), To: bound(s.To), After: after}
		return rowsOf(merged(ctx, s.Tenant, s.partitions(list), q), 1, func(it table.Item) (any, bool, error) {
			v, err := fromItem(it)
			return v, true, err
		})
	}
}

// drivers reads by-g1 T#t#DRIVERS#shard, whose range keys are ids.
func drivers(ctx context.Context, s Scope, after string) iter.Seq2[Row, error] {
	from, to := bound(s.From), bound(s.To)
	q := table.Query{Index: 1, After: after}
	return rowsOf(merged(ctx, s.Tenant, s.partitions("DRIVERS"), q), 1, func(it table.Item) (any, bool, error) {
		r, err := driver.FromItem(it)
		return r.Driver, r.CreatedAt >= from && (to == "" || r.CreatedAt < to), err
	})
}

// bound returns a bound on range keys that begin with a time, "" for none.
func bound(t time.Time) string {
	if t.IsZero() || t.Year() > 9999 {
		return ""
	}
	return timestamp.Format(timestamp.Ceil(t))
}

// Day is one row of a report.
type Day struct {
	Date             string       `json:"date"`
	CompletedTrips   int64        `json:"completedTrips"`
	Revenue          money.Amount `json:"revenue"`
	Currency         string       `json:"currency"`
	Pending          int64        `json:"PENDING"`
	Searching        int64        `json:"SEARCHING"`
	CollectingOffers int64        `json:"COLLECTING_OFFERS"`
	WaitingCustomer  int64        `json:"WAITING_CUSTOMER"`
	Scheduled        int64        `json:"SCHEDULED"`
	Assigned         int64        `json:"ASSIGNED"`
	DriverArrived    int64        `json:"DRIVER_ARRIVED"`
	InProgress       int64        `json:"IN_PROGRESS"`
	Completed        int64        `json:"COMPLETED"`
	Cancelled        int64        `json:"CANCELLED"`
}

// days reads the report of each local day of the window.
func days(ctx context.Context, s Scope, after string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		at := s.From.In(s.Zone)
		for at.Before(s.To) {
			date := at.Format("2006-01-02")
			day, err := timestamp.ParseInput(date)
			if err != nil {
				yield(Row{}, err)
				return
			}
			next := day.To(s.Zone)
			end := next
			if end.After(s.To) {
				end = s.To
			}
			if date > after {
				sum, err := report.Summarize(ctx, s.Tenant, at, end, s.Shards)
				if err != nil {
					yield(Row{}, err)
					return
				}
				n := sum.TripsByStatus
				if !yield(Row{Day{date, sum.CompletedTrips, sum.Revenue, s.Currency, n[trip.Pending], n[trip.Searching],
					n[trip.CollectingOffers], n[trip.WaitingCustomer], n[trip.Scheduled], n[trip.Assigned],
					n[trip.DriverArrived], n[trip.InProgress], n[trip.Completed], n[trip.Cancelled]}, date}, nil) {
					return
				}
			}
			at = next.In(s.Zone)
		}
	}
}

// Posting is one row of a file of postings.
type Posting struct {
	Side     string `json:"side"`
	ActorID  string `json:"actorId"`
	Name     string `json:"name"`
	Currency string `json:"currency"`
	wallet.Entry
}

// holders lists who may have a wallet.
var holders = []struct {
	side wallet.Side
	list string
}{{wallet.Customer, "CUSTOMERS"}, {wallet.Driver, "DRIVERS"}}

// postings reads the holders of wallets in the order of their lists, then the
// wallets of a hundred holders in one batch, then the postings of those wallets
// that moved in the window. A balance is part of a wallet's position in the list
// of wallets, and may change while the file is written; a holder's position does
// not change. A row's position is the side, the holder's position and the
// posting's range key.
func postings(ctx context.Context, s Scope, after string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		begun, rest, _ := strings.Cut(after, " ")
		holder, posting, _ := strings.Cut(rest, "/")
		for _, h := range holders {
			if begun > string(h.side) {
				continue
			}
			q := table.Query{Index: 1}
			if begun == string(h.side) {
				q.From = holder
			}
			for chunk, err := range chunked(merged(ctx, s.Tenant, s.partitions(h.list), q), 100) {
				for row, err := range s.postingsOf(ctx, h.side, chunk, err, holder, posting) {
					if !yield(row, err) || err != nil {
						return
					}
				}
			}
		}
	}
}

// walletDone sorts after the range key of every posting.
const walletDone = "~"

// postingsOf reads the window's postings of at most 100 holders. If failed is not nil,
// it returns that error only. It skips the postings of the holder begun up to after.
func (s Scope) postingsOf(ctx context.Context, side wallet.Side, holders []table.Item, failed error, begun,
	after string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		keys := make([]table.Key, len(holders))
		for i, it := range holders {
			keys[i] = wallet.Key(s.Tenant, side, it.PK[strings.LastIndexByte(it.PK, '#')+1:])
		}
		wallets, err := s.Tenant.BatchEventual(ctx, keys...)
		if err = cmp.Or(failed, err); err != nil {
			yield(Row{}, err)
			return
		}
		q := table.Query{Prefix: "POSTING#", Limit: pageSize}
		if from := bound(s.From); from != "" {
			q.From = "POSTING#" + from
		}
		if to := bound(s.To); to != "" {
			q.To = "POSTING#" + to
		}
		for i, it := range wallets {
			at := string(side) + " " + holders[i].R + "/"
			if q.After = ""; holders[i].R == begun {
				q.After = after
			}
			for row, err := range s.walletRows(ctx, side, it, q, at) {
				if !yield(row, err) || err != nil {
					return
				}
			}
			if !yield(Row{nil, at + walletDone}, nil) {
				return
			}
		}
	}
}

// walletRows reads the postings of a wallet, or nothing if it has not changed since
// the window began.
func (s Scope) walletRows(ctx context.Context, side wallet.Side, it table.Item, q table.Query,
	at string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		if !it.Found() || it.Text("updatedAt") < bound(s.From) {
			return
		}
		w, err := wallet.FromItem(it)
		for items, more := range s.Tenant.Pages(ctx, it.PK, q) {
			if err = cmp.Or(err, more); err != nil {
				break
			}
			for _, it := range items {
				p := Posting{Side: string(side), ActorID: w.Actor, Name: w.Name, Currency: w.Currency}
				if err := it.Decode(&p.Entry); !yield(Row{p, at + it.SK}, err) || err != nil {
					return
				}
			}
		}
		if err != nil {
			yield(Row{}, err)
		}
	}
}
