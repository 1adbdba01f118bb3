package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
	"svc/pkg/local/demo"
	"svc/pkg/oauth/flow"
)

// This file measures tool calls of the MCP server, each beside the request to the
// API that does the same. The two take turns in each round.

// twins are the requests that are also measured as tool calls, by title. They
// include no PATCH: the confirmation of its tool call adds an item to the
// transaction, so call and request would consume different units.
var twins = []string{"GET /me (rider)", "GET /trips/{trip} (dashboard)", "GET /trips?limit=20 (dashboard)",
	"GET /trips?limit=200 (dashboard)", "GET /me/trips?limit=20 (rider)", "GET /me/wallet (rider)",
	"GET /reports/summary (dashboard)", "POST /me/addresses (rider)", "POST /me/trips (rider)",
	"POST /me/trips/{id}/accept (driver)"}

// pair is a request and its tool call.
type pair struct{ request, call endpoint }

func pairs() (out []pair, err error) {
	for _, title := range twins {
		i := slices.IndexFunc(listed, func(e endpoint) bool { return e.title() == title })
		if i < 0 {
			return nil, fmt.Errorf("%s is not listed in bench/endpoints.go", title)
		}
		p := pair{listed[i], listed[i]}
		rows := app.Rows(nil)
		at := slices.IndexFunc(rows, p.call.is)
		if at < 0 {
			return nil, fmt.Errorf("%s is no operation of the API", title)
		}
		p.request.keyed = p.request.method() == "POST" // the tool call of a POST always has a key
		p.call.tool = &tool{rows[at]}
		out = append(out, p)
	}
	return out, nil
}

func (e endpoint) title() string { return e.name + " (" + string(e.audience) + ")" }

// marked returns an endpoint's title as in the documents: with the request
// formatted as code.
func marked(title string) string {
	request, audience, _ := strings.Cut(title, " (")
	return "`" + request + "` (" + audience
}

// headers returns names and values of the request's own headers.
func (e endpoint) headers(w *world) []string {
	if !e.keyed {
		return nil
	}
	return []string{"idempotency-key", fmt.Sprint("bench-", w.next())}
}

// tool turns a request to its row into a tool call.
type tool struct{ row api.Row }

// meta is the _meta member that a client of revision 2026-07-28 of MCP sends in
// each request.
var meta = map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
	"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "bench", "version": "1"},
	"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{}}}

// event returns the event of the tool call that does the same as the request. If a
// person must confirm the call first, event sends the unconfirmed call and returns
// the event of the confirmed one.
func (t *tool) event(ctx context.Context, w *world, audience authz.Audience, target, body string) (function string,
	raw json.RawMessage, err error) {
	arguments, err := t.arguments(target, body)
	if err != nil {
		return "", nil, err
	}
	params := map[string]any{"name": t.row.ID, "arguments": arguments, "_meta": meta}
	raw, err = t.message(ctx, w, audience, params)
	if err != nil || t.row.Confirm == "" {
		return app.MCP, raw, err
	}
	out, err := w.functions[app.MCP](ctx, raw)
	if err != nil {
		return "", nil, err
	}
	asked, err := bodyOf(out)
	if err != nil {
		return "", nil, err
	}
	var answer struct{ Result struct{ RequestState string } }
	if err := json.Unmarshal(asked, &answer); err != nil {
		return "", nil, err
	}
	if answer.Result.RequestState == "" {
		return "", nil, fmt.Errorf("%s did not ask for a confirmation: %s", t.row.ID, asked)
	}
	params["requestState"] = answer.Result.RequestState
	params["inputResponses"] = map[string]any{"agreed": map[string]any{"action": "accept",
		"content": map[string]any{"agreed": true}}}
	raw, err = t.message(ctx, w, audience, params)
	return app.MCP, raw, err
}

// message returns the event of one message to the audience's address.
func (t *tool) message(ctx context.Context, w *world, audience authz.Audience, params map[string]any) (json.RawMessage,
	error) {
	path := "/mcp"
	if audience != authz.Dashboard {
		path += "/" + string(audience) + "/" + slug
	}
	token, err := w.agentToken(ctx, audience, path)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": w.next(), "method": "tools/call", "params": params})
	if err != nil {
		return nil, err
	}
	raw, err := event(token, "application/json", "POST", path, string(text), "mcp-protocol-version", "2026-07-28",
		"mcp-method", "tools/call", "mcp-name", t.row.ID, "accept", "application/json, text/event-stream")
	return raw, err
}

// agentToken returns the token for the audience's address of the MCP server, which
// is path. It signs in once for each audience.
func (w *world) agentToken(ctx context.Context, audience authz.Audience, path string) (string, error) {
	if token := w.agents[audience]; token != "" {
		return token, nil
	}
	tokens, err := flow.Token(ctx, flow.Options{BaseURL: w.service.BaseURL, Resource: w.service.BaseURL + path,
		Tenant: slug, Audience: string(audience), Email: people[audience], Password: demo.Password})
	if err != nil {
		return "", fmt.Errorf("signing %s in as an agent: %w", audience, err)
	}
	w.agents[audience] = tokens.AccessToken
	return tokens.AccessToken, nil
}

// arguments returns the tool's arguments: what the request has in its path,
// query and body.
func (t *tool) arguments(target, body string) (map[string]any, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	out, given := map[string]any{}, strings.Split(u.Path, "/")
	for i, segment := range strings.Split(t.row.Path, "/") {
		if name, is := strings.CutPrefix(segment, "{"); is && i < len(given) {
			out[strings.TrimSuffix(name, "}")] = given[i]
		}
	}
	for name, values := range u.Query() {
		out[name] = values[0]
		if _, err := strconv.Atoi(values[0]); err == nil {
			out[name] = json.Number(values[0])
		}
	}
	if body == "" {
		return out, nil
	}
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.UseNumber()
	return out, decoder.Decode(&out)
}

// beside contains the measurements of a request and of its tool call.
type beside struct {
	pair
	rounds [][]used // of the request and of the call
	usages [2]table.Usage
}

// more returns the median and the quartiles of the rounds' differences.
func (b beside) more() (low, middle, high time.Duration) {
	var all []time.Duration
	for i, u := range b.rounds[0] {
		all = append(all, b.rounds[1][i].cpu-u.cpu)
	}
	return rank(all, 0.25), rank(all, 0.5), rank(all, 0.75)
}

// least sends the endpoint's request several times and returns the usage of the one
// with the fewest round trips. Meanwhile every request to the table is delayed, so
// a busy machine can only add round trips.
func (w *world) least(ctx context.Context, e endpoint) (out table.Usage, err error) {
	w.delay.Store(int64(slow))
	defer w.delay.Store(0)
	for i := range slowCalls {
		if _, _, err := w.one(ctx, e, false); err != nil {
			return out, err
		}
		if i == 0 || w.seen.Usage.Sequential <= out.Sequential { // the last one, whose caches are warm
			out = w.seen.Usage
		}
	}
	return out, nil
}

// runAgents measures the pairs and writes their table.
func runAgents(ctx context.Context, w *world, b build, machine string, o options) error {
	all, err := pairs()
	if err != nil {
		return err
	}
	var measured []beside
	for _, p := range all {
		if !strings.Contains(p.request.name, o.only) {
			continue
		}
		one := beside{pair: p}
		if one.rounds, err = w.turns(ctx, []subject{{b, p.request}, {b, p.call}}, o); err != nil {
			return fmt.Errorf("%s: %w", p.request.title(), err)
		}
		for i, e := range []endpoint{p.request, p.call} {
			if one.usages[i], err = w.least(ctx, e); err != nil {
				return fmt.Errorf("%s: %w", p.request.title(), err)
			}
		}
		fmt.Fprint(os.Stderr, one.line())
		measured = append(measured, one)
	}
	if o.only != "" {
		return nil
	}
	return agentsDocument(o, machine, measured)
}
