// Package sandbox owns the robots of a sandbox, a tenant for tests. Robots are simulated
// drivers and riders. The package stores which people are robots, and has the endpoint by
// which operators advance the time of a sandbox. pkg/background/robots moves the robots.
//
// Only a sandbox has robots: Fill refuses any other tenant. Whether a tenant is a sandbox
// is decided when it is created and never changes.
package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/panics"
	"svc/pkg/data/audit"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/tenant"
)

// Roster lists the ids of a sandbox's robots, simulated drivers and riders, and says where
// the robots drive.
type Roster struct {
	Drivers []string    `json:"drivers"`
	Riders  []string    `json:"riders"`
	Lat     json.Number `json:"lat"` // the centre of the town
	Lng     json.Number `json:"lng"`
}

// Most is the largest number of robot drivers of a sandbox. One batch get reads them all
// with their positions.
const Most = 50

// Key returns the key of the Roster, the list of a sandbox's robots.
func Key(t table.Tenant) table.Key { return t.Key("SETTINGS", "ROBOTS") }

// Kind stores the Roster, the list of a sandbox's robots. A tenant without one has no
// robots.
var Kind = table.Kind[Roster]{Type: "robots", Personal: "nothing", Once: "written by the demo and svc tenant create",
	Row:  func(t table.Tenant, _ string, _ Roster) table.Item { return table.Item{Key: Key(t), Version: 1} },
	Read: func(it table.Item) (Roster, error) { return table.DecodeOr(it, Roster{}) }}

// Book is the list of the robots' tasks: what they must do at a later time.
func Book(db *table.DB, now func() time.Time) due.Book {
	return due.Book{DB: db, Name: "robots", Now: now}
}

// The kinds of tasks in Book.
const (
	Step    = "step"    // move the tenant's robots on to the present
	Advance = "advance" // move the robots on as if some seconds had passed; the task's id begins with the number
)

// ErrLive is the error of an operation that only a sandbox allows.
var ErrLive = fault.InvalidState("This company is not a sandbox. Only a sandbox has robots; create one with " +
	"svc tenant create SLUG --sandbox.")

// Fill adds robots to a sandbox: robots drivers and as many riders, who drive around the
// point lat, lng (in degrees). If a call was interrupted, another call adds the missing
// robots. Errors: ErrLive.
func Fill(ctx context.Context, db *table.DB, by audit.By, n tenant.Tenant, robots int, lat, lng json.Number) error {
	t := db.Tenant(n.ID)
	flags, err := tenant.Flags(ctx, t)
	switch {
	case err != nil:
		return err
	case !tenant.IsSandbox(flags):
		return ErrLive
	case robots < 1 || robots > Most:
		return fault.Field("robots", "expected 1 to %d", Most)
	}
	roster := Roster{Lat: lat, Lng: lng}
	group, each := panics.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range robots {
		d, c := robotDriver(n, i+1), robotRider(n, i+1)
		roster.Drivers, roster.Riders = append(roster.Drivers, d.ID), append(roster.Riders, c.ID)
		group.Go(func() error { return add(each, t, by, d, c) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("robots: %w", err)
	}
	return table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		tx.Put(Kind.Item(t, "", roster))
		audit.Append(tx, t, by, "sandbox.robots", n.ID, nil, roster)
		Book(db, func() time.Time { return by.At }).Add(tx, due.Task{Tenant: n.ID, Kind: Step, ID: "all", At: by.At})
		return tx.Commit(ctx)
	})
}

// atOnce is how many robots are added at the same time.
const atOnce = 8

// add creates a robot driver and a robot rider. It skips a robot that already exists.
func add(ctx context.Context, t table.Tenant, by audit.By, d driver.Record, c customer.Record) error {
	_, err := driver.Store.ByID(ctx, t, d.ID)
	if errors.Is(err, fault.NotFound()) {
		_, err = driver.Create(ctx, t, by, d, "")
	}
	if err != nil {
		return err
	}
	if _, err = customer.Store.ByID(ctx, t, c.ID); errors.Is(err, fault.NotFound()) {
		_, err = customer.Store.Create(ctx, t, by, c, "")
	}
	return err
}

// id returns the id of the i-th robot driver or rider of a tenant. The result is the same
// in each call. kind is the prefix of the id.
func id(kind string, n tenant.Tenant, i int) string {
	return ids.Derived(kind, time.UnixMilli(0), fmt.Sprintf("robot %s %d", n.ID, i))
}

// robotDriver returns the i-th robot driver, a simulated driver, of a tenant.
func robotDriver(n tenant.Tenant, i int) driver.Record {
	plate, models := fmt.Sprintf("RBT-%03d", i), []string{"Dacia Spring", "Kia Niro", "Tesla Model 3", "Škoda Enyaq"}
	colors := []string{"White", "Blue", "Grey", "Green", "Red"}
	return driver.Record{Driver: driver.Driver{ID: id(ids.Driver, n, i), FirstName: "Robot",
		LastName: fmt.Sprintf("Driver %d", i), Email: fmt.Sprintf("robot-driver%d@%s.example", i, n.Slug),
		Status: driver.Online, VehiclePlate: &plate, VehicleModel: &models[i%len(models)],
		VehicleColor: &colors[i%len(colors)]}}
}

// robotRider returns the i-th robot rider, a simulated rider, of a tenant.
func robotRider(n tenant.Tenant, i int) customer.Record {
	return customer.Record{Customer: customer.Customer{ID: id(ids.Customer, n, i), FirstName: "Robot",
		LastName: fmt.Sprintf("Rider %d", i), Email: fmt.Sprintf("robot-rider%d@%s.example", i, n.Slug)}}
}
