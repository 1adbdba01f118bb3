package settlement_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/background/projection"
	"svc/pkg/background/reconcile"
	"svc/pkg/background/settlement"
	"svc/pkg/domain/dispatch"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// after is what a verb leads to: its status and the state of the trip.
type after struct {
	status int
	state  string
}

// rules knows what each verb does in each state, from verbs that ran alone.
type rules struct {
	mu    sync.Mutex
	known map[string]after
	races atomic.Int64
}

// of returns what the verb does in the state. The verbs before lead from the place to
// this state.
func (k *rules) of(r *road, place, state string, v verb, before ...verb) after {
	k.mu.Lock()
	out, ok := k.known[state+"|"+v.name]
	k.mu.Unlock()
	if ok {
		return out
	}
	r.doing = fmt.Sprint(place, ": ", v.name, " alone")
	r.begin(place)
	for _, b := range before {
		b.do(r)
	}
	out.status = v.do(r)
	out.state, _ = r.state()
	r.end()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[state+"|"+v.name] = out
	return out
}

// race sends two verbs at once. Their answers and the trip must be those of one of
// the two orders. If neither changes anything in this place, there is no race.
func (k *rules) race(r *road, place string, a, b verb) {
	first, second := k.of(r, place, place, a), k.of(r, place, place, b)
	if first.status != 200 && second.status != 200 {
		return
	}
	k.races.Add(1)
	last := k.of(r, place, second.state, a, b)
	legal := []string{fmt.Sprint(first.status, " ", k.of(r, place, first.state, b, a)),
		fmt.Sprint(last.status, " ", after{second.status, last.state})}
	r.doing = fmt.Sprint(place, ": ", a.name, " and ", b.name)
	r.begin(place)
	_, entries := r.state()
	var answers [2]int
	var group sync.WaitGroup
	for i, v := range []verb{a, b} {
		group.Go(func() { answers[i] = v.do(r) })
	}
	group.Wait()
	state, now := r.state()
	got := fmt.Sprint(answers[0], " ", after{answers[1], state})
	if !slices.Contains(legal, got) {
		r.t.Errorf("%s: %s and %s: %s, want one of %v", place, a.name, b.name, got, legal)
	}
	for i, v := range []verb{a, b} {
		// A second correction to the same fare changes nothing.
		if v.logs && answers[i] == 200 && (i == 0 || a.name != b.name || !strings.Contains(a.name, "corrects")) {
			entries++
		}
	}
	if now != entries && !strings.HasPrefix(state, "gone") {
		r.t.Errorf("%s: %s and %s: %v and %d entries in the log, want %d", place, a.name, b.name, answers, now, entries)
	}
	r.end()
	r.end() // the stream may repeat a record
}

// pair is two verbs at a place of the road.
type pair struct {
	place string
	a, b  verb
	later bool // a comes after b in the list of verbs
}

func pairs() (out []pair) {
	for _, place := range places {
		for i, a := range verbs() {
			for j, b := range verbs() {
				out = append(out, pair{place, a, b, j < i})
			}
		}
	}
	return out
}

// TestRacesOfEveryPair sends pairs of verbs at once to a trip at each place of its road, in a
// company where rides make their drivers BUSY. Afterwards the stored data agree: one driver
// and one settlement, the log, the counters, and the wallets to the cent.
func TestRacesOfEveryPair(t *testing.T) {
	testkit.LongHere(t)
	s := apitest.New(t, testkit.Table(t), slices.Concat(trip.Rows(), dispatch.Rows(), receipt.TripRows())...)
	tenant := s.Tenant("USD", 1)
	s.Flags(tenant, map[string]any{"taxiEnabled": true, "currency": "USD", "readShards": 1, "writeShards": 1,
		"driverStatus": "strict"})
	all, queue := pairs(), make(chan pair)
	k := &rules{known: map[string]after{}}
	var group sync.WaitGroup
	var roads [4]*road
	for i := range roads {
		r := newRoad(t, s, tenant)
		roads[i] = r
		group.Go(func() {
			for m := range queue {
				k.race(r, m.place, m.a, m.b)
			}
		})
	}
	all = slices.DeleteFunc(all, func(p pair) bool { return p.later })
	for _, n := range testkit.Sample(t, len(all)) {
		queue <- all[n]
	}
	close(queue)
	group.Wait()
	for _, r := range roads {
		have, want := decimal.Zero, decimal.Zero
		for _, id := range r.drivers {
			if it := r.read(wallet.Key(tenant, wallet.Driver, id)); it.Found() {
				w, err := wallet.FromItem(it)
				testkit.Must(t, err)
				have = have.Add(w.Balance)
			}
		}
		for _, owed := range r.owed {
			want = want.Add(owed)
		}
		if !have.Equal(want) || have.IsZero() {
			t.Errorf("the drivers have %s, and the receipts give them %s", have, want)
		}
	}
	t.Logf("%d races, %d rules", k.races.Load(), len(k.known))
	run := &reconcile.Run{Found: func(d reconcile.Difference) { t.Errorf("%+v", d) }}
	later := func() time.Time { return s.Now().Add(time.Hour) }
	testkit.Must(t, (&settlement.Check{Run: run, Now: later}).Tenant(t.Context(), tenant))
	testkit.Must(t, (&projection.Check{Run: run, Step: projection.Step{Now: later}}).Tenant(t.Context(), tenant))
}
