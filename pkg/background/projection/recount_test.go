package projection_test

import (
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"svc/pkg/base/codec"
	"svc/pkg/base/money"
	"svc/pkg/base/plaintext"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/counter"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/report"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// recount compares all derived data with the items in memory.
func (w *world) recount() {
	w.t.Helper()
	w.recountReport(start.Add(-100*24*time.Hour), start.Add(100*24*time.Hour))
	for range 6 {
		from := w.now.Add(-time.Duration(w.rnd.Int64N(int64(2 * time.Minute)))).Truncate(time.Millisecond)
		w.recountReport(from, from.Add(time.Duration(1+w.rnd.IntN(1e5))*time.Millisecond))
	}
	w.recountTotals()
	w.recountRows()
}

func (w *world) recountReport(from, to time.Time) {
	w.t.Helper()
	got, err := report.Summarize(w.t.Context(), w.tenant, from, to, w.shards)
	if err != nil {
		w.t.Fatal(err)
	}
	byStatus, completed, revenue, active := map[trip.Status]int64{}, int64(0), decimal.Zero, int64(0)
	within := func(text string) bool {
		at, err := timestamp.Parse(text)
		return err == nil && !at.Before(from) && at.Before(to)
	}
	for _, status := range trip.Statuses {
		byStatus[status] = 0
	}
	for _, tr := range w.trips {
		if within(tr.RequestedAt) {
			byStatus[tr.Status]++
		}
		if tr.Status != trip.Completed || !within(*tr.CompletedAt) {
			continue
		}
		completed++
		if tr.FinalFare != nil {
			revenue = revenue.Add(tr.FinalFare.Decimal())
		}
	}
	for _, d := range w.drivers {
		if d.Status != driver.Offline {
			active++
		}
	}
	want := &report.Summary{Window: report.Window{From: timestamp.Format(from), To: timestamp.Format(to)},
		TripsByStatus:  byStatus,
		CompletedTrips: completed, Revenue: money.Of(revenue), ActiveDrivers: active,
		TotalCustomers: int64(len(w.customers))}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("report: %s", diff)
	}
}

func (w *world) recountTotals() {
	w.t.Helper()
	sums, err := counter.Read(w.t.Context(), w.tenant, w.shards, counter.DriverWallets, counter.CustomerWallets)
	if err != nil {
		w.t.Fatal(err)
	}
	for ref, side := range map[counter.Ref]wallet.Side{
		counter.DriverWallets: wallet.Driver, counter.CustomerWallets: wallet.Customer} {
		count, balance := int64(0), decimal.Zero
		for _, v := range w.wallets {
			if v.Side == side {
				count, balance = count+1, balance.Add(v.Balance)
			}
		}
		if sums[ref].Int("count") != count || !sums[ref]["balance"].Equal(balance) {
			w.t.Errorf("%s wallets: %v, want %d with %s", side, sums[ref], count, balance)
		}
	}
}

// recountRows compares the valid suffix rows with the suffixes of all
// customers.
func (w *world) recountRows() {
	w.t.Helper()
	want, got := map[string]int{}, map[string]int{}
	for _, c := range w.customers {
		own := map[string]bool{}
		digits := strings.Join(strings.FieldsFunc(codec.OrZero(c.Phone), func(r rune) bool { return r < '0' || r > '9' }), "")
		for _, text := range []string{c.Name, c.FirstName, c.LastName, c.Email, codec.OrZero(c.Phone), digits} {
			runes := []rune(strings.ReplaceAll(plaintext.Fold(text), "#", "＃"))
			for i := range runes {
				own[string(runes[i:min(len(runes), i+64)])] = true
			}
		}
		for suffix := range own {
			// Words omits texts that another text contains
			if slices.ContainsFunc(c.Words(), func(word string) bool { return hasSuffixRow(word, suffix) }) {
				want[suffix+"#"+c.ID] = 1
			}
		}
	}
	for letter := range w.letters {
		if letter == "#" {
			letter = "＃"
		}
		q := table.Query{Limit: 1000, Consistent: true}
		for rows, err := range w.tenant.Pages(w.t.Context(), w.tenant.Partition("SUFFIX", letter), q) {
			if err != nil {
				w.t.Fatal(err)
			}
			for _, row := range rows {
				if !row.Has("until") {
					got[row.SK[:strings.LastIndex(row.SK, "#")]]++
				} else if row.Expires.IsZero() {
					w.t.Errorf("row %s has ended and stays", row.SK)
				}
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("suffix rows: %s", diff)
	}
}

func hasSuffixRow(word, suffix string) bool {
	runes := []rune(strings.ReplaceAll(word, "#", "＃"))
	for i := range runes {
		if string(runes[i:min(len(runes), i+64)]) == suffix {
			return true
		}
	}
	return false
}
