package imports_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/base/ids"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/trip"
)

// rider adds a customer.
func (c company) rider(t *testing.T, address string) string {
	t.Helper()
	r, err := customer.Store.Create(t.Context(), c.Tenant, c.target.By, customer.Record{Customer: customer.Customer{
		Name: "Ann One", FirstName: "Ann", LastName: "One", Email: address}}, "")
	testkit.Must(t, err)
	return r.ID
}

// ride returns the trip that a ride of another system became.
func (c company) ride(t *testing.T, reference string) trip.Trip {
	t.Helper()
	it, err := c.Get(t.Context(), trip.Key(c.Tenant, trip.FormerID(c.Tenant, reference)))
	testkit.Must(t, err)
	tr, err := trip.FromItem(it)
	if err != nil {
		t.Fatalf("the ride %s: %v", reference, err)
	}
	return tr
}

func fareOf(tr trip.Trip) string {
	if tr.FinalFare == nil {
		return "none"
	}
	return string(*tr.FinalFare)
}

// rideWith returns a file of one ride that has a cell in a column. The other cells fit what
// is wanted of it.
func rideWith(reference, column, cell, want string) []byte {
	cells := map[string]string{"email": "ann@metro.example", "tripId": reference, "originAddress": "A",
		"originLat": "52.5", "originLng": "13.4", "requestedAt": "2024-03-01T08:00:00Z",
		"completedAt": "2024-03-01T23:30:00Z", "fare": "5"}
	if cells[column] = cell; column == "requestedAt" && strings.Contains(want, "T23") {
		cells["completedAt"] = "2024-03-02"
	}
	if want == "CANCELLED" {
		cells["completedAt"], cells["fare"] = "", "0"
	}
	var names, values []string
	for name, value := range cells {
		names, values = append(names, name), append(values, value)
	}
	return []byte(strings.Join(names, "\t") + "\n" + strings.Join(values, "\t") + "\n")
}

// TestValuesOfRides: amounts, times and words as people and programs of many countries
// write them.
func TestValuesOfRides(t *testing.T) {
	t.Parallel()
	c := newCompany(t, testkit.Table(t), "DE", "EUR", "Europe/Berlin")
	c.rider(t, "ann@metro.example")
	const fare, at, status, payment = "fare", "requestedAt", "status", "paymentType"
	for n, tt := range []struct{ options, column, cell, want string }{
		{"comma", fare, "1.234,50", "1234.5"}, {"comma", fare, "1 234,50", "1234.5"},
		{"comma", fare, "1\u202f234,50", "1234.5"}, {"comma", fare, "12,50", "12.5"}, {"comma", fare, "12.50", "12.5"},
		{"comma", fare, "1.234.567,89", "1234567.89"}, {"comma", fare, "1.234.567", "1234567"},
		{"comma", fare, "1.234", "fault"}, {"comma", fare, "1.23,45", "fault"}, {"comma", fare, "1,234.50", "fault"},
		{"comma", fare, "1'234,50", "1234.5"},
		{"", fare, "1,234.50", "1234.5"}, {"", fare, "1’234.50", "1234.5"}, {"", fare, "1,234,567", "1234567"},
		{"", fare, "1,234", "fault"}, {"", fare, "12,50", "fault"}, {"", fare, "1.234,50", "fault"},
		{"", at, "2024-03-01 12:00:00 +0000", "2024-03-01T12:00:00.000Z"},
		{"", at, "2024-03-01 12:00:00 +0000 UTC", "2024-03-01T12:00:00.000Z"},
		{"", at, "2024-03-01 12:00:00 UTC", "2024-03-01T12:00:00.000Z"},
		{"", at, "2024-03-01 12:00:00.250Z", "2024-03-01T12:00:00.250Z"},
		{"", at, "2024-03-01T12:00:00 -05:00", "2024-03-01T17:00:00.000Z"},
		{"", at, "2024-03-01  9:05", "2024-03-01T08:05:00.000Z"}, {"", at, "2024-03-01, 9:05 pm", "2024-03-01T20:05:00.000Z"},
		{"", at, "2024-03-01 12:30 AM", "2024-02-29T23:30:00.000Z"}, {"", at, "2024-03-01 13:30 PM", "fault"},
		{"", at, "01.03.2024 12:00", "fault"}, {"", at, "03/01/2024 12:00", "fault"},
		{"dmy", at, "01.03.2024 12:00", "2024-03-01T11:00:00.000Z"}, {"dmy", at, "1/3/2024 8.30", "2024-03-01T07:30:00.000Z"},
		{"mdy", at, "03/01/2024 12:05:09 PM", "2024-03-01T11:05:09.000Z"}, {"mdy", at, "13/01/2024", "fault"},
		{"", status, "Completed", "COMPLETED"}, {"", status, "abgeschlossen", "COMPLETED"}, {"", status, "success",
			"COMPLETED"},
		{"", status, "CANCELED", "CANCELLED"}, {"", status, "Cancelled by rider", "CANCELLED"},
		{"", status, "Storniert", "CANCELLED"}, {"", status, "annulé", "CANCELLED"}, {"", status, "driver_canceled",
			"CANCELLED"},
		{"", status, "anulowano", "CANCELLED"}, {"", status, "törölve", "CANCELLED"}, {"", status, "waiting", "fault"},
		{"", payment, "Credit card", "CARD"}, {"", payment, "bar", "CASH"}, {"", payment, "Karte", "CARD"},
		{"", payment, "Efectivo", "CASH"}, {"", payment, "gotówka", "CASH"}, {"", payment, "készpénz", "CASH"},
		{"", payment, "voucher", "fault"},
	} {
		t.Run(tt.options+" "+tt.column+" "+tt.cell, func(t *testing.T) {
			o := imports.Options{Kind: "trips"}
			if tt.options == "comma" {
				o.Decimal = "comma"
			} else {
				o.Dates = tt.options
			}
			rec, faults := c.imports(t, o, rideWith(fmt.Sprint("R-", n), tt.column, tt.cell, tt.want))
			if tt.want == "fault" {
				if tally(rec) != "0/0/0/1" || !strings.HasPrefix(strings.Join(faults, ", "), "2 "+tt.column) {
					t.Errorf("%s %v", tally(rec), faults)
				}
				return
			}
			if tally(rec) != "1/0/0/0" {
				t.Fatalf("%s %v", tally(rec), faults)
			}
			tr := c.ride(t, fmt.Sprint("R-", n))
			if got := map[string]string{fare: fareOf(tr), at: tr.RequestedAt, status: string(tr.Status),
				payment: tr.PaymentType}[tt.column]; got != tt.want {
				t.Errorf("it is %s, want %s", got, tt.want)
			}
		})
	}
}

// TestRidesOverTheChange: local times of a ride over the end of summer time are those that
// were, wherever and however far the clock is put back.
func TestRidesOverTheChange(t *testing.T) {
	t.Parallel()
	db := testkit.Table(t)
	for _, tt := range []struct{ zone, begin, end, first, last string }{
		{"America/New_York", "2024-11-03 01:50", "2024-11-03 01:10", "05:50", "06:10"},
		{"America/New_York", "2024-11-03 01:10", "2024-11-03 01:50", "05:10", "05:50"},
		{"America/New_York", "2024-11-03 00:50", "2024-11-03 01:10", "04:50", "05:10"},
		{"Europe/Berlin", "2024-10-27 02:50", "2024-10-27 02:10", "00:50", "01:10"},
		{"Europe/Berlin", "2024-10-27 02:59:59", "2024-10-27 02:00:00", "00:59", "01:00"},
		{"Australia/Lord_Howe", "2024-04-07 01:50", "2024-04-07 01:35", "14:50", "15:05"},
		{"America/Santiago", "2024-04-06 23:50", "2024-04-06 23:10", "02:50", "03:10"},
		{"Europe/Berlin", "2024-03-31 01:50", "2024-03-31 03:10", "00:50", "01:10"},
		{"Europe/Berlin", "2024-03-31 01:50", "2024-03-31 02:30", "00:50", "01:30"},
	} {
		t.Run(tt.zone+" "+tt.begin, func(t *testing.T) {
			c := newCompany(t, db, "DE", "EUR", tt.zone)
			c.rider(t, "ann@metro.example")
			file := "email,tripId,requestedAt,completedAt,originAddress,originLat,originLng,fare\n" +
				"ann@metro.example,1," + tt.begin + "," + tt.end + ",A,1,1,5\n"
			if rec, faults := c.imports(t, imports.Options{Kind: "trips"}, []byte(file)); tally(rec) != "1/0/0/0" {
				t.Fatalf("%s %v", tally(rec), faults)
			}
			tr := c.ride(t, "1")
			if got := tr.RequestedAt[11:16] + " to " + (*tr.CompletedAt)[11:16]; got != tt.first+" to "+tt.last {
				t.Errorf("the ride was %s, want %s to %s", got, tt.first, tt.last)
			}
		})
	}
}

// TestRowsOfExportedTrips: a row of this service's own export does not become a second
// trip, and a row that says otherwise is a fault.
func TestRowsOfExportedTrips(t *testing.T) {
	t.Parallel()
	c := newCompany(t, testkit.Table(t), "DE", "EUR", "UTC")
	rider, other := c.rider(t, "ann@metro.example"), c.rider(t, "bob@metro.example")
	who, err := driver.Create(t.Context(), c.Tenant, c.target.By, driver.Record{Driver: driver.Driver{FirstName: "Dan",
		Email: "dan@metro.example", Status: driver.Offline}}, "")
	testkit.Must(t, err)
	head := "id,status,driverId,customerId,originAddress,originLat,originLng,finalFare,currency,requestedAt,completedAt\n"
	row := func(id, rider, fare string) string {
		return strings.Join([]string{id, "COMPLETED", who.ID, rider, "A", "1", "1", fare, "EUR",
			"2024-03-01T08:00:00.000Z", "2024-03-01T08:30:00.000Z\n"}, ",")
	}
	o := imports.Options{Kind: "trips", Key: "externalId"}
	if rec, faults := c.imports(t, o, []byte(head+row("R-1", rider, "5"))); tally(rec) != "1/0/0/0" {
		t.Fatalf("a ride of another system: %s %v", tally(rec), faults)
	}
	tr := c.ride(t, "R-1")
	if tr.CustomerID != rider || *tr.DriverID != who.ID {
		t.Fatalf("the ride is of %s and %s", tr.CustomerID, *tr.DriverID)
	}
	file := head + row(tr.ID, rider, "5") + row(tr.ID, rider, "6") + row(tr.ID, other, "5") +
		row(ids.New(ids.Trip, time.Now()), rider, "7") + strings.Replace(row("R-2", rider, "5"), "EUR", "USD", 1)
	rec, faults := c.imports(t, o, []byte(strings.Replace(file, tr.ID+",COMPLETED,"+who.ID+","+rider+",A,1,1,6", tr.ID+
		"x,COMPLETED,"+who.ID+","+rider+",A,1,1,6", 1)))
	if got := strings.Join(faults, ", "); tally(rec) != "2/0/1/2" || got != "4 tripId duplicate, 6 currency invalid" {
		t.Errorf("%s %s", tally(rec), got)
	}
	for _, wrong := range []string{row(tr.ID, rider, "6"), row(tr.ID, other, "5")} {
		if rec, faults := c.imports(t, o, []byte(head+wrong)); tally(rec) != "0/0/0/1" || faults[0] != "2 tripId taken" {
			t.Errorf("%s: %s %v", wrong, tally(rec), faults)
		}
	}
}
