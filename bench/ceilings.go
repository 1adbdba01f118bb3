package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"svc"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/base/ids"
	"svc/pkg/data/counter"
	"svc/pkg/edge/api"
	"svc/pkg/local/markdown"
	"svc/pkg/oauth/flow"
)

// shardCounts are the shard numbers that are measured, one tenant for each.
var shardCounts = []int{1, 4, 16}

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

// most returns how many requests a second the key serves.
func (c ceiling) most() float64 { return 1 / c.load.share() }

// usage is what one operation consumes: one request, or all requests of a sign-in.
type usage struct {
	name     string
	function string
	requests int // how many requests the operation makes
	all      load
	ceilings map[string]ceiling // by scope
	logged   int                // bytes of the function's log line; 0 if not counted
	trips    int                // sequential round trips to the table, of a request; 2 is assumed if none is reported
}

// uses returns what one request of the endpoint consumes.
func (w *world) uses(ctx context.Context, e endpoint) (usage, error) {
	out := usage{name: e.title(), requests: 1}
	var event json.RawMessage
	return w.count(ctx, &out, func() (err error) {
		out.function, event, err = e.next(ctx, w)
		return err
	}, func() error {
		_, err := w.send(ctx, out.function, event)
		return err
	})
}

// signsIn returns what a sign-in through the pages consumes, from the
// authorization request to the code, in a new browser.
func (w *world) signsIn(ctx context.Context) (usage, error) {
	o, err := w.newClient(ctx)
	if err != nil {
		return usage{}, err
	}
	return w.count(ctx, &usage{name: "sign-in, five pages (rider)", function: app.OAuth, requests: 5},
		func() error { return nil }, func() error {
			_, err := flow.Code(ctx, o, ids.Secret())
			return err
		})
}

// count prepares and sends an operation several times and adds to out the average that
// one operation consumes.
func (w *world) count(ctx context.Context, out *usage, prepare, send func() error) (usage, error) {
	const requests = 4 // even, because the requests of some endpoints alternate between two changes
	out.ceilings, out.trips = map[string]ceiling{}, 2
	loads := map[string]load{}
	at := time.Now()
	w.frozen.Store(&at)
	defer w.frozen.Store(nil)
	w.delay.Store(int64(slow)) // so that round trips are counted right on a busy machine too
	defer w.delay.Store(0)
	for i := range 1 + requests { // the first fills the instance's caches
		if err := prepare(); err != nil {
			return *out, err
		}
		w.keys.take()
		w.observe(ctx, api.Observation{})
		if err := send(); err != nil {
			return *out, err
		}
		if i == 0 {
			continue
		}
		taken, all := w.keys.take()
		out.all = out.all.plus(all, requests)
		if n := w.seen.Usage.Sequential; n > 0 { // only the API reports them; for other requests, 2 is assumed
			out.trips, out.logged = n, w.logged
		}
		for key, l := range taken {
			shape := w.shape(key)
			loads[shape] = loads[shape].plus(l, requests)
		}
	}
	for _, shape := range slices.Sorted(maps.Keys(loads)) {
		l, scope := load{}.plus(loads[shape], float64(spread(shape, w.shards))), scopeOf(shape)
		if c, found := out.ceilings[scope]; !found || l.share() > c.load.share() {
			out.ceilings[scope] = ceiling{shape, l}
		}
	}
	return *out, nil
}

// slow is the delay of every request to the table while round trips are counted.
const slow = 15 * time.Millisecond

// runCeilings writes the ceilings and the bill into the document.
func runCeilings(ctx context.Context, o options) error {
	all, without := endpoints()
	all = o.chosen(all)
	rates, err := ratesOf(svc.Template)
	if err != nil {
		return err
	}
	found := map[string][]usage{}
	var us []usage
	var rode load
	var event told
	for _, shards := range shardCounts {
		if us, rode, event, err = countAll(ctx, shards, all); err != nil {
			return err
		}
		for _, u := range us {
			found[u.name] = append(found[u.name], u)
		}
	}
	tables := ceilingTables(us, found, without) + event.section() + billOf(rates, us, found, rode)
	if o.only != "" {
		fmt.Println(tables)
		return nil
	}
	return markdown.WriteSection(document, "ceilings", tables)
}

// countAll counts the units of a ride, including the work of the stream functions, and
// of an event; and then the units of every request without that work.
func countAll(ctx context.Context, shards int, all []endpoint) (us []usage, rode load, event told, err error) {
	w, err := newWorld(ctx, 100, shards)
	if err != nil {
		return nil, rode, event, err
	}
	defer w.close()
	if rode, err = w.completeRide(ctx); err != nil {
		return nil, rode, event, err
	}
	w.service.Poller.Stop()
	if event, err = w.measureEvent(ctx); err != nil {
		return nil, rode, event, fmt.Errorf("an event: %w", err)
	}
	for _, e := range all {
		u, err := w.uses(ctx, e)
		if err != nil {
			return us, rode, event, fmt.Errorf("%s: %w", e.Name, err)
		}
		us = append(us, u)
	}
	u, err := w.signsIn(ctx)
	return append(us, u), rode, event, err
}

func ceilingTables(last []usage, found map[string][]usage, without []string) string {
	text := "## Ceilings\n\n" + paragraph("ceilings", today())
	if len(without) > 0 {
		text += paragraph("not measured", strings.Join(without, "`, `"))
	}
	rows := make([][]string, len(last))
	for i, u := range last {
		us := found[u.name]
		rows[i] = []string{marked(u.name)}
		for _, group := range [][]string{{""}, {"{client}"}, {"{tenant}"}, {"{rider}", "{driver}", "{operator}"},
			{"{trip}", "{post}", "{address}", "{origin}"}} {
			rows[i] = append(rows[i], lowest(us, group))
		}
		rows[i] = append(rows[i], hottest(u))
	}
	return text + markdown.Table([]string{"endpoint", ">platform", ">client", ">tenant", ">actor", ">trip, post, address",
		"hottest of platform or tenant"}, rows) + "\n"
}

// hottest describes the hottest key of the platform or the tenant.
func hottest(u usage) string {
	c, found := u.ceilings["{tenant}"]
	if p, shared := u.ceilings[""]; shared && (!found || p.most() < c.most()) {
		c = p
	}
	if c.shape == "" {
		return ""
	}
	return fmt.Sprintf("`%s`: %s + %s", c.shape, units(c.load.reads), units(c.load.writes))
}

// lowest returns the lowest ceiling of a group of owners for each number of
// shards, or one value if all are equal.
func lowest(us []usage, group []string) string {
	var cells []string
	for _, u := range us {
		most := math.Inf(1)
		for _, scope := range group {
			if c, found := u.ceilings[scope]; found {
				most = min(most, c.most())
			}
		}
		if math.IsInf(most, 1) {
			return ""
		}
		cells = append(cells, markdown.Thousands(int(most+0.001)))
	}
	if len(slices.Compact(slices.Clone(cells))) == 1 {
		return cells[0]
	}
	return strings.Join(cells, ", ")
}
