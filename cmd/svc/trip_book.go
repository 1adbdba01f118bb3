package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/pkg/base/phone/plans"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

func (c *cli) tripBook() *cobra.Command {
	cmd := &cobra.Command{Use: "book SLUG", Short: "Book a trip for somebody who calls",
		Long: "Book a trip, by the rules of the API. The rider is the customer with the phone number, or a new one who\n" +
			"has no mail address. The trip's log and the audit log name you.",
		Example: "  svc trip book metro --phone '+1 212 555 0190' --name 'Iris Novak' \\\n    " +
			"--from '12 Harbour Street' --at 40.7128,-74.006"}
	var b trip.Booking
	var rider, at, to, service, notes string
	cmd.Flags().StringVar(&b.Phone, "phone", "", "`number` of the rider who calls")
	cmd.Flags().StringVar(&b.Name, "name", "", "`name` of a rider who is new")
	cmd.Flags().StringVar(&rider, "rider", "", "the rider, by mail `address` or id, in place of --phone")
	cmd.Flags().StringVar(&b.OriginAddress, "from", "", "`address` at which the ride begins; required")
	cmd.Flags().StringVar(&at, "at", "", "`lat,lng` of that address; required")
	cmd.Flags().StringVar(&to, "to", "", "`lat,lng` at which the ride ends")
	cmd.Flags().StringVar(&service, "service", "", "service type, by `id`")
	cmd.Flags().StringVar(&b.PaymentType, "payment", "CASH", "CASH, CARD or WALLET: the `type` of payment")
	cmd.Flags().StringVar(&b.ScheduledFor, "scheduled", "", "`time` of a ride for later, with an offset")
	cmd.Flags().StringVar(&notes, "notes", "", "the rider's `words` to the driver")
	cmd.RunE = c.in(func(ctx context.Context, _ platform, t table.Tenant, _ []string) error {
		if (rider == "") == (b.Phone == "") || b.OriginAddress == "" || !strings.Contains(at, ",") ||
			to != "" && !strings.Contains(to, ",") {
			return usagef("expected --phone or --rider, --from, and --at as lat,lng, such as 40.7128,-74.006")
		}
		if err := oneOf("payment", b.PaymentType, []string{"CASH", "CARD", "WALLET"}); err != nil {
			return err
		}
		if rider != "" {
			one, err := findRider(ctx, t, rider)
			if err != nil {
				return err
			}
			b.CustomerID = one.ID
		}
		lat, lng, _ := strings.Cut(at, ",")
		b.OriginLat, b.OriginLng = json.Number(lat), json.Number(lng)
		if lat, lng, _ := strings.Cut(to, ","); to != "" {
			b.DestLat, b.DestLng = optional(lat), optional(lng)
		}
		if service != "" {
			b.ServiceTypeID = &service
		}
		if notes != "" {
			b.Notes = &notes
		}
		d, err := desk(ctx, t)
		if err != nil {
			return err
		}
		made, err := d.Book(ctx, b)
		if err != nil {
			return err
		}
		return c.done(made, "Booked trip %s (%s) for rider %s. It is %s.", made.ID, made.TripCode, made.CustomerID,
			string(made.Status))
	})
	return cmd
}

// desk returns what makes trips for a platform operator.
func desk(ctx context.Context, t table.Tenant) (trip.Desk, error) {
	flags, err := tenant.Flags(ctx, t)
	if err != nil {
		return trip.Desk{}, err
	}
	shards, err := tenant.WriteShards(ctx, t)
	s := intervene(t, shards, new(trip.Status))
	s.Strict, s.Now = tenant.Strict(flags), s.Now.Truncate(time.Millisecond)
	return trip.Desk{Store: s, Flags: flags, Item: t.Get, By: by(), Phones: plans.Read}, err
}
