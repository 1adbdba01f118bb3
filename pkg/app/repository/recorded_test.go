package repository_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/e2e"
	"svc/internal/test/testkit"
	"svc/pkg/access/signing"
	"svc/pkg/app"
	"svc/pkg/base/phone"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
	"svc/pkg/edge/gateway/emulator"
	"svc/pkg/local/demo"
	"svc/pkg/local/files"
	"svc/pkg/local/service"
)

// recording is what one run of the end-to-end suite recorded: the requests of
// each function to the table and the sealing key, the logs, and the secrets
// that were sent. Every function has its own client.
type recording struct {
	mu         sync.Mutex
	requests   map[string]map[string]iamRequest // by function and form
	operations map[string]bool                  // operation ids with a 2xx response
	logs       bytes.Buffer
	sweep      func(context.Context) error // runs the scheduled settlement
	secrets    map[string]string           // kind of secret, by its text
	mailed     map[string]string           // one-time link, by address
}

// iamRequest contains the properties of a request that IAM evaluates.
type iamRequest struct {
	attributes []string // of an update, or of a read of some attributes
	action     string
	resource   string   // "table", an index's name, "key"
	keys       []string // leading keys, each cut after its family
}

var recordOnce sync.Once
var ran *recording

// recorded returns the recording. The first call makes it.
func recorded(t *testing.T) *recording {
	t.Helper()
	testkit.Long(t)
	recordOnce.Do(func() {
		r := &recording{requests: map[string]map[string]iamRequest{}, operations: map[string]bool{},
			secrets: map[string]string{}, mailed: map[string]string{}}
		if r.record(t); !t.Failed() {
			ran = r
		}
	})
	if ran == nil {
		t.Fatal("the end-to-end suite fails")
	}
	return ran
}

func (r *recording) record(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	name := "svc"
	if testkit.OnDynamoDBLocal() {
		t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", testkit.Endpoint(t))
		name = testkit.Fresh()
	}
	running, err := service.Start(ctx, service.Options{Data: t.TempDir(), Memory: true, Table: name,
		Template: testkit.Template(240), Build: r.build,
		Engine: io.Discard, Log: slog.New(slog.NewJSONHandler(r, nil))})
	if err != nil {
		t.Fatalf("starting the service: %v", err)
	}
	defer running.Close()
	db, err := table.Open(ctx, table.Options{Table: running.Table, Endpoint: running.Endpoint,
		Transport: running.Transport})
	testkit.Must(t, err)
	_, err = demo.Load(ctx, db, time.Now())
	testkit.Must(t, err)
	// before removes the tenants' marks (see apptest.Unprice) at the first request to the
	// API and at the first one to the MCP server. So the recording has the writes
	// with which the functions of both set the mark.
	unpriced := map[string]bool{}
	before := func(req *http.Request) {
		if way, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/"); !unpriced[way] {
			unpriced[way] = true
			apptest.Unprice(t, db, "metro")
			apptest.Unprice(t, db, "harbor")
			apptest.Unprice(t, db, "sandbox")
		}
	}
	e2e.Run(t, e2e.Target{BaseURL: running.BaseURL, Transport: tap{r, before}, Patience: 10 * time.Minute})
	letRidersSignUp(t, db)
	r.visitPages(t, running.BaseURL, tap{r, before})
	drained, end := context.WithTimeout(context.Background(), 10*time.Minute)
	defer end()
	testkit.Must(t, running.Poller.Drain(drained))
	testkit.Must(t, r.sweep(ctx))
}

// build wires each function as in a separate process.
func (r *recording) build(ctx context.Context, at service.Environment) (service.App, error) {
	out := service.App{Functions: map[string]emulator.Function{}, Streams: map[string]emulator.Function{},
		Scheduled: map[string]func(context.Context) error{}}
	sealer := signing.NewSealer()
	folder := files.Open(filepath.Join(at.Data, "files"), at.BaseURL, time.Now)
	out.Files, out.FilesPath = folder, files.Path
	// The suite waits for these functions, and their schedules have minutes.
	out.Wakes = map[string]<-chan struct{}{app.Jobs: seconds(ctx), app.Dispatch: seconds(ctx)}
	logger := slog.New(slog.NewJSONHandler(r, &slog.HandlerOptions{Level: slog.LevelDebug}))
	rt := func(function string) (*app.Runtime, error) {
		r.requests[function] = map[string]iamRequest{}
		wire := func(next http.RoundTripper) http.RoundTripper { return recorder{r, function, at.Transport(next)} }
		db, err := table.Open(ctx, table.Options{Table: at.Table, Endpoint: at.Endpoint, Transport: wire})
		line := app.Requests(r, function)
		return &app.Runtime{DB: db, BaseURL: at.BaseURL, ReadPhone: func(typed, _ string) *phone.Number {
			// So long that its search rows need several transactions.
			digits, _ := phone.Digits(typed)
			return &phone.Number{Typed: typed, E164: digits + "1234567890", National: "0987654321" + digits}
		}, Sealer: sealing{r, function, sealer}, Now: time.Now, Logger: logger,
			Mail: r.mail, MailTime: -1, Files: folder,
			Observe: func(ctx context.Context, o api.Observation) {
				line(ctx, o)
				r.observe(o)
			}}, err
	}
	for _, name := range app.RequestFunctions() {
		p, err := rt(name)
		if err != nil {
			return out, err
		}
		functions, err := p.Functions()
		if err != nil {
			return out, err
		}
		out.Functions[name] = functions[name]
	}
	sender, err := rt(app.Deliver)
	if err != nil {
		return out, err
	}
	out.Scheduled[app.Deliver] = sender.Scheduled()[app.Deliver]
	worker, err := rt(app.Dispatch)
	if err != nil {
		return out, err
	}
	for _, name := range []string{app.Settlement, app.Projection, app.Keys, app.Jobs, app.Dispatch} {
		p, err := rt(name)
		if err != nil {
			return out, err
		}
		if name == app.Projection {
			p.Webhooks = sender.SendWebhooks
			p.Queue = worker.Send
		}
		if stream := p.StreamFunctions()[name]; stream != nil {
			out.Streams[name] = stream
		}
		if scheduled := p.Scheduled()[name]; scheduled != nil {
			out.Scheduled[name] = scheduled
		}
	}
	r.sweep = out.Scheduled[app.Settlement]
	return out, nil
}

// seconds returns a channel that receives each second until ctx ends.
func seconds(ctx context.Context) <-chan struct{} {
	out := make(chan struct{})
	go func() {
		for ctx.Err() == nil {
			testkit.Sleep(ctx, time.Second)
			select {
			case out <- struct{}{}:
			case <-ctx.Done():
			}
		}
	}()
	return out
}

func (r *recording) observe(o api.Observation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.Status < 300 {
		r.operations[o.Operation] = true
	}
}

// Write keeps the log lines.
func (r *recording) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.logs.Write(p)
}

func (r *recording) add(function string, q iamRequest) {
	slices.Sort(q.keys)
	q.keys = slices.Compact(q.keys)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests[function][fmt.Sprint(q)] = q
}

// sealing records the use of the sealing key.
type sealing struct {
	r        *recording
	function string
	next     signing.Sealer
}

// Seal implements signing.Sealer.
func (s sealing) Seal(ctx context.Context, id string, plain []byte) ([]byte, error) {
	s.r.add(s.function, iamRequest{action: "kms:Encrypt", resource: "key"})
	return s.next.Seal(ctx, id, plain)
}

// Open implements signing.Sealer.
func (s sealing) Open(ctx context.Context, id string, sealed []byte) ([]byte, error) {
	s.r.add(s.function, iamRequest{action: "kms:Decrypt", resource: "key"})
	return s.next.Open(ctx, id, sealed)
}

// recorder reads the requests to the table as they are sent.
type recorder struct {
	r        *recording
	function string
	next     http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (w recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	_, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	requests, err := judged(operation, body)
	if err != nil {
		return nil, err
	}
	for _, q := range requests {
		w.r.add(w.function, q)
	}
	return w.next.RoundTrip(req)
}

// family returns the part of a key that names its family, with t for any
// tenant: KEYS#, T#t#TRIP#. The counters of mails are a family of their own.
func family(key string) string {
	if mails := "THROTTLE#mail-"; strings.HasPrefix(key, mails) {
		return mails
	}
	parts := strings.SplitAfterN(key, "#", 2)
	if parts[0] != "T#" {
		return parts[0]
	}
	parts = strings.SplitAfterN(parts[1], "#", 3)
	return "T#t#" + parts[1]
}

// judged returns the requests that IAM evaluates for an operation's body. IAM
// evaluates each write of a transaction separately, and a batch as one request
// with all its keys.
func judged(operation string, body []byte) ([]iamRequest, error) {
	var in struct {
		IndexName                 string
		Key                       map[string]map[string]string
		ExpressionAttributeValues map[string]map[string]any
		RequestItems              map[string]struct {
			Keys                     []map[string]map[string]string
			ProjectionExpression     string
			ExpressionAttributeNames map[string]string
		}
		TransactItems []map[string]json.RawMessage
	}
	if operation == "BatchWriteItem" {
		return batchWritten(body)
	}
	if operation != "PutItem" {
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, fmt.Errorf("%s: %w", operation, err)
		}
	}
	one := iamRequest{action: "dynamodb:" + operation, resource: "table"}
	switch operation {
	case "GetItem", "DeleteItem":
		one.keys = []string{family(in.Key["pk"]["S"])}
	case "Query":
		hash, _ := in.ExpressionAttributeValues[":h"]["S"].(string)
		one.keys = []string{family(hash)}
		if in.IndexName != "" {
			one.resource = in.IndexName
		}
	case "BatchGetItem":
		for _, keys := range in.RequestItems {
			for _, key := range keys.Keys {
				one.keys = append(one.keys, family(key["pk"]["S"]))
			}
			for _, term := range strings.Fields(strings.ReplaceAll(keys.ProjectionExpression, ",", " ")) {
				one.attributes = append(one.attributes, cmp.Or(keys.ExpressionAttributeNames[term], term))
			}
		}
	case "PutItem":
		var w struct{ Item map[string]json.RawMessage }
		var pk map[string]string
		if err := json.Unmarshal(body, &w); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(w.Item["pk"], &pk); err != nil {
			return nil, err
		}
		one.keys = []string{family(pk["S"])}
	case "TransactWriteItems":
		return transacted(in.TransactItems)
	default:
		return nil, fmt.Errorf("%s is not known to the policies", operation)
	}
	return []iamRequest{one}, nil
}

// batchWritten returns the request of a batch of puts.
func batchWritten(body []byte) ([]iamRequest, error) {
	var in struct {
		RequestItems map[string][]struct {
			PutRequest struct{ Item map[string]map[string]any }
		}
	}
	err := json.Unmarshal(body, &in)
	one := iamRequest{action: "dynamodb:BatchWriteItem", resource: "table"}
	for _, writes := range in.RequestItems {
		for _, w := range writes {
			pk, _ := w.PutRequest.Item["pk"]["S"].(string)
			one.keys = append(one.keys, family(pk))
		}
	}
	return []iamRequest{one}, err
}

// written is one write of a transaction.
type written struct {
	Key, Item                             map[string]json.RawMessage
	UpdateExpression, ConditionExpression string
	ExpressionAttributeNames              map[string]string
}

var (
	expressionWord = regexp.MustCompile(`[:#]?[A-Za-z_][A-Za-z0-9_]*`)
	expressionTerm = regexp.MustCompile(`^(:.*|SET|ADD|REMOVE|DELETE|AND|OR|NOT|IN|if_not_exists|attribute_exists|` +
		`attribute_not_exists|size)$`)
)

// attributes returns the names of the attributes in the key and the expressions of
// an update (dynamodb:Attributes).
func (w written) attributes() []string {
	names := slices.Collect(maps.Keys(w.Key))
	for _, word := range expressionWord.FindAllString(w.UpdateExpression+" "+w.ConditionExpression, -1) {
		if name, ok := w.ExpressionAttributeNames[word]; ok {
			word = name
		}
		if !expressionTerm.MatchString(word) {
			names = append(names, word)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func transacted(items []map[string]json.RawMessage) ([]iamRequest, error) {
	var out []iamRequest
	for _, item := range items {
		for kind, raw := range item {
			action := map[string]string{"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem",
				"ConditionCheck": "ConditionCheckItem"}[kind]
			var w written
			if err := json.Unmarshal(raw, &w); err != nil {
				return nil, err
			}
			pk := w.Key["pk"]
			if w.Item != nil {
				pk = w.Item["pk"]
			}
			var value map[string]string
			if err := json.Unmarshal(pk, &value); err != nil {
				return nil, fmt.Errorf("%s: %w", kind, err)
			}
			q := iamRequest{action: "dynamodb:" + action, resource: "table", keys: []string{family(value["S"])}}
			if kind == "Update" {
				q.attributes = w.attributes()
			}
			out = append(out, q)
		}
	}
	return out, nil
}

// tap calls before with each request. It collects the secrets in responses (tokens,
// client secrets, codes) and the cookies of both directions.
type tap struct {
	r      *recording
	before func(*http.Request)
}

// RoundTrip implements http.RoundTripper.
func (p tap) RoundTrip(req *http.Request) (*http.Response, error) {
	p.before(req)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	var members map[string]any
	if json.Unmarshal(body, &members) == nil {
		for _, name := range []string{"access_token", "refresh_token", "id_token", "client_secret",
			"registration_access_token"} {
			if s, ok := members[name].(string); ok {
				p.r.secrets[s] = name
			}
		}
	}
	for _, cookie := range append(res.Cookies(), req.Cookies()...) {
		if !strings.HasSuffix(cookie.Name, "svc-operator") && !strings.HasSuffix(cookie.Name, "svc-audience") {
			p.r.secrets[cookie.Value] = "cookie" // those two name companies and audiences, and are no secrets
		}
	}
	if at, err := res.Location(); err == nil {
		p.r.secrets[at.Query().Get("code")] = "code"
	}
	delete(p.r.secrets, "")
	return res, nil
}

// of returns the requests of a function, sorted.
func (r *recording) of(function string) []iamRequest {
	var out []iamRequest
	for _, form := range slices.Sorted(maps.Keys(r.requests[function])) {
		out = append(out, r.requests[function][form])
	}
	return out
}
