package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apptest"
	"svc/internal/test/e2e"
	"svc/pkg/access/signing"
	"svc/pkg/app"
	"svc/pkg/app/localapp"
	"svc/pkg/background/erasure"
	"svc/pkg/base/phone/plans"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/feedback"
	"svc/pkg/domain/payment"
	"svc/pkg/domain/person"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/local/demo"
	"svc/pkg/local/service"
	"svc/pkg/oauth/flow"

	"svc/internal/test/testkit"
)

var update = flag.Bool("update", false, "write the golden files anew")

// newerBuild is a transport that simulates a newer build on the same table. It
// adds an attribute, a member of the document and a higher v to every item that
// is put. A later put of the same item must keep them, because it replaces what
// the newer build wrote.
type newerBuild struct {
	next http.RoundTripper

	mu       sync.Mutex
	marked   map[string]bool // keys of stored items
	sent     map[string]bool // keys of the current request
	replaced map[string]bool // types of items that a put replaced
	lost     map[string]bool // what a put or an update dropped
	formats  map[string]bool // "type attribute" and "type doc.member" of every item that is put
}

// sentItem is an item as it is sent.
type sentItem map[string]map[string]any

func (it sentItem) text(name string) string { s, _ := it[name]["S"].(string); return s }

func (it sentItem) key() string { return it.text("pk") + " " + it.text("sk") }

// mark adds what a newer build writes, and returns the parts that the item lacked.
func (it sentItem) mark() (lacks []string) {
	if _, ok := it["newer"]; !ok {
		lacks = append(lacks, "attribute")
	}
	v, _ := it["v"]["N"].(string)
	if n, _ := strconv.Atoi(v); n < newerLayout {
		lacks = append(lacks, "v "+v)
	}
	const member = `"newer":{"a":[1,null]}`
	if doc := it.text("doc"); strings.HasSuffix(doc, "}") && !strings.Contains(doc, member) {
		lacks = append(lacks, "member")
		it["doc"]["S"] = strings.Replace(strings.TrimSuffix(doc, "}")+","+member+"}", "{,", "{", 1)
	}
	it["newer"], it["v"] = map[string]any{"S": "attribute"}, map[string]any{"N": strconv.Itoa(newerLayout)}
	return lacks
}

// put marks an item that is sent. create means that it does not replace an
// item.
func (n *newerBuild) put(it sentItem, create bool) {
	kind := it.text("type")
	n.note(kind, it)
	lacks := it.mark()
	erased := strings.Contains(it.text("doc"), `"erasedAt":"`) // keeps nothing unknown: it may tell of the person
	if n.marked[it.key()] && !create && !derived[kind] && !erased {
		n.replaced[kind] = true
		for _, what := range lacks {
			n.lost[kind+": "+what] = true
		}
	}
	n.sent[it.key()] = true
}

// note adds the names of an item's attributes and of its document's members to
// formats.
func (n *newerBuild) note(kind string, it sentItem) {
	var doc map[string]json.RawMessage
	_ = json.Unmarshal([]byte(it.text("doc")), &doc) // an item without a document has no members
	for name := range it {
		n.formats[kind+" "+name] = true
	}
	for name := range doc {
		n.formats[kind+" doc."+name] = true
	}
}

// write is one write of a request.
type write struct {
	Item                     sentItem       `json:",omitempty"`
	Key                      sentItem       `json:",omitempty"`
	ConditionExpression      string         `json:",omitempty"`
	UpdateExpression         string         `json:",omitempty"`
	ExpressionAttributeNames map[string]any `json:",omitempty"`
}

func (n *newerBuild) write(kind string, raw map[string]any) error {
	text, err := json.Marshal(raw)
	if err != nil {
		return err
	}
	var w write
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	switch kind {
	case "Put", "PutItem", "PutRequest":
		n.put(w.Item, strings.Contains(w.ConditionExpression, "attribute_not_exists(pk)"))
		raw["Item"] = w.Item
	case "Delete", "DeleteItem", "DeleteRequest":
		delete(n.marked, w.Key.key())
	case "Update", "UpdateItem":
		for placeholder, name := range w.ExpressionAttributeNames {
			if (name == "doc" || name == "v") && strings.Contains(w.UpdateExpression, placeholder) &&
				!strings.Contains(w.UpdateExpression, "if_not_exists("+placeholder) {
				n.lost[fmt.Sprintf("%s: an update of %s", w.Key.text("pk"), name)] = true
			}
		}
	}
	return nil
}

// RoundTrip implements http.RoundTripper.
func (n *newerBuild) RoundTrip(req *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	if operation != "TransactWriteItems" && operation != "BatchWriteItem" && operation != "PutItem" {
		return n.next.RoundTrip(req)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var in map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&in); err != nil {
		return nil, err
	}
	sent, err := n.rewrite(operation, in)
	if err != nil {
		return nil, err
	}
	if body, err = json.Marshal(in); err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.Header.Set("Content-Length", strconv.Itoa(len(body)))
	res, err := n.next.RoundTrip(req)
	if err == nil && res.StatusCode == http.StatusOK { // a rejected put stored nothing
		n.mu.Lock()
		defer n.mu.Unlock()
		maps.Copy(n.marked, sent)
	}
	return res, err
}

// rewrite marks the items of a request and returns their keys.
func (n *newerBuild) rewrite(operation string, in map[string]any) (map[string]bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sent = map[string]bool{}
	var lists [][]any
	switch operation {
	case "PutItem":
		return n.sent, n.write(operation, in)
	case "TransactWriteItems":
		list, _ := in["TransactItems"].([]any)
		lists = append(lists, list)
	case "BatchWriteItem":
		tables, _ := in["RequestItems"].(map[string]any)
		for _, list := range tables {
			lists = append(lists, list.([]any))
		}
	}
	for _, list := range lists {
		for _, one := range list {
			for kind, raw := range one.(map[string]any) {
				if err := n.write(kind, raw.(map[string]any)); err != nil {
					return nil, err
				}
			}
		}
	}
	return n.sent, nil
}

// derived lists the types of rows that are recomputed from the items that they
// list.
var derived = map[string]bool{"suffix": true, "rank": true, "text": true}

// TestUnknownSurvivesEveryWrite: while the end-to-end suite and the operators'
// commands run, every stored item has an attribute, a member and a v of a newer
// build. Every put that replaces an item keeps them, and no update touches
// document or v. A new type of item needs a case here.
func TestUnknownSurvivesEveryWrite(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	n := &newerBuild{marked: map[string]bool{}, replaced: map[string]bool{}, lost: map[string]bool{},
		formats: map[string]bool{}}
	rt := &app.Runtime{Sealer: signing.NewSealer(), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		ReadPhone: plans.Read}
	running, err := service.Start(t.Context(), service.Options{Data: t.TempDir(), Memory: true, Table: testkit.Fresh(),
		Template: testkit.Template(240), Engine: io.Discard, Log: slog.New(slog.DiscardHandler),
		Build: func(ctx context.Context, at service.Environment) (service.App, error) {
			return localapp.Build(ctx, at, rt, func(next http.RoundTripper) http.RoundTripper {
				n.next = (&testkit.Wire{}).Over(next) // without time limits
				return n
			})
		}})
	testkit.Must(t, err)
	defer running.Close()
	_, err = demo.Load(t.Context(), rt.DB, time.Now())
	testkit.Must(t, err)
	for _, slug := range []string{"metro", "harbor", "sandbox"} {
		apptest.Unprice(t, rt.DB, slug)
	}
	n.replaced, n.lost = map[string]bool{}, map[string]bool{} // of the service, not of the demo
	e2e.Run(t, e2e.Target{BaseURL: running.BaseURL, DB: rt.DB, FewTools: true, Patience: 10 * time.Minute})
	widen(t, running.BaseURL)
	testkit.Must(t, running.Poller.Drain(t.Context())) // the earlier names are counted
	operate(t, rt)
	testkit.Must(t, running.Poller.Drain(t.Context()))
	n.mu.Lock()
	defer n.mu.Unlock()
	for what := range n.lost {
		t.Errorf("a newer build's data is lost: %s", what)
	}
	storedFormats(t, n.formats)
	declared := apptest.ItemKinds(t, "..")
	for kind, file := range apptest.ItemTypes(t, "..") {
		switch reason := declared[kind].Once; {
		case derived[kind], kind == "delivery": // whether a second attempt replaces a delivery depends on the time
		case !n.replaced[kind] && reason == "":
			t.Errorf("nothing in this test replaces an item of type %s, which %s writes: add its change to operate, or "+
				"Once to its table.Kind, with the reason", kind, file)
		case n.replaced[kind] && reason != "":
			t.Errorf("a %s is replaced", kind)
		}
	}
}

// storedFormats compares the names that this build stores with those of
// testdata/stored_formats.txt, one line for each type of item. Whoever changes
// what is stored must notice it.
func storedFormats(t *testing.T, names map[string]bool) {
	t.Helper()
	byKind := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if kind, part, _ := strings.Cut(name, " "); part != "newer" && part != "doc.newer" {
			byKind[kind] = append(byKind[kind], part)
		}
	}
	var got strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		fmt.Fprintf(&got, "%s: %s\n", kind, strings.Join(byKind[kind], " "))
	}
	const file = "testdata/stored_formats.txt"
	if *update {
		testkit.Must(t, os.WriteFile(file, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(file)
	testkit.Must(t, err)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("What is stored has changed. Items of earlier builds stay in the table, and an earlier build may run "+
			"beside this one (docs/engineering.md, \"Two builds on one table\"). Read them as they were made, test it, and "+
			"run this test with -update:\n%s", diff)
	}
}

// widen consents to a client, and then to more of its scopes.
func widen(t *testing.T, baseURL string) {
	t.Helper()
	o := flow.Options{BaseURL: baseURL, Tenant: "metro", Audience: "rider", Email: "rider1@metro.example",
		Password: demo.Password, Scope: "rider.profile:read rider.trips:read"}
	c, err := flow.Register(t.Context(), o)
	testkit.Must(t, err)
	o.ClientID = c.ID
	for _, scope := range []string{"rider.profile:read", "rider.profile:read rider.trips:read"} {
		o.Scope = scope
		_, err := flow.Token(t.Context(), o)
		testkit.Must(t, err)
	}
}

// operate makes the changes that only svc can make.
func operate(t *testing.T, rt *app.Runtime) {
	t.Helper()
	ctx, db, by := t.Context(), rt.DB, audit.By{Who: "test", At: time.Now()}
	n, err := tenant.Store{DB: db}.BySlug(ctx, "metro")
	testkit.Must(t, err)
	tn := db.Tenant(n.ID)
	_, err = tenant.Store{DB: db}.Change(ctx, n.ID, by, func(n *tenant.Tenant) error {
		n.Name, n.RiderSignUp, n.TermsVersion = n.Name+" 2", tenant.SignUpOpen, "2026-11"
		return nil
	})
	testkit.Must(t, err)
	riders, _, err := customer.List(ctx, tn, "", 50)
	testkit.Must(t, err)
	riders = slices.DeleteFunc(riders, func(r customer.Record) bool { return r.ErasedAt != nil })
	_, err = customer.Store.Change(ctx, tn, by, riders[0].ID, func(r *customer.Record) error {
		r.Agreed = &customer.Agreement{At: timestamp.Format(by.At), Version: "2026-11"}
		return nil
	})
	testkit.Must(t, err)
	for range 2 {
		_, err = payment.Add(ctx, tn, by, riders[0].ID, payment.Method{Type: "CARD", Brand: "visa", Last4: "4242",
			ExpMonth: 12, ExpYear: 2040, IsDefault: true})
		testkit.Must(t, err)
	}
	_, err = settings.Set(ctx, tn, by, func(d *settings.Document) error { d.Dispatch.OfferTimeoutSeconds++; return nil })
	testkit.Must(t, err)
	services, err := settings.Services(ctx, tn)
	testkit.Must(t, err)
	_, err = settings.SetService(ctx, tn, by, services[0].ID,
		func(s *settings.Service) error { s.Name += " 2"; return nil })
	testkit.Must(t, err)
	zones, err := settings.Zones(ctx, tn)
	testkit.Must(t, err)
	_, err = settings.SetZone(ctx, tn, by, zones[0].ID, func(z *settings.Zone) error { z.Name += " 2"; return nil })
	testkit.Must(t, err)
	_, err = customer.Store.Change(ctx, tn, by, riders[0].ID, func(r *customer.Record) error {
		// So long that the search rows need several transactions.
		r.FirstName = "Abcdefghijklmnopqrstuvwxyz0123456789 Zyxwvutsrqponmlkjihgfedcba9876543210"
		r.LastName = "Qwertyuiopasdfghjklzxcvbnm1357924680 Mnbvcxzlkjhgfdsapoiuytrewq0864297531"
		return nil
	})
	testkit.Must(t, err)
	operateMembers(t, db, tn, by)
	businesses, _, err := delivery.Businesses(ctx, tn, "", 1)
	testkit.Must(t, err)
	_, err = delivery.SetBusiness(ctx, tn, by, businesses[0].ID,
		func(b *delivery.Business) error { b.Name += " 2"; return nil })
	testkit.Must(t, err)
	orders, _, err := delivery.Orders(ctx, tn, "PENDING", "", 1)
	testkit.Must(t, err)
	_, err = delivery.SetOrder(ctx, tn, by, orders[0].ID, "ACCEPTED", nil)
	testkit.Must(t, err)
	keys, err := rt.Keys().List(ctx)
	testkit.Must(t, err)
	testkit.Must(t, rt.Keys().Revoke(ctx, keys[0].KID))
	posts, err := feedback.List(ctx, db, time.Now(), feedback.ListInput{Limit: 1, Sort: "newest", Status: "ALL"})
	testkit.Must(t, err)
	_, err = feedback.ChangeStatus(ctx, db, by, posts[0].ID, "REJECTED")
	testkit.Must(t, err)
	_, err = feedback.ChangeStatus(ctx, db, by, posts[0].ID, "IN_PROGRESS")
	testkit.Must(t, err)
	operateRetention(t, db, tn, by)
}

// operateRetention applies the retention of a tenant, a few trips at a time.
func operateRetention(t *testing.T, db *table.DB, tn table.Tenant, by audit.By) {
	t.Helper()
	_, err := tenant.Store{DB: db}.Change(t.Context(), tn.ID(), by, func(n *tenant.Tenant) error {
		n.Retain = tenant.Retention{Addresses: 7, Positions: 1, Logs: 7, Audit: 90}
		return nil
	})
	testkit.Must(t, err)
	r := erasure.Runner{DB: db, Now: time.Now, AtOnce: 3}
	testkit.Must(t, r.Sweep(t.Context()))
	for more := true; more; {
		more, err = r.Slice(t.Context(), tn, "retention")
		testkit.Must(t, err)
	}
}

// operateMembers disables an operator, in the tenant and on the platform, and
// enables the operator again.
func operateMembers(t *testing.T, db *table.DB, tn table.Tenant, by audit.By) {
	t.Helper()
	ctx := t.Context()
	people := person.Store{DB: db}
	members, _, err := people.Members(ctx, tn, "", 1)
	testkit.Must(t, err)
	for _, step := range []struct{ everywhere, disabled bool }{{false, true}, {true, true}, {true, false},
		{false, false}} {
		var err error
		if step.everywhere {
			err = people.DisableEverywhere(ctx, by, members[0].PersonID, step.disabled)
		} else {
			_, err = people.Disable(ctx, tn, by, members[0].PersonID, step.disabled)
		}
		testkit.Must(t, err)
	}
}
