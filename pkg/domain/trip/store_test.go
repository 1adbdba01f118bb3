package trip_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/trip"
)

// storeWith returns a store over a new table. It calls commit in place of
// Tx.Commit.
func storeWith(t *testing.T, commit func(context.Context, *table.Tx) error) trip.Store {
	t.Helper()
	tenant := testkit.Table(t).Tenant(ids.New(ids.Tenant, now))
	return trip.Store{Tenant: tenant, WriteShards: 1, Now: later,
		Commit: func(ctx context.Context, tx *table.Tx, _ any) error { return commit(ctx, tx) }}
}

func commit(ctx context.Context, tx *table.Tx) error { return tx.Commit(ctx) }

func created(t *testing.T, s trip.Store) table.Item {
	t.Helper()
	s.Commit = func(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) }
	fresh := at(trip.Pending, "")
	fresh.ID, fresh.Version = ids.New(ids.Trip, now), 1
	flags := authz.FlagsKey(s.Tenant, 0)
	if err := s.Tenant.Load(t.Context(),
		table.Item{Key: flags, Type: "flags", Attrs: map[string]any{"currency": fresh.Currency}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(context.Background(), fresh, read(t, s, flags)); err != nil {
		t.Fatal(err)
	}
	return read(t, s, trip.Key(s.Tenant, fresh.ID))
}

func read(t *testing.T, s trip.Store, key table.Key) table.Item {
	t.Helper()
	it, err := s.Tenant.Get(context.Background(), key)
	if err != nil || !it.Found() {
		t.Fatalf("%v: found %v, %v", key, it.Found(), err)
	}
	return it
}

func tripOf(t testing.TB, it table.Item) trip.Trip {
	t.Helper()
	tr, err := trip.FromItem(it)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestConflictsAreTriedAgain(t *testing.T) {
	for _, tc := range []struct {
		name      string
		conflicts int
		want      error
	}{
		{"none", 0, nil}, {"seven", 7, nil}, {"more than are tried", 8, fault.Unavailable(nil)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			left := tc.conflicts
			s := storeWith(t, func(ctx context.Context, tx *table.Tx) error {
				if left > 0 {
					left--
					return table.ErrConflict
				}
				return commit(ctx, tx)
			})
			it := created(t, s)
			_, err := s.Accept(context.Background(), it, driver1)
			if !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
		})
	}
}

// If the trip changes between the read and the write, the rules are applied
// again to the new state.
func TestLostVersionIsJudgedAgain(t *testing.T) {
	for _, tc := range []struct {
		name    string
		between func(s trip.Store, it table.Item) error
		want    int
	}{
		{"cancelled meanwhile", func(s trip.Store, it table.Item) error {
			_, err := s.Cancel(context.Background(), it, trip.ByRider(rider), nil)
			return err
		}, badState},
		{"accepted by another meanwhile", func(s trip.Store, it table.Item) error {
			_, err := s.Accept(context.Background(), it, driver2)
			return err
		}, badState},
		{"changed without effect on the rule", func(s trip.Store, it table.Item) error {
			was, err := trip.FromItem(it)
			if err != nil {
				return err
			}
			was.Status = trip.Searching
			tx := s.Tenant.Write()
			tx.Replace(was.Item(s.Tenant, 1))
			return tx.Commit(context.Background())
		}, fine},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s trip.Store
			var it table.Item
			meddled := false
			s = storeWith(t, func(ctx context.Context, tx *table.Tx) error {
				if !meddled {
					meddled = true
					other := s
					other.Commit = func(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) }
					if err := tc.between(other, it); err != nil {
						return err
					}
				}
				return commit(ctx, tx)
			})
			it = created(t, s)
			_, err := s.Accept(context.Background(), it, driver1)
			if got := status(err); got != tc.want {
				t.Fatalf("got %v, want %d", err, tc.want)
			}
		})
	}
}

func TestAbsentTripIsNotFound(t *testing.T) {
	s := storeWith(t, commit)
	if _, err := s.Accept(context.Background(), table.Item{}, driver1); !errors.Is(err, fault.NotFound()) {
		t.Fatalf("got %v", err)
	}
}

func TestLogIsComplete(t *testing.T) {
	s := storeWith(t, commit)
	it := created(t, s)
	id := it.R[len("2026-03-01T12:00:00.000Z#"):]
	steps := []func() error{
		func() error {
			_, err := s.Accept(context.Background(), read(t, s, trip.Key(s.Tenant, id)), driver1)
			return err
		},
		func() error {
			_, err := s.Arrive(context.Background(), read(t, s, trip.Key(s.Tenant, id)), trip.ByDriver(driver1))
			return err
		},
		func() error {
			_, err := s.Start(context.Background(), read(t, s, trip.Key(s.Tenant, id)), trip.ByDriver(driver1))
			return err
		},
		func() error {
			_, err := s.Complete(context.Background(), read(t, s, trip.Key(s.Tenant, id)), trip.ByDriver(driver1),
				trip.Measured{})
			return err
		},
	}
	for _, step := range steps {
		s.Now = s.Now.Add(-time.Hour) // the clock goes back, and the log keeps the order of the changes
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := trip.Log(context.Background(), s.Tenant, tripOf(t, read(t, s, trip.Key(s.Tenant, id))))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		from := trip.Status("-")
		if e.From != nil {
			from = *e.From
		}
		got = append(got, fmt.Sprintf("%s %s>%s", e.Type, from, e.To))
	}
	want := []string{"REQUESTED ->PENDING", "ACCEPTED PENDING>ASSIGNED", "ARRIVED ASSIGNED>DRIVER_ARRIVED",
		"STARTED DRIVER_ARRIVED>IN_PROGRESS", "COMPLETED IN_PROGRESS>COMPLETED"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Older builds stored each entry of a log. An older build may have made some of
// a trip's changes, and this build the others. The log also contains the svc
// user who made a change, and the status before the first change if it is not
// PENDING.
func TestLogOfTwoBuilds(t *testing.T) {
	s := storeWith(t, commit)
	it := created(t, s)
	was := tripOf(t, it)
	was.Status = trip.Searching
	tx := s.Tenant.Write()
	tx.Replace(was.Item(s.Tenant, 1))
	tx.Put(trip.LogItem(s.Tenant, was.ID, 1, trip.LogEntry{ID: "log_1", Type: trip.EventRequested, At: was.RequestedAt,
		Actor: trip.LogActor{Type: "rider", ID: rider}, To: trip.Searching}))
	testkit.Must(t, tx.Commit(t.Context()))
	log := func() []trip.LogEntry {
		t.Helper()
		entries, err := trip.Log(t.Context(), s.Tenant, tripOf(t, read(t, s, it.Key)))
		testkit.Must(t, err)
		return entries
	}
	if got := log(); len(got) != 1 || got[0].ID != "log_1" || got[0].To != trip.Searching {
		t.Errorf("stored by an older build: %+v", got)
	}
	_, err := s.Assign(t.Context(), read(t, s, it.Key), trip.ByOperator("svc:ada"), driver1)
	testkit.Must(t, err)
	_, err = s.Cancel(t.Context(), read(t, s, it.Key), trip.ByRider(rider), ptr("late"))
	testkit.Must(t, err)
	searching, assigned, at := trip.Searching, trip.Assigned, timestamp.Format(later)
	want := []trip.LogEntry{{ID: "log_1", Type: trip.EventRequested, At: was.RequestedAt,
		Actor: trip.LogActor{Type: "rider", ID: rider}, To: trip.Searching},
		{Type: trip.EventAssigned, At: at, Actor: trip.LogActor{Type: "dashboard", ID: "svc:ada"},
			From: &searching, To: trip.Assigned, Data: trip.LogData{DriverID: ptr(driver1)}},
		{Type: trip.EventCancelled, At: timestamp.Format(later.Add(time.Millisecond)), Actor: trip.ByRider(rider),
			From: &assigned, To: trip.Cancelled, Data: trip.LogData{Reason: ptr("late")}}}
	got := log()
	for i := range got {
		if i > 0 && (!ids.Valid(ids.Log, got[i].ID) || got[i].ID == got[i-1].ID || got[i].ID != log()[i].ID) {
			t.Errorf("entry %d has the id %s", i, got[i].ID)
		}
	}
	want[1].ID, want[2].ID = got[1].ID, got[2].ID
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	page, err := s.Tenant.Query(t.Context(), it.PK, table.Query{Prefix: "LOG#", Limit: 9})
	if err != nil || len(page.Items) != 1 {
		t.Errorf("%d entries are stored, %v", len(page.Items), err)
	}
}

// Other systems may set a status that no transition sets. The log shows this
// status as the one before the next change, both before and after the trip is
// accepted.
func TestLogAfterAnotherStatus(t *testing.T) {
	s := storeWith(t, commit)
	it := created(t, s)
	set := func(to trip.Status) {
		was := tripOf(t, read(t, s, it.Key))
		was.Status = to
		tx := s.Tenant.Write()
		tx.Replace(was.Item(s.Tenant, 1))
		testkit.Must(t, tx.Commit(t.Context()))
	}
	set(trip.Searching)
	_, err := s.Accept(t.Context(), read(t, s, it.Key), driver1)
	testkit.Must(t, err)
	set(trip.WaitingCustomer)
	_, err = s.Cancel(t.Context(), read(t, s, it.Key), trip.ByRider(rider), nil)
	testkit.Must(t, err)
	entries, err := trip.Log(t.Context(), s.Tenant, tripOf(t, read(t, s, it.Key)))
	testkit.Must(t, err)
	if len(entries) != 3 || *entries[1].From != trip.Searching || *entries[2].From != trip.WaitingCustomer {
		t.Errorf("the log is %+v", entries)
	}
}

// The log that is derived from a trip has one entry for each transition so far.
func TestLogFollowsFromTheTrip(t *testing.T) {
	s := storeWith(t, commit)
	fare, km := money.Amount("18.5"), money.Amount("6.4")
	tr, from := at(trip.Pending, ""), []trip.Status{trip.Pending, trip.Assigned, trip.DriverArrived, trip.InProgress}
	driver := trip.LogActor{Type: "driver", ID: driver1}
	want := []trip.LogEntry{{Type: trip.EventRequested, At: tr.RequestedAt, Actor: trip.LogActor{Type: "rider", ID: rider},
		To: trip.Pending}}
	for i, step := range []struct {
		act  func(trip.Trip, time.Time) (trip.Trip, error)
		adds trip.LogEntry
	}{
		{func(t trip.Trip, now time.Time) (trip.Trip, error) { return t.Accept(driver1, now) },
			trip.LogEntry{Type: trip.EventAccepted, To: trip.Assigned, Data: trip.LogData{DriverID: ptr(driver1)}}},
		{func(t trip.Trip, now time.Time) (trip.Trip, error) { return t.Arrive(trip.ByDriver(driver1), now) },
			trip.LogEntry{Type: trip.EventArrived, To: trip.DriverArrived}},
		{func(t trip.Trip, now time.Time) (trip.Trip, error) { return t.Start(trip.ByDriver(driver1), now) },
			trip.LogEntry{Type: trip.EventStarted, To: trip.InProgress}},
		{func(t trip.Trip, now time.Time) (trip.Trip, error) {
			return t.Complete(trip.ByDriver(driver1), now, trip.Measured{FinalFare: &fare, Distance: &km})
		}, trip.LogEntry{Type: trip.EventCompleted, To: trip.Completed,
			Data: trip.LogData{FinalFare: &fare, ActualDistance: &km}}},
	} {
		now := later.Add(time.Duration(i) * time.Minute)
		next, err := step.act(tr, now)
		testkit.Must(t, err)
		next.Version++
		step.adds.At, step.adds.Actor, step.adds.From = timestamp.Format(now), driver, &from[i]
		tr, want = next, append(want, step.adds)
		got, err := trip.Log(t.Context(), s.Tenant, tr)
		testkit.Must(t, err)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(trip.LogEntry{}, "ID")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.adds.Type, diff)
		}
	}
}

func TestLogShowsTheLastHundred(t *testing.T) {
	s := storeWith(t, commit)
	var items []table.Item
	for version := range int64(130) {
		items = append(items, trip.LogItem(s.Tenant, "trp_x", version+1, trip.LogEntry{ID: fmt.Sprint(version + 1)}))
	}
	items = append(items, table.Item{Key: s.Tenant.Key("TRIP", "trp_x", "RECEIPT"), Type: "receipt", Doc: struct{}{}})
	if err := s.Tenant.Load(context.Background(), items...); err != nil {
		t.Fatal(err)
	}
	entries, err := trip.Log(context.Background(), s.Tenant, trip.Trip{ID: "trp_x", Version: 130})
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 100 || entries[0].ID != "31" || entries[99].ID != "130" {
		t.Errorf("got %d entries from %s to %s", len(entries), entries[0].ID, entries[len(entries)-1].ID)
	}
}
