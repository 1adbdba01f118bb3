package company

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/cmd/svc/operation"
	"svc/pkg/data/table"
	"svc/pkg/domain/trip"
)

// tripBook returns the command svc trip book, which books a trip for a rider who calls by
// phone.
func tripBook(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "book SLUG", Short: "Book a trip for somebody who calls",
		Long: "Book a trip, by the rules of the API. The rider is the customer with the phone number, or a new one who\n" +
			"has no mail address. The trip's log and the audit log name you.",
		Example: "  svc trip book metro --phone '+1 212 555 0190' --name 'Iris Novak' \\\n    " +
			"--from '12 Harbour Street' --at 40.7128,-74.006"}
	cmd.Annotations = map[string]string{"customerId": "rider", "originAddress": "from", "originLat": "at",
		"originLng": "at", "destLat": "to", "destLng": "to"}
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
	cmd.RunE = c.In(func(ctx context.Context, p cli.Platform, t table.Tenant, args []string) error {
		if (rider == "") == (b.Phone == "") || b.OriginAddress == "" || !strings.Contains(at, ",") ||
			to != "" && !strings.Contains(to, ",") {
			return cli.Usagef("expected --phone or --rider, --from, and --at as lat,lng, such as 40.7128,-74.006")
		}
		if err := cli.OneOf("payment", b.PaymentType, []string{"CASH", "CARD", "WALLET"}); err != nil {
			return err
		}
		if rider != "" {
			one, err := cli.FindRider(ctx, t, rider)
			if err != nil {
				return err
			}
			b.CustomerID, b.Name = one.ID, "" // --name is for a new rider only
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
		answer, err := operation.Ask(ctx, p, t, "svc_book_trip", b)
		var made trip.Trip
		if err == nil {
			err = json.Unmarshal(answer, &made)
		}
		if err != nil {
			return err
		}
		return c.Done(made, sayBooked(made, args[0]), made.ID, made.TripCode, made.CustomerID, string(made.Status))
	})
	return cmd
}

// sayBooked returns the format of the message about a booked trip. The verbs of the
// format are the id and the code of the trip, the id of the rider, and the status.
func sayBooked(made trip.Trip, slug string) string {
	text := "Booked trip %s (%s) for rider %s. It is %s."
	if made.ServiceTypeID == nil {
		text += "\nIt has no service type, so the driver settles at 0 for it. To set prices and commission, book with " +
			"--service (svc service list " + slug + ")."
	}
	return text
}

// optional returns a numeric flag as a JSON number, nil if its text is empty.
func optional(text string) *json.Number {
	if text == "" {
		return nil
	}
	n := json.Number(text)
	return &n
}
