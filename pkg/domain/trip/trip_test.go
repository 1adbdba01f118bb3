package trip_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/domain/fare"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 123_000_000, time.UTC)

const (
	rider, otherRider   = "cus_01JT7M4C6Q8V2N5X9B3D1F7H0A", "cus_01JT7M4C6Q8V2N5X9B3D1F7H0B"
	driver1, driver2    = "drv_01JT7M4C6Q8V2N5X9B3D1F7H0A", "drv_01JT7M4C6Q8V2N5X9B3D1F7H0B"
	notFound, badState  = http.StatusNotFound, http.StatusConflict
	fine, invalidFields = 0, http.StatusBadRequest
)

func ptr[T any](v T) *T { return &v }

// at returns a trip in a status; if driver is "", the trip has no driver.
func at(status trip.Status, driver string) trip.Trip {
	t := trip.Trip{ID: "trp_01JT7M4C6Q8V2N5X9B3D1F7H0K", TripCode: "7K3M9QXZ", Status: status, CustomerID: rider,
		PaymentType: "CASH", OriginAddress: "12 Harbour Street", OriginLat: "40.7128", OriginLng: "-74.006", Currency: "USD",
		RequestedAt: timestamp.Format(now), UpdatedAt: timestamp.Format(now), Version: 3}
	if driver != "" {
		t.DriverID = &driver
	}
	return t
}

func status(err error) int {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Status()
	}
	if err != nil {
		return http.StatusInternalServerError
	}
	return fine
}

type step func(trip.Trip, string) (trip.Trip, error)

var later = now.Add(90 * time.Second)

// The transitions of the specification and of docs/decisions.md, "Operators and trips".
var transitions = []struct {
	name    string
	do      step
	from    []trip.Status
	to      trip.Status
	event   trip.Event
	free    bool // allowed for a trip without a driver
	foreign int  // result for a trip of another person
}{
	{"accept", func(t trip.Trip, who string) (trip.Trip, error) { return t.Accept(who, later) },
		[]trip.Status{trip.Pending, trip.Searching, trip.CollectingOffers}, trip.Assigned, trip.EventAccepted, true,
		badState},
	{"arrived", func(t trip.Trip, who string) (trip.Trip, error) { return t.Arrive(trip.ByDriver(who), later) },
		[]trip.Status{trip.Assigned}, trip.DriverArrived, trip.EventArrived, false, notFound},
	{"start", func(t trip.Trip, who string) (trip.Trip, error) { return t.Start(trip.ByDriver(who), later) },
		[]trip.Status{trip.DriverArrived}, trip.InProgress, trip.EventStarted, false, notFound},
	{"complete", func(t trip.Trip, who string) (trip.Trip, error) {
		return t.Complete(trip.ByDriver(who), later, trip.Measured{})
	}, []trip.Status{trip.InProgress}, trip.Completed, trip.EventCompleted, false, notFound},
}

func TestDriversTransitions(t *testing.T) {
	for _, tr := range transitions {
		for _, from := range trip.Statuses {
			t.Run(tr.name+" from "+string(from), func(t *testing.T) {
				want := badState
				if slices.Contains(tr.from, from) {
					want = fine
				}
				next, err := tr.do(at(from, driver1), driver1)
				if got := status(err); got != want {
					t.Fatalf("got %d (%v), want %d", got, err, want)
				}
				if _, err := tr.do(at(from, driver2), driver1); status(err) != tr.foreign {
					t.Errorf("on another driver's trip: got %v, want %d", err, tr.foreign)
				}
				if _, err := tr.do(at(from, ""), driver1); !tr.free && len(tr.from) == 1 && from != tr.from[0] &&
					status(err) != badState {
					t.Errorf("on a trip without a driver: got %v, want 409", err)
				}
				if want != fine {
					return
				}
				entry := next.LastEntry()
				wantEntry := trip.LogEntry{ID: entry.ID, Type: tr.event, At: timestamp.Format(later),
					Actor: trip.LogActor{Type: string(authz.Driver), ID: driver1}, From: &from, To: tr.to, Data: entry.Data}
				if !ids.Valid(ids.Log, entry.ID) {
					t.Errorf("the entry's id is %q", entry.ID)
				}
				if diff := cmp.Diff(wantEntry, entry); diff != "" {
					t.Errorf("log entry (-want +got):\n%s", diff)
				}
				if next.Status != tr.to || next.UpdatedAt != timestamp.Format(later) || *next.DriverID != driver1 {
					t.Errorf("got %s at %s with driver %s", next.Status, next.UpdatedAt, *next.DriverID)
				}
			})
		}
	}
}

func TestTransitionsSetTheirTimes(t *testing.T) {
	want := timestamp.Format(later)
	a, _ := at(trip.Pending, "").Accept(driver1, later)
	b, _ := at(trip.Assigned, driver1).Arrive(trip.ByDriver(driver1), later)
	c, _ := at(trip.DriverArrived, driver1).Start(trip.ByDriver(driver1), later)
	d, _ := at(trip.InProgress, driver1).Complete(trip.ByDriver(driver1), later, trip.Measured{})
	for name, got := range map[string]*string{"acceptedAt": a.AcceptedAt, "arrivedAt": b.ArrivedAt,
		"startedAt": c.StartedAt, "completedAt": d.CompletedAt} {
		if got == nil || *got != want {
			t.Errorf("%s: got %v, want %s", name, got, want)
		}
	}
}

func TestCancel(t *testing.T) {
	allowed := []trip.Status{trip.Pending, trip.Searching, trip.Assigned, trip.DriverArrived, trip.WaitingCustomer,
		trip.Scheduled}
	for _, from := range trip.Statuses {
		t.Run(string(from), func(t *testing.T) {
			want := badState
			if slices.Contains(allowed, from) {
				want = fine
			}
			next, err := at(from, driver1).Cancel(trip.ByRider(rider), later, ptr("too long"))
			if status(err) != want {
				t.Fatalf("got %v, want %d", err, want)
			}
			if _, err := at(from, driver1).Cancel(trip.ByRider(otherRider), later, nil); status(err) != notFound {
				t.Errorf("another rider's: got %v, want 404", err)
			}
			if want != fine {
				return
			}
			if entry := next.LastEntry(); next.Status != trip.Cancelled || *next.CancelReason != "too long" ||
				*entry.Data.Reason != "too long" ||
				entry.Actor != (trip.LogActor{Type: "rider", ID: rider}) {
				t.Errorf("got %+v with entry %+v", next, entry)
			}
		})
	}
}

func TestFinalFare(t *testing.T) {
	for _, tc := range []struct {
		name                     string
		estimate, measured, want *money.Amount
	}{
		{"the body's", ptr(money.Amount("10")), ptr(money.Amount("12.5")), ptr(money.Amount("12.5"))},
		{"the estimate", ptr(money.Amount("10")), nil, ptr(money.Amount("10"))},
		{"null", nil, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			was := at(trip.InProgress, driver1)
			was.EstimatedFare = tc.estimate
			next, err := was.Complete(trip.ByDriver(driver1), later,
				trip.Measured{FinalFare: tc.measured, Distance: ptr(money.Amount("3.2"))})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, next.FinalFare); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(trip.LogData{FinalFare: tc.want, ActualDistance: ptr(money.Amount("3.2"))},
				next.LastEntry().Data); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMeasurements(t *testing.T) {
	n := func(s string) *money.Amount { return ptr(money.Amount(s)) }
	for _, tc := range []struct {
		name     string
		currency string
		in       trip.Measurements
		want     trip.Measured
		faults   []string
	}{
		{"none", "USD", trip.Measurements{}, trip.Measured{}, nil},
		{"all, exactly", "USD", trip.Measurements{FinalFare: n("18.50"), ActualDistance: n("6.4"),
			ActualDuration: n("1.2e3")}, trip.Measured{FinalFare: n("18.5"), Distance: n("6.4"), Duration: n("1200")}, nil},
		{"zeros", "USD", trip.Measurements{FinalFare: n("-0.0"), ActualDistance: n("0")},
			trip.Measured{FinalFare: n("0"), Distance: n("0")}, nil},
		{"two decimals of yen", "JPY", trip.Measurements{FinalFare: n("100.5")}, trip.Measured{}, []string{"body.finalFare"}},
		{"three decimals of dinar", "KWD", trip.Measurements{FinalFare: n("1.125")}, trip.Measured{FinalFare: n("1.125")},
			nil},
		{"three decimals of dollars", "USD", trip.Measurements{FinalFare: n("1.125")}, trip.Measured{},
			[]string{"body.finalFare"}},
		{"an amount of binary floats", "USD", trip.Measurements{FinalFare: n("12.440000000000001"),
			ActualDistance: n("1e-9")}, trip.Measured{FinalFare: n("12.44"), Distance: n("0.000000001")}, nil},
		{"the smallest double", "USD", trip.Measurements{FinalFare: n("5e-324"), ActualDistance: n("5e-324")},
			trip.Measured{FinalFare: n("0"), Distance: n("0." + strings.Repeat("0", 323) + "5")}, nil},
		{"above 2,000 US dollars", "USD", trip.Measurements{FinalFare: n("2000.01")}, trip.Measured{},
			[]string{"body.finalFare"}},
		{"2,000 US dollars in yen", "JPY", trip.Measurements{FinalFare: n("310000")},
			trip.Measured{FinalFare: n("310000")}, nil},
		{"every fault at once", "USD", trip.Measurements{FinalFare: n("-1"), ActualDistance: n("-0.1"),
			ActualDuration: n("1e99")},
			trip.Measured{}, []string{"body.finalFare", "body.actualDistance", "body.actualDuration"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := tc.in.Measured(tc.currency, "")
			tc.want.Largest = money.DefaultMaxFare(tc.currency)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.faults, fields(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func fields(err error) []string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return nil
	}
	var out []string
	for _, d := range f.Details {
		out = append(out, d.Field)
	}
	return out
}

// TestTimesNeverInvert checks that no time of a trip is before the preceding
// one, even if the clocks of instances differ by ten minutes.
func TestTimesNeverInvert(t *testing.T) {
	ride := trip.Ride{OriginAddress: "A", OriginLat: "1", OriginLng: "2"}
	got, err := ride.New(rider, trip.Terms{Currency: "EUR", Settings: settings.Default}, now)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []func(trip.Trip, time.Time) (trip.Trip, error){
		func(tr trip.Trip, at time.Time) (trip.Trip, error) {
			return tr.Accept("drv_1", at)
		},
		func(tr trip.Trip, at time.Time) (trip.Trip, error) {
			return tr.Arrive(trip.ByDriver("drv_1"), at)
		},
		func(tr trip.Trip, at time.Time) (trip.Trip, error) {
			return tr.Start(trip.ByDriver("drv_1"), at)
		},
		func(tr trip.Trip, at time.Time) (trip.Trip, error) {
			return tr.Complete(trip.ByDriver("drv_1"), at, trip.Measured{})
		},
	} {
		at := now.Add([]time.Duration{-5 * time.Minute, 5 * time.Minute, -5 * time.Minute, 4 * time.Minute}[i])
		before := got.UpdatedAt
		if got, err = step(got, at); err != nil {
			t.Fatal(err)
		}
		entry := got.LastEntry()
		if entry.At < before || got.UpdatedAt < before {
			t.Errorf("step %d: %s, then %s", i, before, entry.At)
		}
	}
	if *got.AcceptedAt < got.RequestedAt || *got.ArrivedAt < *got.AcceptedAt || *got.StartedAt < *got.ArrivedAt ||
		*got.CompletedAt < *got.StartedAt {
		t.Errorf("%s %s %s %s %s", got.RequestedAt, *got.AcceptedAt, *got.ArrivedAt, *got.StartedAt, *got.CompletedAt)
	}
}

func TestNewRide(t *testing.T) {
	ride := trip.Ride{OriginAddress: "12 Harbour Street", OriginLat: "40.71280", OriginLng: "-74.0060",
		DestLat: ptr(json.Number("-0")), DestLng: ptr(json.Number("1.50"))}
	got, err := ride.New(rider, trip.Terms{Currency: "EUR", Settings: settings.Default}, now)
	if err != nil {
		t.Fatal(err)
	}
	want := trip.Trip{ID: got.ID, TripCode: got.TripCode, Status: trip.Pending, CustomerID: rider, Version: 1,
		PaymentType: "CASH", Currency: "EUR",
		OriginAddress: "12 Harbour Street", OriginLat: "40.7128", OriginLng: "-74.006", DestLat: ptr(json.Number("0")),
		DestLng:     ptr(json.Number("1.5")),
		RequestedAt: timestamp.Format(now), UpdatedAt: timestamp.Format(now)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(got.TripCode) != 8 {
		t.Errorf("trip code %q", got.TripCode)
	}
	ride.OriginLat, ride.DestLng, ride.ServiceTypeID = "90.0001", ptr(json.Number("-181")),
		ptr("svt_01JT7M4C6Q8V2N5X9B3D1F7H0K")
	_, err = ride.New(rider, trip.Terms{Currency: "EUR", Settings: settings.Default}, now)
	if diff := cmp.Diff([]string{"body.originLat", "body.destLng", "body.serviceTypeId"}, fields(err)); diff != "" {
		t.Error(diff)
	}
}

// Without a final fare, a completed ride costs what its prices give for the
// measured ride. If a measure that a price needs is missing, the estimate counts.
func TestCompleteByPrices(t *testing.T) {
	taxi := fare.Prices{Base: "3", PerKm: "1.2", PerMin: "0.3", Minimum: "5", Waiting: "0.6", Free: 2}.Snapshot()
	flat := fare.Prices{Base: "12"}.Snapshot()
	num := func(text string) *money.Amount { return ptr(money.Amount(text)) }
	for name, tt := range map[string]struct {
		prices   fare.Snapshot
		estimate *money.Amount
		measured trip.Measured
		want     string // "" for null
	}{
		"measured": {taxi, num("9"), trip.Measured{Distance: num("6.4"), Duration: num("1200")}, "18.48"},
		"the driver's fare": {taxi, num("9"),
			trip.Measured{FinalFare: num("20"), Distance: num("6.4"), Duration: num("1")}, "20"},
		"no duration":                    {taxi, num("9"), trip.Measured{Distance: num("6.4")}, "9"},
		"nothing measured":               {taxi, num("9"), trip.Measured{}, "9"},
		"nothing measured or estimated":  {taxi, nil, trip.Measured{}, ""},
		"a flat price, nothing measured": {flat, nil, trip.Measured{}, ""},
		"a flat price":                   {flat, nil, trip.Measured{Duration: num("60")}, "12"},
		"no service type":                {"", nil, trip.Measured{Distance: num("6.4"), Duration: num("1200")}, ""},
	} {
		tr := at(trip.InProgress, driver1)
		tr.Prices, tr.EstimatedFare = tt.prices, tt.estimate
		tr.ArrivedAt, tr.StartedAt = ptr("2026-03-01T11:00:00.000Z"), ptr("2026-03-01T11:05:00.000Z") // 5 minutes of waiting
		got, err := tr.Complete(trip.ByDriver(driver1), now, tt.measured)
		if err != nil {
			t.Fatal(err)
		}
		if text := got.FinalFare; (text == nil) != (tt.want == "") || text != nil && string(*text) != tt.want {
			t.Errorf("%s: %v, want %q", name, text, tt.want)
		}
	}
}

// A phone that sends metres, milliseconds or days of waiting does not make a fare above the
// company's largest. A fare that somebody typed, and the estimate, were checked before.
func TestMeasuredFareIsBounded(t *testing.T) {
	taxi := fare.Prices{Base: "3", PerKm: "1.2", PerMin: "0.3", Waiting: "0.6"}.Snapshot()
	num := func(text string) *money.Amount { return ptr(money.Amount(text)) }
	for name, tt := range map[string]struct {
		prices   fare.Snapshot
		started  string
		measured trip.Measured
		wrong    []string
	}{
		"metres": {taxi, "12:00", trip.Measured{Distance: num("6400"), Duration: num("1200")},
			[]string{"body.actualDistance"}},
		"milliseconds": {fare.Prices{PerMin: "0.3"}.Snapshot(), "12:00", trip.Measured{Duration: num("1200000")},
			[]string{"body.actualDuration"}},
		"a night of waiting": {taxi, "23:59", trip.Measured{Distance: num("400"), Duration: num("1200")},
			[]string{"body.actualDistance"}},
		"a long ride":   {taxi, "12:00", trip.Measured{Distance: num("640"), Duration: num("1200")}, nil},
		"typed, metres": {taxi, "12:00", trip.Measured{FinalFare: num("9"), Distance: num("6400"), Duration: num("1")}, nil},
		"not priced":    {"", "12:00", trip.Measured{Distance: num("6400"), Duration: num("1200")}, nil},
	} {
		tr := at(trip.InProgress, driver1)
		tr.Prices, tr.ArrivedAt = tt.prices, ptr("2026-03-01T12:00:00.000Z")
		tr.StartedAt = ptr("2026-03-01T" + tt.started + ":00.000Z")
		tt.measured.Largest = "900"
		got, err := tr.Complete(trip.ByDriver(driver1), now, tt.measured)
		if diff := cmp.Diff(tt.wrong, fields(err)); diff != "" {
			t.Errorf("%s: %v\n%s", name, got.FinalFare, diff)
		}
	}
}
