package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

func tripCommand(c *cli) *cobra.Command {
	return group("trip", "Trips: list, show, and change for a rider or driver who cannot",
		c.tripList(), c.tripShow(), c.tripMove(), c.tripComplete(), c.tripHandOver(), c.tripUnassign(), c.tripCancel(),
		c.tripDelete(), c.tripFare(), c.tripBook())
}

// wordsOf converts values of a string type to strings.
func wordsOf[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

func (c *cli) tripList() *cobra.Command {
	cmd := &cobra.Command{Use: "list SLUG", Short: "List a tenant's trips, newest first",
		Example: "  svc trip list metro\n  svc trip list metro --status SEARCHING\n" +
			"  svc trip list metro --driver driver1@metro.example --from 2026-01-31"}
	var asked tripQuery
	cmd.Flags().StringVar(&asked.status, "status", "", "only trips with this `STATUS`")
	cmd.Flags().StringVar(&asked.rider, "rider", "", "only trips of this rider, by mail `address` or id")
	cmd.Flags().StringVar(&asked.driver, "driver", "", "only trips of this driver, by mail `address` or id")
	cmd.Flags().StringVar(&asked.from, "from", "", "only trips requested at this `time` or later")
	cmd.Flags().StringVar(&asked.to, "to", "", "only trips requested before this `time`; a date includes the day")
	limit := cmd.Flags().Int("limit", 50, "trips at most")
	cmd.RunE = c.in(func(ctx context.Context, p platform, t table.Tenant, _ []string) error {
		filter, err := asked.filter(ctx, t)
		if err != nil {
			return err
		}
		names := namesOf(p, t)
		return list(ctx, c, t, *limit, "REQUESTED STATUS CODE FARE RIDER DRIVER ID+", func(one trip.Trip) []any {
			amount, driver := "", ""
			if fare := cmp.Or(one.FinalFare, one.EstimatedFare); fare != nil {
				amount = fare.String() + " " + one.Currency
			}
			if one.DriverID != nil {
				driver = names.person(ctx, authz.Driver, *one.DriverID)
			}
			return []any{one.RequestedAt, string(one.Status), one.TripCode, amount,
				names.person(ctx, authz.Rider, one.CustomerID), driver, one.ID}
		}, func(ctx context.Context, t table.Tenant, after string, limit int) ([]trip.Trip, string, error) {
			return trip.Recent(ctx, t, filter, after, limit)
		})
	})
	return cmd
}

// tripQuery is what the flags of svc trip list ask for.
type tripQuery struct{ status, rider, driver, from, to string }

// filter finds the people and reads the times of a query. A date alone is a day
// in the tenant's time zone.
func (q tripQuery) filter(ctx context.Context, t table.Tenant) (f trip.Filter, err error) {
	if err := oneOf("status", q.status, wordsOf(trip.Statuses)); err != nil {
		return f, err
	}
	f.Status = trip.Status(q.status)
	if q.rider != "" {
		one, err := findRider(ctx, t, q.rider)
		if err != nil {
			return f, err
		}
		f.CustomerID = one.ID
	}
	if q.driver != "" {
		one, err := findDriver(ctx, t, q.driver)
		if err != nil {
			return f, err
		}
		f.DriverID = one.ID
	}
	it, err := t.Get(ctx, tenant.Key(t))
	if err != nil {
		return f, err
	}
	zone, err := tenant.Zone(it)
	if err != nil {
		return f, err
	}
	if q.from != "" {
		in, err := timestamp.ParseInput(q.from)
		if err != nil {
			return f, usagef("--from %s: %v", q.from, err)
		}
		f.From = in.From(zone)
	}
	if q.to != "" {
		in, err := timestamp.ParseInput(q.to)
		if err != nil {
			return f, usagef("--to %s: %v", q.to, err)
		}
		f.To = in.To(zone)
	}
	return f, nil
}

// tripWithLog is a trip as --json prints it.
type tripWithLog struct {
	trip.Trip
	Log []trip.LogEntry `json:"log"`
}

func (c *cli) tripShow() *cobra.Command {
	return &cobra.Command{Use: "show SLUG ID|CODE", Short: "Show a trip and its log",
		Example: "  svc trip show metro trp_01JT7M4C6Q8V2N5X9B3D1F7H0K\n  svc trip show metro 7K3M9QXZ",
		RunE: c.in(func(ctx context.Context, p platform, t table.Tenant, args []string) error {
			_, one, err := readTrip(ctx, t, args[1])
			if err != nil {
				return err
			}
			log, err := trip.Log(ctx, t, one)
			if err != nil {
				return err
			}
			if c.json {
				return c.printJSON(tripWithLog{one, log})
			}
			shown, err := flat(one)
			if err != nil {
				return err
			}
			names := namesOf(p, t)
			shown.add("rider", names.anybody(ctx, one.CustomerID))
			if one.DriverID != nil {
				shown.add("driver", names.anybody(ctx, *one.DriverID))
			}
			slices.SortFunc(shown.rows, func(a, b []string) int { return cmp.Compare(a[0], b[0]) })
			if err := c.show(nil, shown); err != nil {
				return err
			}
			rows := cols{head: "AT EVENT BY NAME STATUS ID+"}
			for _, e := range log {
				rows.add(e.At, string(e.Type), e.Actor.Type, names.anybody(ctx, e.Actor.ID), string(e.To), e.Actor.ID)
			}
			return c.show(nil, rows)
		})}
}

// readTrip reads a trip by its id, or by its code if it is one of the newest
// trips. It also returns the trip's item, which a transition replaces.
func readTrip(ctx context.Context, t table.Tenant, id string) (table.Item, trip.Trip, error) {
	if len(id) == codeLength {
		found, err := byCode(id, func(t trip.Trip) (string, string) { return t.TripCode, t.ID },
			func(after string, limit int) ([]trip.Trip, string, error) {
				return trip.Recent(ctx, t, trip.Filter{}, after, limit)
			})
		if err != nil {
			return table.Item{}, trip.Trip{}, err
		}
		id = found
	}
	it, err := t.Get(ctx, trip.Key(t, id))
	if err == nil && !it.Found() {
		err = missing(fault.NotFound(), "trip", id)
	}
	if err != nil {
		return it, trip.Trip{}, err
	}
	one, err := trip.FromItem(it)
	return it, one, err
}
