package seed

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/base/fault"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
)

// Options configure a run: one creation of bulk data for a tenant.
type Options struct {
	Trips int       // 1 to 10,000,000
	Days  int       // age of the oldest trips in days; 0 means 180
	Seed  uint64    // the seed number that determines all data
	Now   time.Time // time of the newest trips
	By    audit.By  // who starts the run, and when
	// Hash is the password hash of all created people. If it is "", each person
	// sets a password by a link, as usual.
	Hash string
	// Finish is further work before the run is finished, such as counting
	// without a stream; nil means none. It is repeated after an interruption.
	Finish func(ctx context.Context, resumed bool) error
	// Note receives the progress; it may be nil.
	Note func(stage string, done, total int)
}

// BytesPerTrip is the approximate size of a trip and its related items in the
// embedded engine's file.
const BytesPerTrip = 20_000

// Result is what a run created or finished.
type Result struct {
	Run        int  `json:"run"`     // number of the run; 1 is the tenant's first
	Resumed    bool `json:"resumed"` // it finished an interrupted run, with that run's options
	Trips      int  `json:"trips"`
	Drivers    int  `json:"drivers"`
	Riders     int  `json:"riders"`
	Businesses int  `json:"businesses"`
	Orders     int  `json:"orders"`
	Items      int  `json:"items"` // number of items that this call wrote
}

// The maximum size of a run.
const (
	MaxTrips = 10_000_000
	MaxDays  = 3650
)

// Errors of a run that cannot start.
var (
	ErrAtWork = fault.InvalidState("Another svc seed is running for this tenant. " +
		"If it was stopped, try again in 20 seconds.")
	ErrTrips = fault.Field("trips", "expected 1 to 10,000,000")
	ErrDays  = fault.Field("days", "expected 1 to 3,650")
)

// plan is a run as stored in the table: everything that determines the data,
// and the progress of the writes.
type plan struct {
	Run      int      `json:"run"`
	Seed     uint64   `json:"seed"`
	Trips    int      `json:"trips"`
	Days     int      `json:"days"`
	Now      string   `json:"now"`
	Services []rates  `json:"services"` // prices of the tenant's active service types
	Pays     []string `json:"pays"`     // payment types that the tenant accepts
	Delivery bool     `json:"delivery"`
	Center   [2]int64 `json:"center"` // of the city, the first corner of a zone: latitude, longitude, in 1/100,000 degree

	Stage int    `json:"stage"` // index in run.stages of the stage in progress
	Done  int    `json:"done"`  // number of chunks of the stage that are written
	Beat  string `json:"beat"`  // time of the last write while the run is active, else ""
}

// rates are the prices of a service type at the start of the run.
type rates struct {
	ID         string          `json:"id"`
	Base       decimal.Decimal `json:"base"`
	PerKm      decimal.Decimal `json:"perKm"`
	PerMinute  decimal.Decimal `json:"perMinute"`
	Minimum    decimal.Decimal `json:"minimum"`
	Commission decimal.Decimal `json:"commission"`
}

// finished reports whether all stages of the run are written.
func (p plan) finished() bool { return p.Stage >= stageCount }

// open, drivers, riders, businesses and orders are the quantities that a run creates.
// open counts unfinished trips.
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

// planKey is the key of the stored plan of a run.
func planKey(t table.Tenant, run int) table.Key { return t.Key("SEED", fmt.Sprintf("RUN#%06d", run)) }

// item returns the stored form of the plan.
func (p plan) item(t table.Tenant) table.Item {
	return table.Item{Key: planKey(t, p.Run), Type: "seed", Doc: p}
}

// beat is how old plan.Beat may be while the run is active. If it is older, the run was
// interrupted.
const beat = 20 * time.Second

// begin returns the plan of the tenant's interrupted run, if there is one (resumed).
// Otherwise it makes and stores the plan of a new run. The error is ErrAtWork if a run is
// active.
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
	p = plan{Run: p.Run + 1, Seed: o.Seed, Trips: o.Trips, Days: o.Days, Now: timestamp.Format(o.Now),
		Delivery: n.DeliveryEnabled, Beat: timestamp.Format(o.By.At)}
	if err := p.look(ctx, t); err != nil {
		return plan{}, false, err
	}
	tx := t.Write()
	tx.Create(p.item(t)).Else(ErrAtWork)
	audit.Append(tx, t, o.By, "tenant.seed", n.ID, nil, map[string]any{"run": p.Run, "trips": p.Trips, "seed": p.Seed})
	return p, false, table.Retry(ctx, tx.Commit)
}

// look copies into the plan the tenant's data on which the trips depend: service types,
// payment types and the city's center.
func (p *plan) look(ctx context.Context, t table.Tenant) error {
	services, err := settings.Services(ctx, t)
	if err != nil {
		return err
	}
	for _, s := range services {
		if s.Active {
			p.Services = append(p.Services, rates{s.ID, s.BaseFare.Decimal(), s.PerKm.Decimal(), s.PerMinute.Decimal(),
				s.MinimumFare.Decimal(), s.CommissionRate.Decimal()})
		}
	}
	d, err := settings.Read(ctx, t)
	if err != nil {
		return err
	}
	for _, pay := range []struct {
		name   string
		taken  bool
		weight int // of ten trips, so many are paid in this way
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
	if len(zones) > 0 {
		corner := zones[0].Area[0][0][0] // longitude first, as in GeoJSON
		for i, degrees := range []json.Number{corner[1], corner[0]} {
			d, err := money.Parse(degrees)
			if err != nil {
				return err
			}
			p.Center[i] = d.Shift(5).IntPart()
		}
	}
	return nil
}
