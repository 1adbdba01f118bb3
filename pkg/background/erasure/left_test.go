package erasure_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/erasure"
	"svc/pkg/local/schema"
)

// mails notes what was mailed.
type mails struct {
	mu  sync.Mutex
	all strings.Builder
}

func (m *mails) send(_ context.Context, to, subject, text string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	fmt.Fprintln(&m.all, to, subject, text)
	return nil
}

func (m *mails) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all.String()
}

func (m *mails) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all.Reset()
}

func (m *mails) have(w said) bool {
	text := m.text()
	for _, one := range w.all {
		if one.in(text) {
			return true
		}
	}
	return false
}

// left fails the test for each place that has a marker and may not: the table, the files,
// the logs, the mails, and what operators, agents and those who shared rides read.
func (l *lives) left(t *testing.T, w *said, when string) {
	t.Helper()
	for text, where := range w.places(t, l.Service) {
		for _, place := range where {
			if !mayStay(text, place) {
				t.Errorf("%s, %q is in %s", when, text, place)
			}
		}
	}
	answers := l.answers(t)
	answers["the mails"] = l.mails.text()
	for where, text := range answers {
		for _, m := range w.all {
			if m.in(text) && !mayStay(m.said, where) {
				t.Errorf("%s, %q is in %s", when, m.said, where)
			}
		}
	}
}

// areShown fails the test unless operators and agents can read some of the texts.
func (l *lives) areShown(t *testing.T, w *said) {
	t.Helper()
	answers := l.answers(t)
	for _, kind := range []string{"GET /api/v1/trips/", "GET /api/v1/wallets", "/api/v1/me/trips of peer",
		"tool svc_get_trip", "tool svc_list_customers"} {
		found := false
		for where, text := range answers {
			found = found || strings.HasPrefix(where, kind) && slices.ContainsFunc(w.all, func(m marker) bool {
				return m.in(text)
			})
		}
		if !found {
			t.Errorf("before the erasures no text is in %s", kind)
		}
	}
}

func mayStay(text, place string) bool {
	for _, s := range stays {
		if strings.HasSuffix(text, s.said) && strings.Contains(place, s.in) {
			return true
		}
	}
	return false
}

// answers returns what every operation that reads answers to the operator, for every
// identifier of its collection, by REST and as a tool of an agent, and what those who
// shared rides read.
func (l *lives) answers(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	agent := l.SignInFor(t, apptest.Actor{Tenant: "metro", Audience: authz.Dashboard, Email: "boss@metro.example"},
		"/mcp").AccessToken
	for id, o := range operations() {
		if o.method != http.MethodGet || id == "svc_stream_events" {
			continue
		}
		if strings.HasPrefix(o.path, "/api/v1/me") {
			for n, peer := range l.peers {
				if a := l.Get(t, peer, o.path); !strings.Contains(o.path, "{") {
					out[fmt.Sprint(o.path, " of peer ", n)] = string(a.Body)
				}
			}
			continue
		}
		for _, arguments := range l.arguments(t, id, o.path) {
			path, query := o.path, []string{}
			for name, value := range arguments {
				if filled := strings.Replace(path, "{"+name+"}", url.PathEscape(value), 1); filled != path {
					path = filled
				} else {
					query = append(query, name+"="+value)
				}
			}
			path += "?" + strings.Join(query, "&")
			a := l.Get(t, l.boss, path)
			if a.Status != http.StatusOK && (id != "svc_get_receipt" || a.Status != http.StatusConflict) {
				t.Errorf("%s %s: %d %s", id, path, a.Status, a.Body)
			}
			out["GET "+path] = string(a.Body)
			given, err := json.Marshal(arguments)
			testkit.Must(t, err)
			out["tool "+id+" "+string(given)] = l.tool(t, agent, id, string(given))
		}
	}
	return out
}

// arguments returns the arguments with which an operation is called: none, or each
// identifier of its collection.
func (l *lives) arguments(t *testing.T, id, path string) []map[string]string {
	t.Helper()
	owners := map[string]string{"/api/v1/drivers": "driverId", "/api/v1/customers": "customerId"}
	if id == "svc_list_postings" {
		var out []map[string]string
		for collection, name := range owners {
			for _, one := range l.listed(t, collection) {
				out = append(out, map[string]string{name: one})
			}
		}
		return out
	}
	if collection, _, has := strings.Cut(path, "/external/{"); has {
		var out []map[string]string
		var page struct{ Items []struct{ ExternalID string } }
		testkit.Must(t, json.Unmarshal(l.Get(t, l.boss, collection).Must(t, 200).Body, &page))
		for _, one := range page.Items {
			if one.ExternalID != "" {
				out = append(out, map[string]string{"externalId": one.ExternalID})
			}
		}
		return out
	}
	collection, _, has := strings.Cut(path, "/{id}")
	if !has {
		return []map[string]string{{}}
	}
	var out []map[string]string
	for _, one := range l.listed(t, collection) {
		out = append(out, map[string]string{"id": one})
		if strings.Contains(path, "{month}") {
			out[len(out)-1]["month"] = testkit.Local(t, l.Clock.Now(), "America/New_York").Format("2006-01")
		}
	}
	return out
}

// listed returns the identifiers of a collection. No operation lists privacy requests.
func (l *lives) listed(t *testing.T, collection string) (ids []string) {
	t.Helper()
	if collection == "/api/v1/privacy/requests" {
		testkit.Must(t, erasure.Journal(t.Context(), l.Service.Tenant("metro"), func(e erasure.Erased) error {
			ids = append(ids, e.Request)
			return nil
		}))
		return ids
	}
	var page struct{ Items []struct{ ID string } }
	testkit.Must(t, json.Unmarshal(l.Get(t, l.boss, collection).Must(t, 200).Body, &page))
	for _, one := range page.Items {
		ids = append(ids, one.ID)
	}
	return ids
}

// tool returns the response to a tool call of an agent.
func (l *lives) tool(t *testing.T, token, name, arguments string) string {
	t.Helper()
	a := l.Do(t, apptest.Request{Method: http.MethodPost, Path: "/mcp", Token: token,
		Header: map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name,
			"Accept": "application/json, text/event-stream"},
		Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{}},"name":"` + name + `","arguments":` + arguments + `}}`})
	if a.Status != http.StatusOK || !strings.Contains(string(a.Body), `"content"`) {
		t.Errorf("the tool %s %s: %d %s", name, arguments, a.Status, a.Body)
	}
	return string(a.Body)
}

// items returns every item of the table, as a backup has them.
func items(t *testing.T, s *apptest.Service) (all []map[string]types.AttributeValue) {
	t.Helper()
	endpoint, name := s.Stored()
	client, _ := schema.Clients(endpoint)
	for pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &name}); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		testkit.Must(t, err)
		all = append(all, page.Items...)
	}
	return all
}

// restored restores the backup from before the erasures into another table, where another
// service serves it, and erases everybody of the journal again, as svc restore erase does.
func (l *lives) restored(t *testing.T, backup []map[string]types.AttributeValue, w *said) {
	t.Helper()
	again := &lives{mails: &mails{}}
	again.story = &story{apptest.With(t, apptest.Options{Phones: true, Bare: true, Mail: again.mails.send}), nil}
	again.Metro, again.Harbor = l.Metro, l.Harbor
	endpoint, name := again.Stored()
	client, _ := schema.Clients(endpoint)
	for _, it := range backup {
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: it})
		testkit.Must(t, err)
	}
	again.Clock.Advance(l.Clock.Now().Sub(again.Clock.Now()).Round(time.Minute))
	again.Drain(t)
	if before := w.places(t, again.Service); len(before) < len(w.all)/2 {
		t.Errorf("the restored table has only %d of %d texts", len(before), len(w.all))
	}
	r := erasure.Runner{DB: again.DB, Files: again.Runtime.Files, Now: again.Clock.Now}
	testkit.Must(t, erasure.Journal(t.Context(), l.Service.Tenant("metro"), func(e erasure.Erased) error {
		return r.Repeat(context.WithoutCancel(t.Context()), e)
	}))
	again.Drain(t)
	again.boss = again.Token(t, apptest.Actor{Tenant: "metro", Audience: authz.Dashboard, Email: "boss@metro.example"})
	verify(t, again.Service)
	again.left(t, w, "in a restored table")
	rebuilt(t, again.Service)
	verify(t, again.Service)
	again.left(t, w, "in a restored table after a rebuild")
}
