package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"svc/internal/test/replay"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/dispatch"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/webhook"
	"svc/pkg/local/demo"
	"svc/pkg/oauth/flow"
)

// The audiences of callers, by short names for the tables of requests.
const (
	op     = authz.Dashboard
	rider  = authz.Rider
	driver = authz.Driver
)

// step takes one step before a request. name is a step that requests.yaml lists, a step
// in special, or an assignment: id=post keeps the id of a post as {id}.
func (w *world) step(ctx context.Context, name string) error {
	if to, from, assigns := strings.Cut(name, "="); assigns {
		w.kept[to] = w.fill("{" + from + "}")
		return nil
	}
	t := w.rt.DB.Tenant(w.tenant.ID)
	if run := special[name]; run != nil {
		return run(w, ctx, t)
	}
	s := replay.Listed().Steps[name]
	e := endpointOf(s)
	got, err := w.call(ctx, e.Audience, e.Name, e.Body)
	if err != nil || s.Keep == "" {
		return err
	}
	var made struct{ ID string }
	err = json.Unmarshal(got, &made)
	w.kept[s.Keep] = made.ID
	return err
}

// special has, by name, the steps that are not a single request to the API.
var special = map[string]func(*world, context.Context, table.Tenant) error{"jobs": (*world).jobs,
	"end-imports": (*world).endImports, "offer": (*world).offer, "hook": (*world).hook, "sandbox": (*world).sandbox,
	"no-cards": (*world).removeCards, "code": (*world).code, "tokens": (*world).refresh, "few": (*world).few}

// jobs runs the function of background jobs (functions/jobs) once, as its schedule does
// each minute.
func (w *world) jobs(ctx context.Context, _ table.Tenant) error {
	return w.rt.Scheduled()[app.Jobs](ctx)
}

// sandbox makes the tenant a sandbox, a tenant in which nothing is real.
func (w *world) sandbox(ctx context.Context, t table.Tenant) error {
	tx := t.Write()
	tenant.SetFlags(tx, t, map[string]any{"sandbox": true})
	return tx.Commit(ctx)
}

// fill replaces each name in braces, such as {trip}, by a value. The value is what a step
// kept under the name, an id that know has looked up, or a generated value that differs
// in each request.
func (w *world) fill(text string) string {
	return parameter.ReplaceAllStringFunc(text, func(name string) string {
		name = name[1 : len(name)-1]
		if value := cmp.Or(w.kept[name], w.ids[name]); value != "" {
			return value
		}
		w.made++
		switch name {
		case "next":
			return strconv.Itoa(w.made)
		case "boolean":
			return strconv.FormatBool(w.made%2 == 0)
		case "three":
			return fmt.Sprintf("%03d", w.made%50)
		case "four":
			return fmt.Sprintf("%04x", w.made)
		case "minutes":
			return strconv.Itoa(w.made % 60)
		case "later":
			return w.now().Add(-time.Hour).Add(time.Duration(w.made) * time.Millisecond).UTC().Format(time.RFC3339Nano)
		case "mail":
			return fmt.Sprintf("m%d-%s@metro.example", w.made, strings.ToLower(ids.Code()))
		}
		panic("nothing keeps {" + name + "}")
	})
}

// endImports completes the tenant's unfinished imports: it gives each a file without
// rows, and then runs the background jobs.
func (w *world) endImports(ctx context.Context, t table.Tenant) error {
	page, err := t.Query(ctx, t.Partition("IMPORTS"), table.Query{Index: 2, Limit: 10})
	if err != nil {
		return err
	}
	for _, it := range page.Items {
		rec, err := imports.Kind.FromItem(it)
		if err == nil {
			err = w.rt.Files.Put(ctx, rec.File(t), []byte("email\n"))
		}
		if err != nil {
			return err
		}
	}
	return w.jobs(ctx, t)
}

// offer gives the driver an offer of the trip whose id a step kept.
func (w *world) offer(ctx context.Context, t table.Tenant) error {
	it, err := t.Get(ctx, trip.Key(t, w.kept["id"]))
	if err != nil {
		return err
	}
	tr, err := trip.FromItem(it)
	if err != nil {
		return err
	}
	return t.Load(ctx, dispatch.NewOffer(tr, 1.35, w.now().Add(time.Hour)).Item(t, w.ids["driver"]))
}

// hook replaces the tenant's webhooks by one enabled webhook, to which nothing is sent.
func (w *world) hook(ctx context.Context, t table.Tenant) error {
	w.kept["id"] = "whk_01JT7M4C6Q8V2N5X9B3D1F7H0K"
	b := webhook.Book{Endpoints: []webhook.Record{{
		Endpoint: webhook.Endpoint{ID: w.kept["id"], Types: []string{"webhook.disabled"}, Status: webhook.Enabled,
			URL: "https://hooks.metro.example/", CreatedAt: timestamp.Format(w.now())}, Challenges: 1, Challenged: 1}}}
	return t.Load(ctx, webhook.Kind.Item(t, "", b))
}

// removeCards removes the rider's visa cards, which earlier requests added.
func (w *world) removeCards(ctx context.Context, _ table.Tenant) error {
	got, err := w.call(ctx, rider, "GET /me/payment-methods", "")
	if err != nil {
		return err
	}
	var have struct{ Items []struct{ ID, Brand string } }
	if err := json.Unmarshal(got, &have); err != nil {
		return err
	}
	for _, m := range have.Items {
		if m.Brand != "visa" {
			continue
		}
		if _, err := w.call(ctx, rider, "DELETE /me/payment-methods/"+m.ID, ""); err != nil {
			return err
		}
	}
	return nil
}

// person returns the options to sign in as the rider of the measured tenant.
func (w *world) person() flow.Options {
	return flow.Options{BaseURL: w.service.BaseURL, Tenant: slug, Audience: string(rider), Email: people[rider],
		Password: demo.Password}
}

// newClient returns the options of person with a newly registered OAuth client.
func (w *world) newClient(ctx context.Context) (flow.Options, error) {
	o := w.person()
	client, err := flow.Register(ctx, o)
	o.ClientID = client.ID
	return o, err
}

// few makes the next refresh step sign in with two scopes only. Without the scope openid,
// the response has no id_token.
func (w *world) few(context.Context, table.Tenant) error {
	w.kept["scope"] = "rider.profile:read rider.trips:read"
	return nil
}

// refresh signs the rider in again. It keeps, as {form}, the form body that exchanges the
// new refresh token.
func (w *world) refresh(ctx context.Context, _ table.Tenant) error {
	o := w.person()
	o.Scope = w.kept["scope"]
	delete(w.kept, "scope")
	tokens, err := flow.Token(ctx, o)
	w.kept["form"] = url.Values{"grant_type": {"refresh_token"}, "refresh_token": {tokens.RefreshToken},
		"client_id": {tokens.ClientID}}.Encode()
	return err
}

// code keeps, as {form}, the form body that exchanges a new authorization code.
func (w *world) code(ctx context.Context, _ table.Tenant) error {
	o, err := w.newClient(ctx)
	if err != nil {
		return err
	}
	// The first code of a client costs more, because it makes the client permanent. So
	// this step exchanges one code before the measured one.
	if _, err := flow.Token(ctx, o); err != nil {
		return err
	}
	verifier := ids.Secret()
	code, err := flow.Code(ctx, o, verifier)
	w.kept["form"] = url.Values{"grant_type": {"authorization_code"}, "code": {code}, "client_id": {o.ClientID},
		"redirect_uri": {flow.Redirect}, "code_verifier": {verifier}}.Encode()
	return err
}
