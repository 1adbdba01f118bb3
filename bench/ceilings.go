package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"svc"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/base/ids"
	"svc/pkg/data/counter"
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
	for _, s := range scopes {
		if strings.Contains(shape, s) {
			return s
		}
	}
	return ""
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
	load  load    // what one request consumes on average at each key of the shape
	most  float64 // requests a second
}

// usage is what one operation consumes: one request, or all requests of a sign-in.
type usage struct {
	name     string
	function string
	requests int // number of the operation's requests
	all      load
	ceilings map[string]ceiling // by scope
	logged   int                // bytes of the function's log line; 0 if not counted
	trips    int                // sequential round trips to the table, of a request; 2 is assumed if none is reported
}

// uses returns what one request of the endpoint consumes.
func (w *world) uses(ctx context.Context, e endpoint) (usage, error) {
	name, function := e.name+" ("+string(e.audience)+")", app.OAuth
	if e.form == nil {
		function = functionOf("/api/v1" + strings.TrimPrefix(e.name, e.method()+" "))
	}
	return w.count(usage{name: name, function: function, requests: 1}, func() (func() error, error) {
		function, raw, err := e.event(ctx, w)
		return func() error {
			answer, err := w.functions[function](ctx, raw)
			if err == nil {
				_, err = bodyOf(answer)
			}
			return err
		}, err
	})
}

// signsIn returns what a sign-in through the pages consumes, from the
// authorization request to the code, in a new browser.
func (w *world) signsIn(ctx context.Context) (usage, error) {
	o := w.person()
	client, err := flow.Register(ctx, o)
	if err != nil {
		return usage{}, err
	}
	o.ClientID = client.ID
	all := usage{name: "sign-in, five pages (rider)", function: app.OAuth, requests: 5}
	return w.count(all, func() (func() error, error) {
		return func() error {
			_, err := flow.Code(ctx, o, ids.Secret())
			return err
		}, nil
	})
}

// count prepares and sends an operation several times and returns the average that
// one operation consumes.
func (w *world) count(out usage, prepare func() (func() error, error)) (usage, error) {
	const requests = 4 // even, because the requests of some endpoints alternate between two changes
	out.ceilings, out.trips = map[string]ceiling{}, 2
	loads := map[string]load{}
	defer w.freeze()()
	w.delay.Store(int64(slow)) // so that round trips are counted right on a busy machine too
	defer w.delay.Store(0)
	for i := range 1 + requests { // the first fills the instance's caches
		send, err := prepare()
		if err != nil {
			return out, err
		}
		w.keys.take()
		w.logged.Store(0)
		w.seen.Usage.Sequential = 0
		if err := send(); err != nil {
			return out, err
		}
		if i == 0 {
			continue
		}
		taken, all := w.keys.take()
		out.all.reads += all.reads / requests
		out.all.writes += all.writes / requests
		out.logged = int(w.logged.Load())
		if n := w.seen.Usage.Sequential; n > 0 { // only the API reports it; for other requests, 2 is assumed
			out.trips = n
		}
		for key, l := range taken {
			sum, shape := loads[w.shape(key)], w.shape(key)
			loads[shape] = load{sum.reads + l.reads/requests, sum.writes + l.writes/requests}
		}
	}
	for _, shape := range slices.Sorted(maps.Keys(loads)) {
		n := float64(spread(shape, w.shards))
		l := load{loads[shape].reads / n, loads[shape].writes / n}
		scope := scopeOf(shape)
		if c, found := out.ceilings[scope]; !found || l.share() > c.load.share() {
			out.ceilings[scope] = ceiling{shape, l, 1 / l.share()}
		}
	}
	return out, nil
}

// slow is the delay of every request to the table while round trips are counted.
const slow = 15 * time.Millisecond

// runCeilings writes the ceilings and the bill into the document.
func runCeilings(ctx context.Context, o options) error {
	all, err := endpoints()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(o.document)
	if err != nil {
		return err
	}
	rates, err := ratesOf(svc.Template, string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", o.document, err)
	}
	var names []string
	found := map[string][]usage{}
	var rode load
	for _, shards := range shardCounts {
		w, err := newWorld(ctx, 100, shards)
		if err != nil {
			return err
		}
		us, r, err := w.countAll(ctx, append(all, grants...), o)
		w.close()
		if err != nil {
			return err
		}
		rode = r
		names = names[:0]
		for _, u := range us {
			names = append(names, u.name)
			found[u.name] = append(found[u.name], u)
		}
	}
	bill := billOf(rates, names, found, rode)
	if o.only != "" {
		fmt.Println(ceilingTables(names, found) + bill)
		return nil
	}
	return writeSection(o.document, "ceilings", ceilingTables(names, found)+bill)
}

// countAll counts the units of a ride, including the work of the stream
// functions, and then the units of every request without that work.
func (w *world) countAll(ctx context.Context, all []endpoint, o options) (us []usage, rode load, err error) {
	if rode, err = w.completeRide(ctx); err != nil {
		return nil, rode, err
	}
	w.service.Poller.Stop()
	for _, e := range all {
		if !strings.Contains(e.name, o.only) {
			continue
		}
		u, err := w.uses(ctx, e)
		if err != nil {
			return us, rode, fmt.Errorf("%s: %w", e.name, err)
		}
		us = append(us, u)
	}
	u, err := w.signsIn(ctx)
	return append(us, u), rode, err
}

func ceilingTables(names []string, found map[string][]usage) string {
	var b strings.Builder
	b.WriteString("## Ceilings\n\n")
	prose(&b, "Counted by `make ceilings`, %s. For one partition key of the table or of an index, DynamoDB serves "+
		"3,000 read and 1,000 write units a second. The table shows how many requests of one kind can be made in a "+
		"second until the hottest key has no more units. For a request that reads and writes the same key, the shares "+
		"of both limits are added. The titles of the columns say who shares that key. "+
		"*Platform*: all tenants share it. *Client* and *tenant*: the numbers assume that many tokens use the copies "+
		"evenly, and that many trips use the shards evenly. Where shards matter, there is a number for 1, 4 and 16 "+
		"shards. *Actor*: the key belongs to one rider, driver or operator. *Trip, post, address*: the key belongs to "+
		"one trip, post, mail address or network address. An empty cell means that the request uses no such key. If an "+
		"index entry moves, the table counts all of its units at the new key, so the true ceiling may be up to twice as "+
		"high. The last column is for 16 shards. It has the read and write units of one request at each copy or shard "+
		"of the key. The counts are those of an instance that has just served the same request. So they do not include "+
		"the read of a ride's service type, which the instance caches. An instance repeats that read at most once a "+
		"second, so the key of the service types is enough for 3,000 instances. The goals for a tenant are 48,000 "+
		"authorized reads and 10,000 ride requests a second.",
		today())
	rows := make([][]string, len(names))
	for i, name := range names {
		us := found[name]
		rows[i] = []string{marked(name)}
		for _, group := range [][]string{{""}, {"{client}"}, {"{tenant}"}, {"{rider}", "{driver}", "{operator}"},
			{"{trip}", "{post}", "{address}", "{origin}"}} {
			rows[i] = append(rows[i], lowest(us, group))
		}
		rows[i] = append(rows[i], hottest(us[len(us)-1]))
	}
	markdownTable(&b, []string{"endpoint", "platform", "client", "tenant", "actor", "trip, post, address",
		"<hottest of platform or tenant"}, rows)
	return b.String()
}

// hottest describes the hottest key of the platform or the tenant.
func hottest(u usage) string {
	c, found := u.ceilings["{tenant}"]
	if p, shared := u.ceilings[""]; shared && (!found || p.most < c.most) {
		c = p
	}
	if c.shape == "" {
		return ""
	}
	return fmt.Sprintf("`%s`: %s + %s", c.shape, units(round(c.load.reads)), units(round(c.load.writes)))
}

func round(x float64) float64 { return math.Round(x*100) / 100 }

// lowest returns the lowest ceiling of a group of owners for each number of
// shards, or one value if all are equal.
func lowest(us []usage, group []string) string {
	var cells []string
	for _, u := range us {
		most := math.Inf(1)
		for _, scope := range group {
			if c, found := u.ceilings[scope]; found {
				most = min(most, c.most)
			}
		}
		if math.IsInf(most, 1) {
			return ""
		}
		cells = append(cells, many(int(most+0.001)))
	}
	if len(slices.Compact(slices.Clone(cells))) == 1 {
		return cells[0]
	}
	return strings.Join(cells, ", ")
}
