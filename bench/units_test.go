package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/cryptotest"
	"text/tabwriter"
	"time"

	"svc/internal/test/script"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/counter"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
	"svc/pkg/oauth/flow"
)

var update = flag.Bool("update", false, "write testdata/units.txt anew")

// unitsFile is the golden table.
const unitsFile = "testdata/units.txt"

// The columns of the golden table that tests read.
const rounds, reads, writes, tenantCeiling, hot = 1, 2, 3, 6, 9

// shardsOfUnits is the number of shards of the tenant whose requests are counted.
const shardsOfUnits = 16

// The bounds of what a completed ride consumes. It is not always the same, because
// settlement and projection run at the same time.
const mostRideReads, mostRideWrites = 120, 165

// scopes lists the possible owners of a key, narrowest first. A key belongs to
// the first one that its shape contains; "" is the platform.
var scopes = []string{"{request}", "{trip}", "{post}", "{address}", "{origin}", "{rider}", "{driver}", "{operator}",
	"{client}", "{tenant}", ""}

// scopeOf returns the owner of a key's shape.
func scopeOf(shape string) string {
	return scopes[slices.IndexFunc(scopes, func(s string) bool { return strings.Contains(shape, s) })]
}

// spread returns how many keys of a shape share the requests of many tokens,
// trips and people. The token determines the copy, and the item determines the
// shard.
func spread(shape string, shards int) int {
	switch {
	case !strings.HasSuffix(shape, "#n"):
		return 1
	case strings.Contains(shape, "#FLAGS#"), strings.HasPrefix(shape, "CLIENT#{"):
		return authz.Copies
	case strings.Contains(shape, "#LIST#"): // of clients
		return 4
	case strings.Contains(shape, "#COUNT"):
		return counter.Shards(shards)
	}
	return shards
}

// ceiling is a key that limits how many requests a second an owner may make.
type ceiling struct {
	shape string
	load  load // what one request consumes on average at each key of the shape
}

// usage is what one operation consumes.
type usage struct {
	all      load
	rounds   int                // sequential round trips to the table; 0 if nothing reports them
	ceilings map[string]ceiling // by scope
}

// counted is a service with test data. It records which units its requests consume.
type counted struct {
	*world
	keys  *keys
	wire  testkit.Wire
	clock atomic.Pointer[time.Time] // moves by steps only, so that reports read the same periods
	seen  api.Observation           // of the last request
}

// newCounted returns a world whose demo ends at a fixed time, so that it has the same
// reports on every day.
func newCounted(t *testing.T) *counted {
	t.Helper()
	cryptotest.SetGlobalRandom(t, 1) // so that the same items meet in a shard
	start := time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)
	c := &counted{keys: &keys{loads: map[string]load{}, names: strings.NewReplacer()}}
	c.clock.Store(&start)
	var err error
	c.world, err = newWorld(t.Context(), setup{trips: 100, streaming: true, before: sharded,
		now:     func() time.Time { return *c.clock.Load() },
		observe: func(_ context.Context, o api.Observation) { c.seen = o },
		transport: func(next http.RoundTripper) http.RoundTripper {
			c.keys.next = next
			return c.wire.Over(c.keys)
		}})
	testkit.Must(t, err)
	t.Cleanup(c.close)
	names := []string{c.tenant.ID, "{tenant}", "SLUG#" + slug, "SLUG#{tenant}"}
	for name, id := range c.ids {
		names = append(names, id, "{"+name+"}")
	}
	c.keys.names = strings.NewReplacer(names...)
	return c
}

// sharded gives the tenant its shards, as an operator does: first for lists, then for writes.
func sharded(ctx context.Context, w *world, db *table.DB) error {
	for _, ago := range []time.Duration{time.Hour, 0} {
		if err := w.change(ctx, db, ago, func(n *tenant.Tenant) {
			if n.ReadShards == shardsOfUnits {
				n.WriteShards = shardsOfUnits
			}
			n.ReadShards = shardsOfUnits
		}); err != nil {
			return fmt.Errorf("shards: %w", err)
		}
	}
	return nil
}

// pass moves the clock.
func (c *counted) pass(d time.Duration) {
	at := c.now().Add(d)
	c.clock.Store(&at)
}

// count prepares and sends an operation several times and returns what one consumes on
// average. Nothing expires in the instance's caches meanwhile.
func (c *counted) count(prepare, send func() error) (out usage, err error) {
	const requests = 2 // even, because the requests of some endpoints alternate between two changes
	c.pass(time.Second)
	loads := map[string]load{}
	for i := range 1 + requests { // the first fills the instance's caches
		if err := prepare(); err != nil {
			return out, err
		}
		c.keys.take()
		c.seen = api.Observation{}
		c.wire.Rounds(true)
		err := send()
		c.wire.Rounds(false)
		if err != nil {
			return out, err
		}
		taken, all := c.keys.take()
		if i == 0 {
			continue
		}
		out.all, out.rounds = out.all.plus(all, requests), max(out.rounds, c.seen.Usage.Sequential)
		for key, l := range taken {
			shape := c.keys.shape(key)
			loads[shape] = loads[shape].plus(l, requests)
		}
	}
	out.ceilings = ceilingsOf(loads)
	return out, nil
}

// ceilingsOf returns the hottest key of each scope.
func ceilingsOf(loads map[string]load) map[string]ceiling {
	out := map[string]ceiling{}
	for _, shape := range slices.Sorted(maps.Keys(loads)) {
		l, scope := load{}.plus(loads[shape], float64(spread(shape, shardsOfUnits))), scopeOf(shape)
		if c, found := out[scope]; !found || l.share() > c.load.share() {
			out[scope] = ceiling{shape, l}
		}
	}
	return out
}

// uses returns what one request of the endpoint consumes.
func (c *counted) uses(ctx context.Context, e endpoint) (usage, error) {
	var function string
	var event json.RawMessage
	return c.count(func() (err error) {
		function, event, err = e.next(ctx, c.world)
		return err
	}, func() error {
		_, err := c.send(ctx, function, event)
		return err
	})
}

// signsIn returns what a sign-in through the pages consumes, from the
// authorization request to the code, in a new browser.
func (c *counted) signsIn(ctx context.Context) (usage, error) {
	o, err := c.newClient(ctx)
	if err != nil {
		return usage{}, err
	}
	return c.count(func() error { return nil }, func() error {
		_, err := flow.Code(ctx, o, ids.Secret())
		return err
	})
}

// completeRide requests a ride, completes it, and returns what its five requests,
// its settlement and its projection consume. After each request it waits until the
// stream functions are idle, so that no batch has records of two requests. The requests
// are ten seconds apart.
func (c *counted) completeRide(ctx context.Context) (load, error) {
	if err := c.service.Poller.Drain(ctx); err != nil {
		return load{}, err
	}
	c.keys.take()
	ride := script.Ride{Asks: c.fill(`"paymentType":"CARD","serviceTypeId":"{service}"`)}
	_, err := ride.Take(func(s script.Call) (json.RawMessage, error) {
		c.pass(10 * time.Second)
		answer, err := c.call(ctx, s.As, "POST "+strings.TrimPrefix(s.Path, "/api/v1"), s.Body)
		return answer, errors.Join(err, c.service.Poller.Drain(ctx))
	})
	_, all := c.keys.take()
	return all, err
}

// TestUnits holds the units that every operation consumes, its sequential round trips,
// and how many the hottest keys allow in a second (docs/tables.md). It also holds the
// bounds of an event.
func TestUnits(t *testing.T) {
	testkit.Long(t)
	if testkit.OnDynamoDBLocal() {
		t.Skip("DynamoDB Local counts the units of a transaction otherwise than DynamoDB; the embedded engine does not")
	}
	c, ctx := newCounted(t), t.Context()
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name string, u usage) {
		fmt.Fprintf(out, "%s\t%d\t%s\t%s", name, u.rounds, units(u.all.reads), units(u.all.writes))
		for _, group := range [][]string{{""}, {"{client}"}, {"{tenant}"}, {"{rider}", "{driver}", "{operator}"},
			{"{trip}", "{post}", "{address}", "{origin}"}} {
			fmt.Fprintf(out, "\t%s", lowest(u, group))
		}
		fmt.Fprintf(out, "\t%s\n", hottest(u))
	}
	fmt.Fprintln(out, "operation\trounds\treads\twrites\tplatform\tclient\ttenant\tactor\titem\t"+
		"hottest of platform or tenant")
	rode, err := c.completeRide(ctx)
	testkit.Must(t, err)
	t.Logf("a completed ride: %+v", rode)
	if rode.reads > mostRideReads || rode.writes > mostRideWrites || rode.writes < 100 {
		t.Errorf("a completed ride, with settlement and projection, takes %+v units, at most %v and %v wanted", rode,
			mostRideReads, mostRideWrites)
	}
	c.service.Poller.Stop()
	event, err := c.measureEvent(ctx)
	testkit.Must(t, err)
	testkit.Must(t, event.check())
	row("an event, with its delivery to one endpoint", usage{all: event.all,
		ceilings: map[string]ceiling{"{tenant}": event.hottest()}})
	all, _ := endpoints()
	for _, e := range all {
		u, err := c.uses(ctx, e)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		row(e.title(), u)
	}
	u, err := c.signsIn(ctx)
	testkit.Must(t, err)
	row("sign-in, five pages (rider)", u)
	testkit.Must(t, out.Flush())
	want, err := os.ReadFile(unitsFile)
	testkit.Must(t, err)
	merged, faults := compared(b.String(), string(want))
	if *update {
		testkit.Must(t, os.WriteFile(unitsFile, []byte(merged), 0o600))
		return
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

// compared returns the table, with each line of before that is still true, and an error
// for each other line.
func compared(now, before string) (merged string, faults []error) {
	old := map[string]string{}
	for line := range strings.Lines(before) {
		old[cells(line)[0]] = line
	}
	for line := range strings.Lines(now) {
		was, found := old[cells(line)[0]]
		delete(old, cells(line)[0])
		if found && same(cells(line), cells(was)) {
			merged += was
			continue
		}
		merged += line
		faults = append(faults, fmt.Errorf("now:    %sbefore: %sfind the cause, or accept it: "+
			"go test ./bench -run TestUnits -update", line, was))
	}
	for name := range old {
		faults = append(faults, fmt.Errorf("%q is in %s and was not counted", name, unitsFile))
	}
	return merged, faults
}

var between = regexp.MustCompile(` {2,}`)

func cells(line string) []string { return between.Split(strings.TrimSpace(line), -1) }

// same reports whether two lines say the same: equal round trips and write units, the same
// hottest key, and other numbers that differ by at most a twentieth, or a tenth above 20.
// A list reads as much as its shards have, which depends on the ids of the last few trips.
func same(now, was []string) bool {
	if len(now) != len(was) {
		return false
	}
	for i, cell := range now {
		n, err := strconv.ParseFloat(strings.ReplaceAll(cell, ",", ""), 64)
		m, other := strconv.ParseFloat(strings.ReplaceAll(was[i], ",", ""), 64)
		key, _, _ := strings.Cut(cell, ": ")
		switch wasKey, _, _ := strings.Cut(was[i], ": "); {
		case err == nil && other == nil && i != rounds && i != writes && math.Abs(n-m) <= m/steady(m):
		case i == hot && key == wasKey:
		case cell != was[i]:
			return false
		}
	}
	return true
}

func steady(n float64) float64 {
	if n > 20 {
		return 10
	}
	return 20
}

// TestCompared: the table cannot change unnoticed.
func TestCompared(t *testing.T) {
	const was = "GET /a  1  100  4  -  48,000  3,000  -  -  A#n: 1 + 0\n"
	for name, tt := range map[string]struct {
		now string
		ok  bool
	}{
		"equal":             {was, true},
		"aligned otherwise": {strings.Replace(was, "  1", "      1", 1), true},
		"a little more":     {strings.Replace(was, "100", "104.5", 1), true},
		"another share":     {strings.Replace(was, "A#n: 1", "A#n: 1.03", 1), true},
		"more":              {strings.Replace(was, "100", "111", 1), false},
		"more than a few":   {strings.Replace(was, "3,000", "2,600", 1), false},
		"a write":           {strings.Replace(was, "  4", "  4.1", 1), false},
		"a round trip":      {strings.Replace(was, "  1", "  2", 1), false},
		"a lower ceiling":   {strings.Replace(was, "48,000", "4,800", 1), false},
		"a new ceiling":     {strings.Replace(was, "-", "3,000", 1), false},
		"another key":       {strings.Replace(was, "A#n", "B#n", 1), false},
		"another operation": {strings.Replace(was, "GET /a", "GET /b", 1), false},
		"nothing":           {"", false},
	} {
		merged, faults := compared(tt.now, was)
		if (len(faults) == 0) != tt.ok || tt.ok && merged != was || !tt.ok && merged != tt.now {
			t.Errorf("%s: %v, %q", name, faults, merged)
		}
	}
}

// TestMostPerSecond: with 16 shards a tenant can make the requests that
// docs/performance.md promises.
func TestMostPerSecond(t *testing.T) {
	text, err := os.ReadFile(unitsFile)
	testkit.Must(t, err)
	for name, least := range map[string]int{"GET /me (rider)": 48_000, "POST /me/trips (rider)": 10_000,
		"GET /trips?limit=20 (dashboard)": 2_800} {
		found := false
		for line := range strings.Lines(string(text)) {
			if cells(line)[0] == name {
				n, err := strconv.Atoi(strings.ReplaceAll(cells(line)[tenantCeiling], ",", ""))
				if found = true; err != nil || n < least {
					t.Errorf("%s: %d a second, want at least %d: %v", name, n, least, err)
				}
			}
		}
		if !found {
			t.Errorf("%s has no line of %s", unitsFile, name)
		}
	}
}

// hottest describes the hottest key of the platform or the tenant.
func hottest(u usage) string {
	c, found := u.ceilings["{tenant}"]
	if p, shared := u.ceilings[""]; shared && (!found || p.load.share() > c.load.share()) {
		c = p
	}
	if c.shape == "" {
		return "-"
	}
	return fmt.Sprintf("%s: %s + %s", c.shape, units(c.load.reads), units(c.load.writes))
}

// lowest returns the lowest ceiling of a group of owners.
func lowest(u usage, group []string) string {
	most := math.Inf(1)
	for _, scope := range group {
		if c, found := u.ceilings[scope]; found {
			most = min(most, 1/c.load.share())
		}
	}
	if math.IsInf(most, 1) {
		return "-"
	}
	return plaintext.Thousands(int(most + 0.001))
}

func units(n float64) string { return strconv.FormatFloat(math.Round(n*100)/100, 'f', -1, 64) }
