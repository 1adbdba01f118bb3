package settlement_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/internal/test/streamtest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/settlement"
	"svc/pkg/base/codec"
	"svc/pkg/base/money"
	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/trip"
)

// badTrips make the settlement of a trip fail by its data. mend corrects it.
var badTrips = map[string]func(p *fixture, tr trip.Trip) (mend func()){
	"a trip without its document": func(p *fixture, tr trip.Trip) func() {
		p.load(table.Item{Key: trip.Key(p.tenant, tr.ID), Type: "trip", Attrs: map[string]any{"status": "COMPLETED"}})
		return func() { p.load(tr.Item(p.tenant, 1)) }
	},
	"a fare that is no amount": func(p *fixture, tr trip.Trip) func() {
		it := tr.Item(p.tenant, 1)
		doc, err := codec.Marshal(it.Doc)
		testkit.Must(p.t, err)
		it.Doc = json.RawMessage(bytes.Replace(doc, []byte(`"ff":10`), []byte(`"ff":1e9999`), 1))
		p.load(it)
		return func() { p.load(tr.Item(p.tenant, 1)) }
	},
	"a payment type that no build knew": func(p *fixture, tr trip.Trip) func() {
		odd := tr
		odd.PaymentType = "BARTER"
		p.load(odd.Item(p.tenant, 1))
		return func() { p.load(tr.Item(p.tenant, 1)) }
	},
	"a driver whose count is a text": func(p *fixture, tr trip.Trip) func() {
		d := driver.Record{Driver: driver.Driver{ID: *tr.DriverID, FirstName: "Odd", LastName: "One",
			Email: "o@x.example", Status: driver.Online}}
		it := driver.Item(p.tenant, d, 1)
		it.Attrs["totalTrips"] = "none"
		p.load(it, tr.Item(p.tenant, 1))
		return func() { p.change(authz.ActorKey(p.tenant, authz.Driver, d.ID), map[string]any{"totalTrips": 0}) }
	},
}

// One trip that cannot be settled delays none of the 100 around it: its records
// become a dead letter once, and a replay after the mending settles it once.
func TestBadDataDelaysNobody(t *testing.T) {
	testkit.LongHere(t)
	for name, damage := range badTrips {
		for _, outage := range []bool{false, true} {
			if outage {
				if name += ", and an outage"; !strings.HasPrefix(name, "a trip") {
					continue // the outage is the same for the others
				}
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				delaysNobody(t, damage, outage)
			})
		}
	}
}

// delaysNobody settles 100 trips around one that is damaged, and then the mended
// one.
func delaysNobody(t *testing.T, damage func(*fixture, trip.Trip) func(), outage bool) {
	p := newFixture(t, streamtest.Table(t), 1)
	p.person(1)
	for i := range 50 {
		p.load(p.ride(i).Item(p.tenant, 1))
	}
	bad := p.ride(50)
	p.trips, bad.DriverID, bad.CustomerID = p.trips[:50], ptr(p.drivers[3]), p.riders[3]
	bad.FinalFare, bad.CommissionRate = ptr(money.Amount("10")), ptr(money.Amount("0.2"))
	mend := damage(p, bad)
	for i := range 50 {
		p.load(p.ride(51+i).Item(p.tenant, 1))
	}

	var given []events.DynamoDBEventRecord
	f := settlement.Function{DB: p.db, Now: func() time.Time { return start },
		GiveUp: func(_ context.Context, records []events.DynamoDBEventRecord, cause error) error {
			if !errors.Is(cause, table.ErrData) {
				t.Errorf("given up for %v", cause)
			}
			given = append(given, records...)
			return nil
		}}
	tries, under := 1, func(int) context.Context { return t.Context() }
	if outage {
		tries, under = 3, func(attempt int) context.Context {
			if p.crash.Revive(); attempt < 2 {
				return p.crash.CrashAt(t.Context(), 30+60*attempt, attempt == 0)
			}
			return t.Context()
		}
	}
	all := streamtest.Records(t, p.name)
	streamtest.Deliver(t, f.Handle, all, tries, under)
	p.crash.Revive()
	if len(given) != 1 {
		t.Fatalf("%d records were given up", len(given))
	}
	if key, _ := stream.KeyOf(given[0]); key != trip.Key(p.tenant, bad.ID) {
		t.Errorf("the record of %v was given up", key)
	}
	p.audit()

	mend()
	for range 2 {
		if err := f.Redo(t.Context(), trip.Key(p.tenant, bad.ID)); err != nil {
			t.Fatal(err)
		}
	}
	given, p.trips = nil, append(p.trips, bad)
	mended := streamtest.Records(t, p.name)[len(all):]
	streamtest.Deliver(t, f.Handle, slices.Concat(all, mended), 1, nil)
	if len(given) != 0 {
		t.Errorf("%d records were given up after the mending", len(given))
	}
	p.audit()
}
