package app_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"svc"
	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/base/ids"
	"svc/pkg/edge/api"
)

// estate has a resource of every kind that a path or a body can name, of one company.
type estate struct {
	ids    map[string]string // by kind
	actors map[authz.Audience]apptest.Actor
	tokens map[authz.Audience]string
}

var identifier = regexp.MustCompile(`[a-z]{3}_[0-9A-HJKMNP-TV-Z]{26}`)

// cursor is encrypted, so it differs in each response. A stream shows it as an id, and its
// time to wait is random.
var cursor = regexp.MustCompile(`"cursor":"[^"]+"|(?m)^(id|retry): \S+$`)

func kindOf(id string) string { return id[:3] }

// own replaces each identifier in the text by the company's resource of that kind.
func (e estate) own(text string) string {
	return identifier.ReplaceAllStringFunc(text, func(id string) string { return cmp.Or(e.ids[kindOf(id)], id) })
}

// shared has the kinds in ids.go of the identifiers in paths: of {id} by the resource, else
// by the parameter.
var shared = map[string]string{"trips": ids.Trip, "drivers": ids.Driver, "customers": ids.Customer,
	"services": ids.Service, "zones": ids.Zone, "businesses": ids.Business, "orders": ids.Order, "webhooks": ids.Webhook,
	"exports": ids.Export, "imports": ids.Import, "privacy": ids.Privacy, "withdrawals": ids.Payout, "wallet": ids.Payout,
	"payment-methods": ids.Payment, "addresses": ids.Address, "{document}": ids.Document, "{item}": ids.MenuItem,
	"machines": ids.Machine, "members": ids.Person, "{secret}": ids.MachineSecret}

// kinds has also those that rows declare with api.One.
var kinds = func() map[string]string {
	all := maps.Clone(shared)
	for _, r := range app.Rows(nil) {
		if kind := r.IDKind(); kind != "" {
			all[resourceOf(r.Path)] = kind
		}
	}
	return all
}()

// resourceOf returns the word of a path that names its resource: the first, or the one
// after me.
func resourceOf(path string) string {
	word, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path, "/api/v1/"), "me/"), "/")
	return word
}

// TestKindsOfIdentifiersDiffer: a kind that a row declares has three letters, and belongs
// to no other resource.
func TestKindsOfIdentifiersDiffer(t *testing.T) {
	source, err := os.ReadFile("../base/ids/ids.go")
	testkit.Must(t, err)
	words := map[string]string{}
	for word, kind := range kinds {
		if shared[word] == kind {
			continue
		}
		if other := words[kind]; other != "" || strings.Contains(string(source), ` = "`+kind+`"`) {
			t.Errorf("%s has identifiers of the kind %q, which is taken: see pkg/base/ids/ids.go, and %q", word, kind, other)
		}
		if words[kind] = word; !regexp.MustCompile(`^[a-z]{3}$`).MatchString(kind) {
			t.Errorf("%s has identifiers of the kind %q: want three letters", word, kind)
		}
	}
}

// references has the kinds of the identifiers in bodies and queries, by their names.
var references = map[string]string{"customerId": ids.Customer, "driverId": ids.Driver, "serviceTypeId": ids.Service,
	"serviceTypeIds": ids.Service, "businessId": ids.Business, "menuItemId": ids.MenuItem, "estimateId": ids.Estimate,
	"tripId": ids.Trip, "event": ids.Event, "resource": ids.Trip}

// pathTo returns the path with each parameter replaced by what id returns for its
// kind and its position.
func pathTo(t *testing.T, r api.Row, id func(kind string, position int) string) string {
	t.Helper()
	path, position := r.Path, 0
	for path != "" && strings.Contains(path, "{") {
		parameter := path[strings.Index(path, "{") : strings.Index(path, "}")+1]
		if parameter == "{month}" { // no identifier
			path = strings.Replace(path, parameter, "2026-01", 1)
			continue
		}
		kind := kinds[parameter]
		if parameter == "{id}" {
			kind = kinds[resourceOf(path)]
		}
		if kind == "" {
			t.Fatalf("%s: it needs api.One, which says the kind of %s", r.ID, parameter)
		}
		path = strings.Replace(path, parameter, id(kind, position), 1)
		position++
	}
	return path
}

// newEstate makes the company's resources through the API.
func (s *suite) newEstate(t *testing.T, slug string) estate {
	t.Helper()
	e := estate{map[string]string{}, map[authz.Audience]apptest.Actor{authz.Dashboard: s.Operator(t, slug, "olga"),
		authz.Rider: s.Rider(t, slug, "rosa"), authz.Driver: s.Driver(t, slug, "dan")}, map[authz.Audience]string{}}
	for audience, actor := range e.actors {
		e.tokens[audience] = s.Token(t, actor)
		e.ids[kindOf(actor.ID)] = actor.ID
	}
	e.ids[ids.Person] = s.Operator(t, slug, "second").ID // olga manages, so nothing may happen to her
	e.ids[ids.Service] = s.ServiceType(t, slug, "0.2")
	for _, c := range []struct {
		by         authz.Audience
		path, like string // like is the operation whose example is the body
	}{
		{authz.Rider, "/api/v1/me/estimates", "svc_estimate_ride"}, {authz.Rider, "/api/v1/me/trips", "svc_request_ride"},
		{authz.Driver, "/api/v1/me/trips/trp_/accept", ""}, {authz.Dashboard, "/api/v1/zones", "svc_create_zone"},
		{authz.Dashboard, "/api/v1/businesses", "svc_create_business"},
		{authz.Dashboard, "/api/v1/businesses/biz_/menu", "svc_create_menu_item"},
		{authz.Rider, "/api/v1/me/orders", "svc_place_order"},
		{authz.Dashboard, "/api/v1/drivers/drv_/documents", "svc_create_driver_document"},
		{authz.Dashboard, "/api/v1/webhooks", "svc_create_webhook"},
		{authz.Dashboard, "/api/v1/exports", "svc_create_export"}, {authz.Dashboard, "/api/v1/imports", "svc_create_import"},
		{authz.Rider, "/api/v1/me/privacy/requests", "svc_create_my_privacy_request"},
		{authz.Dashboard, "/api/v1/wallets/postings", "svc_post_to_wallet"},
		{authz.Driver, "/api/v1/me/wallet/withdrawals", "svc_request_withdrawal"},
		{authz.Rider, "/api/v1/me/payment-methods", "svc_add_payment_method"},
		{authz.Rider, "/api/v1/me/addresses", "svc_save_address"},
		{authz.Dashboard, "/api/v1/machines", "svc_create_machine"}, {authz.Dashboard, "/api/v1/machines/mch_/secrets", ""},
	} {
		path := regexp.MustCompile(`[a-z]{3}_/`).ReplaceAllStringFunc(c.path, func(k string) string { return e.ids[k[:3]] + "/" })
		e.learn(t, s.Post(t, e.tokens[c.by], path, e.own(cmp.Or(examples()[c.like], "{}"))))
	}
	e.create(t, s)
	s.Drain(t)
	e.learn(t, s.Get(t, e.tokens[authz.Dashboard], "/api/v1/events"))
	return e
}

// create makes one of each resource that the estate lacks and that a POST without an
// identifier creates.
func (e estate) create(t *testing.T, s *suite) {
	t.Helper()
	for _, r := range app.Rows(nil) {
		kind := kinds[resourceOf(r.Path)]
		if r.Status != http.StatusCreated || strings.Contains(r.Path, "{") || kind == "" || e.ids[kind] != "" {
			continue
		}
		for _, audience := range authz.Audiences {
			if _, may := r.Policy.Scopes[audience]; may && e.ids[kind] == "" {
				e.learn(t, s.Post(t, e.tokens[audience], r.Path, e.own(examples()[r.ID])))
			}
		}
	}
}

// learn takes the first identifier of each new kind from a response.
func (e estate) learn(t *testing.T, a apptest.Answer) {
	t.Helper()
	if a.Status >= 300 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	for _, id := range identifier.FindAllString(string(a.Body), -1) {
		if e.ids[kindOf(id)] == "" {
			e.ids[kindOf(id)] = id
		}
	}
}

func (s *suite) missing(kind string) string { return ids.New(kind, s.Clock.Now()) }

// alike checks that two requests, of which one names a resource of others and one a
// resource that does not exist, get the same response after as many requests to the
// table. there and nowhere are the two identifiers.
func (s *suite) alike(t *testing.T, id string, a, b apptest.Answer, there, nowhere string) {
	t.Helper()
	text := strings.ReplaceAll(string(b.Body), nowhere, there)
	if a.Status != b.Status || cursor.ReplaceAllString(string(a.Body), "") != cursor.ReplaceAllString(text, "") {
		t.Errorf("%s: %d %s, and of none %d %s", id, a.Status, a.Body, b.Status, b.Body)
	}
	if a.Seen.Usage.Requests != b.Seen.Usage.Requests {
		t.Errorf("%s: %d and %d requests", id, a.Seen.Usage.Requests, b.Seen.Usage.Requests)
	}
}

// everyPlace calls f for each row whose path names a resource of one tenant, with
// the path of the others' resource and that of none. If a path names two resources,
// it calls f also with the own first one.
func (s *suite) everyPlace(t *testing.T, own, others estate, f func(r api.Row, there, nowhere string)) {
	t.Helper()
	for _, r := range app.Rows(s.DB) {
		parameters := strings.Count(r.Path, "{") - strings.Count(r.Path, "{month}") -
			strings.Count(r.Path, "{externalId}") // of another system: TestExternalIDs
		if parameters == 0 || strings.HasPrefix(r.Path, "/api/v1/feedback/") {
			continue // all tenants share the roadmap
		}
		for first := range parameters {
			at := func(foreign func(kind string) string) string {
				return pathTo(t, r, func(kind string, position int) string {
					if others.ids[kind] == "" {
						t.Fatalf("%s: newEstate makes no resource of the kind %s", r.ID, kind)
					}
					if position < first {
						return own.ids[kind]
					}
					return foreign(kind)
				})
			}
			f(r, at(func(kind string) string { return others.ids[kind] }), at(s.missing))
		}
	}
}

// TestOtherTenantsDataIsNotThere: on every row, the response for a resource of
// another tenant equals that for a missing one, byte for byte. The resources exist:
// of each kind, their own people reach them.
func TestOtherTenantsDataIsNotThere(t *testing.T) {
	s := newSuite(t)
	metro, harbor := s.newEstate(t, "metro"), s.newEstate(t, "harbor")
	s.Drain(t)
	s.everyPlace(t, harbor, metro, func(r api.Row, there, nowhere string) {
		for audience := range r.Policy.Scopes {
			do := func(path string) apptest.Answer {
				return s.Do(t, apptest.Request{Method: r.Method, Path: path, Token: harbor.tokens[audience],
					Body: harbor.body(r)}).Must(t, 404)
			}
			s.alike(t, r.ID, do(there), do(nowhere), "", "-")
		}
	})
	for _, r := range app.Rows(s.DB) {
		if r.Method != http.MethodGet || strings.Contains(r.Path, "{") || strings.HasPrefix(r.Path, "/api/v1/feedback") {
			continue
		}
		for audience := range r.Policy.Scopes {
			body := string(s.Get(t, harbor.tokens[audience], r.Path).Body)
			for kind, id := range metro.ids {
				if kind != ids.Person && strings.Contains(body, id) || strings.Contains(body, "@metro.example") {
					t.Errorf("%s shows harbor what is metro's: %s", r.Path, body)
				}
			}
		}
	}
	reached := map[string]bool{}
	s.everyPlace(t, metro, metro, func(r api.Row, there, _ string) {
		for audience := range r.Policy.Scopes {
			a := s.Do(t, apptest.Request{Method: r.Method, Path: there, Token: metro.tokens[audience], Body: metro.body(r)})
			for _, id := range identifier.FindAllString(there, -1) {
				reached[kindOf(id)] = reached[kindOf(id)] || a.Status != 404
			}
		}
	})
	for word, kind := range kinds {
		if !reached[kind] {
			t.Errorf("nobody reaches the resource of %s, so this test proves nothing", word)
		}
	}
}

// body returns the document's example of the row's body, with the company's own
// identifiers.
func (e estate) body(r api.Row) string {
	if r.Method == http.MethodGet {
		return ""
	}
	return e.own(examples()[r.ID])
}

// sharedWithin has the rows under /me whose resource belongs to nobody in the company.
var sharedWithin = map[string]bool{"svc_list_my_menu": true, "svc_accept_trip": true}

// TestOtherPeoplesDataIsNotThere: under /me, the resource of another person of the
// same company is missing too.
func TestOtherPeoplesDataIsNotThere(t *testing.T) {
	s := newSuite(t)
	metro := s.newEstate(t, "metro")
	s.Drain(t)
	strangers := map[authz.Audience]string{authz.Rider: s.Token(t, s.Rider(t, "metro", "rita")),
		authz.Driver: s.Token(t, s.Driver(t, "metro", "dora"))}
	s.everyPlace(t, metro, metro, func(r api.Row, there, nowhere string) {
		for audience := range r.Policy.Scopes {
			if token := strangers[audience]; token != "" && !sharedWithin[r.ID] {
				do := func(path string) apptest.Answer {
					return s.Do(t, apptest.Request{Method: r.Method, Path: path, Token: token, Body: metro.body(r)}).Must(t, 404)
				}
				a, b := do(there), do(nowhere)
				if string(a.Body) != string(b.Body) {
					t.Errorf("%s: %s, and of none %s", r.ID, a.Body, b.Body)
				}
			}
		}
	})
}

// members returns the names of the row's identifiers in its body and its query.
var members = sync.OnceValue(func() map[string][]string {
	type schema struct {
		Ref        string `json:"$ref"`
		Properties map[string]json.RawMessage
	}
	var doc struct {
		Paths map[string]map[string]struct {
			ID         string `json:"operationId"`
			Parameters []struct{ In, Name string }
			Body       struct {
				Content map[string]struct{ Schema schema }
			} `json:"requestBody"`
		}
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal(svc.OpenAPI, &doc); err != nil {
		panic(err)
	}
	out := map[string][]string{}
	add := func(id, name string) {
		if name == "externalId" {
			return // of another system: TestExternalIDs
		}
		if strings.HasSuffix(name, "Id") || strings.HasSuffix(name, "Ids") || references[name] != "" {
			out[id] = append(out[id], name)
		}
	}
	for _, methods := range doc.Paths {
		for _, o := range methods {
			for _, p := range o.Parameters {
				if p.In == "query" {
					add(o.ID, p.Name)
				}
			}
			body := o.Body.Content["application/json"].Schema
			if body.Ref != "" {
				body = doc.Components.Schemas[body.Ref[strings.LastIndex(body.Ref, "/")+1:]]
			}
			for _, name := range slices.Sorted(maps.Keys(body.Properties)) {
				add(o.ID, name)
			}
		}
	}
	return out
})
