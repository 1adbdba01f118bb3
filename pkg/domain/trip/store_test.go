package trip_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/trip"
	"svc/pkg/local/testkit"
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

// One concurrent change happens between the read and the write: the rules are
// applied again to the new state.
func TestLostVersionIsJudgedAgain(t *testing.T) {
	for _, tc := range []struct {
		name    string
		between func(s trip.Store, it table.Item) error
		want    int
	}{
		{"cancelled meanwhile", func(s trip.Store, it table.Item) error {
			_, err := s.Cancel(context.Background(), it, rider, nil)
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
			_, err := s.Arrive(context.Background(), read(t, s, trip.Key(s.Tenant, id)), driver1)
			return err
		},
		func() error {
			_, err := s.Start(context.Background(), read(t, s, trip.Key(s.Tenant, id)), driver1)
			return err
		},
		func() error {
			_, err := s.Complete(context.Background(), read(t, s, trip.Key(s.Tenant, id)), driver1, trip.Measured{})
			return err
		},
	}
	for _, step := range steps {
		s.Now = s.Now.Add(-time.Hour) // the log orders by version, whatever clocks say
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := trip.Log(context.Background(), s.Tenant, id)
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

func TestLogShowsTheLastHundred(t *testing.T) {
	s := storeWith(t, commit)
	var items []table.Item
	for version := range int64(130) {
		items = append(items, trip.LogItem(s.Tenant, "trp_x", version+1, trip.LogEntry{ID: fmt.Sprint(version + 1)}))
	}
	items = append(items, table.Item{Key: s.Tenant.Key("RECEIPT", "TRIP", "trp_x"), Type: "receipt", Doc: struct{}{}})
	if err := s.Tenant.Load(context.Background(), items...); err != nil {
		t.Fatal(err)
	}
	entries, err := trip.Log(context.Background(), s.Tenant, "trp_x")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 100 || entries[0].ID != "31" || entries[99].ID != "130" {
		t.Errorf("got %d entries from %s to %s", len(entries), entries[0].ID, entries[len(entries)-1].ID)
	}
}
