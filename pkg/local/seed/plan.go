package seed

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/audit"
	"svc/pkg/fault"
	"svc/pkg/money"
	"svc/pkg/settings"
	"svc/pkg/table"
	"svc/pkg/tenant"
	"svc/pkg/timestamp"
)

// Options say what to make.
type Options struct {
	Trips int       // 1 to 10,000,000
	Days  int       // how far back they go; 0 is 180
	Seed  uint64    // the number that all follows from
	Now   time.Time // the newest trips are from
	By    audit.By  // who asks for it
	// Hash is the password's hash of everybody made; "" leaves them to set one
	// by a link, as others do.
	Hash string
	// Lists leaves out what no list reads (logs, receipts, postings, what
	// riders keep), for measuring lists of many trips. Wallets are there.
	Lists bool
	// Finish is what else there is to do before the run is finished (counting,
	// where no stream does it); nil for nothing. An interrupted one is done again.
	Finish func(ctx context.Context, resumed bool) error
	// Note hears of the progress; nil for nobody.
	Note func(stage string, done, total int)
}

// BytesPerTrip is about what a trip and all that comes with it take in the
// embedded engine's file.
const BytesPerTrip = 20_000

// Result is what a run made, or finished.
type Result struct {
	Run        int  `json:"run"`     // 1 for a tenant's first
	Resumed    bool `json:"resumed"` // it finished a run that was interrupted, with that one's options
	Trips      int  `json:"trips"`
	Drivers    int  `json:"drivers"`
	Riders     int  `json:"riders"`
	Businesses int  `json:"businesses"`
	Orders     int  `json:"orders"`
	Items      int  `json:"items"` // written now
}

// The largest run.
const (
	MaxTrips = 10_000_000
	MaxDays  = 3650
)

// Errors of a run that cannot begin.
var (
	ErrAtWork = fault.InvalidState("Another seed is at work on this tenant.")
	ErrTrips  = fault.Field("trips", "expected 1 to 10,000,000")
	ErrDays   = fault.Field("days", "expected 1 to 3,650")
)

// plan is a run as it is noted in the table: all that the data follows from,
// and how far the writing has come.
type plan struct {
	Run      int      `json:"run"`
	Seed     uint64   `json:"seed"`
	Trips    int      `json:"trips"`
	Days     int      `json:"days"`
	Now      string   `json:"now"`
	Lists    bool     `json:"lists,omitempty"`
	Services []rates  `json:"services"` // of the tenant's active service types
	Pays     []string `json:"pays"`     // payment types that the tenant takes
	Delivery bool     `json:"delivery"`
	Center   [2]int64 `json:"center"` // of the city: latitude, longitude, in 1/100,000 degree

	Stage int    `json:"stage"`
	Done  int    `json:"done"` // chunks of the stage
	Beat  string `json:"beat"` // when this was written, while somebody is at work
}

// rates is a service type as it was when the run began.
type rates struct {
	ID         string          `json:"id"`
	Base       decimal.Decimal `json:"base"`
	PerKm      decimal.Decimal `json:"perKm"`
	PerMinute  decimal.Decimal `json:"perMinute"`
	Minimum    decimal.Decimal `json:"minimum"`
	Commission decimal.Decimal `json:"commission"`
}

func (p plan) finished() bool { return p.Stage >= stageCount }

// The numbers of what a run makes.
func (p plan) open() int    { return min(max(p.Trips/100, min(p.Trips, 10)), 400) }
func (p plan) drivers() int { return min(max(p.Trips/250, 8), 20_000) }
func (p plan) riders() int  { return min(max(p.Trips/25, 20), 200_000) }
func (p plan) businesses() int {
	if !p.Delivery {
		return 0
	}
	return min(max(p.Trips/2500, 3), 60)
}
func (p plan) orders() int {
	if !p.Delivery {
		return 0
	}
	return max(p.Trips/10, 1)
}

func planKey(t table.Tenant, run int) table.Key { return t.Key(fmt.Sprintf("RUN#%06d", run), "SEED") }

func (p plan) item(t table.Tenant) table.Item {
	return table.Item{Key: planKey(t, p.Run), Type: "seed", Doc: p}
}

// beat is how old the note of a run at work may be.
const beat = 20 * time.Second

// begin finds the run to finish, or notes a new one.
func begin(ctx context.Context, t table.Tenant, n tenant.Tenant, o Options) (p plan, resumed bool, err error) {
	page, err := t.Query(ctx, planKey(t, 0).PK, table.Query{Backward: true, Consistent: true, Limit: 1})
	if err != nil {
		return plan{}, false, err
	}
	for _, it := range page.Items {
		if err := it.Decode(&p); err != nil {
			return plan{}, false, err
		}
	}
	if p.Run > 0 && !p.finished() {
		if at, err := timestamp.Parse(p.Beat); err == nil && o.By.At.Sub(at) < beat {
			return plan{}, false, ErrAtWork
		}
		return p, true, nil
	}
	switch {
	case o.Trips < 1 || o.Trips > MaxTrips:
		return plan{}, false, ErrTrips
	case o.Days < 0 || o.Days > MaxDays:
		return plan{}, false, ErrDays
	case o.Days == 0:
		o.Days = 180
	}
	p = plan{Run: p.Run + 1, Seed: o.Seed, Trips: o.Trips, Days: o.Days, Now: timestamp.Format(o.Now), Lists: o.Lists,
		Delivery: n.DeliveryEnabled, Beat: timestamp.Format(o.By.At)}
	if err := p.look(ctx, t); err != nil {
		return plan{}, false, err
	}
	tx := t.Write()
	tx.Create(p.item(t)).Else(ErrAtWork)
	audit.Append(tx, t, o.By, "tenant.seed", n.ID, nil, map[string]any{"run": p.Run, "trips": p.Trips, "seed": p.Seed})
	return p, false, tx.Commit(ctx)
}

// look takes from the tenant what its trips depend on.
func (p *plan) look(ctx context.Context, t table.Tenant) error {
	services, err := settings.Services(ctx, t)
	if err != nil {
		return err
	}
	for _, s := range services {
		if s.Active {
			p.Services = append(p.Services, rates{s.ID, money.Must(s.BaseFare), money.Must(s.PerKm), money.Must(s.PerMinute),
				money.Must(s.MinimumFare), money.Must(s.CommissionRate)})
		}
	}
	d, err := settings.Read(ctx, t)
	if err != nil {
		return err
	}
	for _, pay := range []struct {
		name   string
		taken  bool
		weight int // tenths of the trips
	}{{"CARD", d.Payments.Card, 5}, {"CASH", d.Payments.Cash, 3}, {"WALLET", d.Payments.Wallet, 2}} {
		if pay.taken {
			p.Pays = append(p.Pays, slices.Repeat([]string{pay.name}, pay.weight)...)
		}
	}
	if p.Pays == nil {
		p.Pays = []string{"CASH"}
	}
	zones, err := settings.Zones(ctx, t)
	if err != nil {
		return err
	}
	p.Center = [2]int64{4072000, -7399000}
	if len(zones) > 0 && len(zones[0].Area.Coordinates) > 0 && len(zones[0].Area.Coordinates[0]) > 0 {
		corner := zones[0].Area.Coordinates[0][0] // longitude first, as in GeoJSON
		p.Center = [2]int64{money.Must(corner[1]).Shift(5).IntPart(), money.Must(corner[0]).Shift(5).IntPart()}
	}
	return nil
}
