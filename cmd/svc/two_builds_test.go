package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"svc/internal/test/script"
	"svc/internal/test/testkit"
	"svc/pkg/local/demo"
	"svc/pkg/local/engine"
	"svc/pkg/local/folder"
	"svc/pkg/local/schema"
	"svc/pkg/oauth/flow"
)

// newer lists the source changes that make a newer build. Each type of item
// that changes in place gets an attribute, a member of its document (a wallet
// and a counter have no document) and a higher v.
var newer = []struct{ file, old, new string }{
	{"domain/trip/record.go", "`json:\"w,omitempty\"`\n", "`json:\"w,omitempty\"`\nNewer string `json:\"newer\"`\n"},
	{"domain/trip/record.go", "d := document(t)\n", "d := document(t)\nd.Newer = \"added\"\n"},
	{"domain/trip/trip.go", "CancellationFee *money.Amount ", "Newer string `json:\"-\"`\nCancellationFee *money.Amount "},
	{"domain/trip/record.go", `Type: "trip", `, `Type: "trip", Layout: 7, `},
	{"domain/trip/record.go", `"driverId": nil`, `"driverId": nil, "newer": "added"`},
	{"domain/wallet/wallet.go", `Type: "wallet", `, `Type: "wallet", Layout: 7, `},
	{"domain/wallet/wallet.go", `"updatedAt": w.UpdatedAt`, `"updatedAt": w.UpdatedAt, "newer": "added"`},
	{"data/counter/counter.go", `"type": "counter", "v": 1}`,
		`"type": "counter"}, Set: map[string]any{"newer": "added", "v": 7}`},
	{"oauth/tokens/family.go", "type family struct {\n", "type family struct {\nNewer string `json:\"newer\"`\n"},
	{"oauth/tokens/family.go", "item(t table.Tenant) table.Item {\n",
		"item(t table.Tenant) table.Item {\nf.Newer = \"added\"\n"},
	{"oauth/tokens/family.go", `Type: "family", `, `Type: "family", Layout: 7, `},
	{"oauth/tokens/family.go", `{"revoked": f.Revoked, `, `{"newer": "added", "revoked": f.Revoked, `},
	{"domain/driver/driver.go", "type Record struct {\n", "type Record struct {\nNewer string `json:\"newer\"`\n"},
	{"domain/driver/store.go", "r Record) table.Item {\n", "r Record) table.Item {\nr.Newer = \"added\"\n"},
	{"domain/driver/store.go", `authz.Driver, r.ID), `, `authz.Driver, r.ID), Layout: 7, Doc: r, `},
	{"domain/driver/store.go", `{"status": r.Status, `, `{"newer": "added", "status": r.Status, `},
	{"domain/branding/branding.go", "type Branding struct {\n", "type Branding struct {\nNewer string `json:\"newer\"`\n"},
	{"domain/branding/branding.go", "_ Branding) table.Item { return table.Item{Key: Key(t), ",
		"b Branding) table.Item {\nb.Newer = \"added\"\n" +
			`return table.Item{Key: Key(t), Layout: 7, Attrs: map[string]any{"newer": "added"}, Doc: b, `},
	{"domain/address/address.go", "type Address struct {\n", "type Address struct {\nNewer string `json:\"newer\"`\n"},
	{"domain/address/store.go", "a Address) table.Item {\n", "a Address) table.Item {\na.Newer = \"added\"\n"},
	{"domain/address/store.go", `string(a.Lng)), `,
		`string(a.Lng)), Layout: 7, Attrs: map[string]any{"newer": "added"}, Doc: a, `},
	{"domain/settings/service.go", "type ServiceType struct {\n",
		"type ServiceType struct {\nNewer string `json:\"newer\"`\n"},
	{"domain/settings/service.go", "s Service) table.Item {\n", "s Service) table.Item {\ns.Newer = \"added\"\n"},
	{"domain/settings/service.go", `Key: ServiceKey(t, s.ID), `, `Key: ServiceKey(t, s.ID), Layout: 7, `},
	{"domain/settings/service.go", `{"active": s.Active, `, `{"newer": "added", "active": s.Active, `},
	{"edge/api/idempotency.go", `Layout: fingerprintForm,`, `Layout: 7,`},
	{"edge/api/idempotency.go", `"etag": nil, "client": nil, "sealed": nil}}
	if`, `"newer": "added", "etag": nil, "client": nil, "sealed": nil}}
	if`},
	{"background/projection/counted.go", "type Counted struct {\n",
		"type Counted struct {\nNewer string `json:\"newer\"`\n"},
	{"background/projection/counted.go", "was table.Item) {\n", "was table.Item) {\nc.Newer = \"added\"\n"},
	{"background/projection/counted.go", `Type: "counted", `,
		`Type: "counted", Layout: 7, Attrs: map[string]any{"newer": "added"}, `},
}

// changedKinds lists the types of items that newer changes, and whether they
// have a document.
var changedKinds = map[string]bool{"trip": true, "wallet": false, "counter": false, "family": true, "driver": true,
	"branding": true, "address": true, "service": true, "counted": true}

// declared matches the beginning of a declaration of a type of item.
var declared = regexp.MustCompile(`(table\.Kind\[\w+\]\{)Type: `)

// overlay writes the newer sources and the file that "go build -overlay" reads. It
// returns the path of that file.
func overlay(t *testing.T, dir string) string {
	t.Helper()
	replace := map[string]string{}
	for i, change := range newer {
		file, err := filepath.Abs(filepath.Join("..", "..", "pkg", change.file))
		testkit.Must(t, err)
		from := file
		if replace[file] != "" {
			from = replace[file]
		}
		text, err := os.ReadFile(from)
		testkit.Must(t, err)
		source := declared.ReplaceAllString(string(text), "${1}Type : ") // no change is there
		if n := strings.Count(source, change.old); n != 1 {
			t.Fatalf("%s has %q %d times; the newer build needs another place for its change", change.file, change.old, n)
		}
		replace[file] = filepath.Join(dir, fmt.Sprint(i, ".go"))
		testkit.Must(t, os.WriteFile(replace[file], []byte(strings.Replace(source, change.old, change.new, 1)), 0o600))
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	testkit.Must(t, err)
	file := filepath.Join(dir, "overlay.json")
	testkit.Must(t, os.WriteFile(file, text, 0o600))
	return file
}

// build is a running svc dev of one build.
type build struct {
	client
	program string
	process *process
	name    string
}

// startBuild builds svc with further flags, and runs it on the engine.
func startBuild(t *testing.T, name, data, endpoint string, flags ...string) *build {
	t.Helper()
	b := &build{client: client{world{T: t, data: data}, map[string]string{}}, name: name,
		program: filepath.Join(t.TempDir(), "svc")}
	args := append([]string{"build", "-buildvcs=false", "-o", b.program}, flags...)
	if out, err := exec.CommandContext(t.Context(), "go", append(args, "svc/cmd/svc")...).CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, out)
	}
	b.process = startDev(t, b.program, data, endpoint)
	t.Cleanup(b.end)
	b.base = b.process.await(t)
	return b
}

func (b *build) end() {
	_ = b.process.cmd.Process.Signal(os.Interrupt) // the process may have ended
	<-b.process.ended
}

// change changes every kind of item that a request changes in place.
func (b *build) change(service, mark string) {
	b.Helper()
	b.must(http.MethodPatch, "dashboard", "/api/v1/branding", `{"appName":"`+b.name+mark+`"}`, "")
	b.must(http.MethodPost, "rider", "/api/v1/me/addresses",
		`{"address":"A","lat":40.5,"lng":-73.5,"label":"`+b.name+mark+`"}`, b.name+mark)
	for _, status := range []string{"OFFLINE", "ONLINE"} {
		b.must(http.MethodPatch, "driver", "/api/v1/me/status", `{"status":"`+status+`"}`, "")
	}
	cmd := exec.CommandContext(b.Context(), b.program, "service", "set", "metro", service, "--name", b.name+mark, "--data",
		b.data)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Errorf("svc service set: %v %s", err, out)
	}
}

// refresh exchanges the refresh token for the next.
func (b *build) refresh(tokens flow.Tokens) flow.Tokens {
	b.Helper()
	res, err := http.PostForm(b.base+"/oauth/token", url.Values{"grant_type": {"refresh_token"},
		"refresh_token": {tokens.RefreshToken}, "client_id": {tokens.ClientID}})
	testkit.Must(b.T, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	testkit.Must(b.T, err)
	next := flow.Tokens{ClientID: tokens.ClientID}
	if err := json.Unmarshal(text, &next); err != nil || res.StatusCode != http.StatusOK {
		b.Fatalf("refresh: %v %d %s", err, res.StatusCode, text)
	}
	return next
}

// keyed are requests whose responses are stored for their keys: of each status that is
// stored, and of each audience.
var keyed = []struct {
	audience, path, body string
	status               int
}{
	{"rider", "/api/v1/me/trips", `{"originAddress":"A","originLat":40.5,"originLng":-73.5}`, 201},
	{"rider", "/api/v1/me/trips/trp_00000000000000000000000000/cancel", `{}`, 404},
	{"driver", "/api/v1/me/wallet/withdrawals", `{"amount":9999}`, 409},
	{"dashboard", "/api/v1/zones", `{"name":"Pier","area":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}`,
		201},
	{"dashboard", "/api/v1/webhooks", `{"url":"https://hooks.metro.example/events"}`, 201},
}

// shownSecret matches what only the client sees again that made the request.
var shownSecret = regexp.MustCompile(`,"secret":"whsec_[^"]+"`)

// repeatKeys sends keyed requests to one build and again to the other, and others to both
// at the same time. Each is carried out once.
func repeatKeys(one, other *build, mark string) {
	one.Helper()
	for _, k := range keyed {
		send := func(b *build, key string) response {
			a, err := b.send(http.MethodPost, k.audience, k.path, k.body, one.name+mark+k.path+key)
			if a.body = shownSecret.ReplaceAllString(a.body, ""); err != nil || a.status != k.status {
				one.Errorf("%s: %s: %v %d %s", b.name, k.path, err, a.status, a.body)
			}
			return a
		}
		first := send(one, "")
		if again := send(other, ""); again.body != first.body || !again.replayed {
			one.Errorf("%s: %s %s, then %s: %s", k.path, one.name, first.body, other.name, again.body)
		}
		var answers [2]response
		var both sync.WaitGroup
		for i, b := range []*build{one, other} {
			both.Go(func() { answers[i] = send(b, "at-once") })
		}
		both.Wait()
		if answers[0].body != answers[1].body {
			one.Errorf("%s at once: %s and %s", k.path, answers[0].body, answers[1].body)
		}
	}
}

// turns lets the builds send a ride's calls in turn.
func turns(by ...*build) script.Send {
	n := 0
	return func(c script.Call) (json.RawMessage, error) {
		n++
		return by[(n-1)%len(by)].step(c)
	}
}

// written returns every change of the table, in order.
func written(t *testing.T, endpoint, name string) (out []types.Record) {
	t.Helper()
	ctx := t.Context()
	_, streams := schema.Clients(endpoint)
	list, err := streams.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: &name})
	testkit.Must(t, err)
	arn := list.Streams[0].StreamArn
	stream, err := streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
	testkit.Must(t, err)
	for _, shard := range stream.StreamDescription.Shards {
		at, err := streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: arn,
			ShardId: shard.ShardId, ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
		testkit.Must(t, err)
		for next := at.ShardIterator; next != nil; {
			page, err := streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: next,
				Limit: aws.Int32(1000)})
			testkit.Must(t, err)
			if out, next = append(out, page.Records...), page.NextShardIterator; len(page.Records) == 0 {
				break
			}
		}
	}
	return out
}

// text returns a string or number attribute of a stream image.
func text(image map[string]types.AttributeValue, name string) string {
	switch v := image[name].(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

// kept counts, by kind, the changes of items that the newer build had written. It
// reports an error for each change that removed an addition or lowered v.
func kept(t *testing.T, records []types.Record) map[string]int {
	t.Helper()
	const member = `"newer":"added"`
	out := map[string]int{}
	for _, r := range records {
		was, now := r.Dynamodb.OldImage, r.Dynamodb.NewImage
		kind := text(was, "type")
		document, known := changedKinds[kind]
		if !known || text(was, "newer") == "" || len(now) == 0 {
			continue
		}
		out[kind]++
		from, _ := strconv.Atoi(text(was, "v"))
		to, _ := strconv.Atoi(text(now, "v"))
		if from != 7 || to < from || text(now, "newer") != "added" ||
			document && (!strings.Contains(text(was, "doc"), member) || strings.Count(text(now, "doc"), member) != 1) {
			t.Errorf("%s %s: v %d, then %d; attribute %q; document %s, then %s", kind, text(now, "pk"), from, to,
				text(now, "newer"), text(was, "doc"), text(now, "doc"))
		}
	}
	return out
}

// sameReports waits until the reports of both builds are the same, with completed rides.
func sameReports(t *testing.T, by ...*build) {
	t.Helper()
	from, to := time.Now().AddDate(0, 0, -300).Format(time.DateOnly), time.Now().AddDate(0, 0, 2).Format(time.DateOnly)
	for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(50 * time.Millisecond) {
		var all []map[string]any
		for _, b := range by {
			var one map[string]any
			testkit.Must(t, json.Unmarshal([]byte(b.must(http.MethodGet, "dashboard",
				"/api/v1/reports/summary?from="+from+"&to="+to, "", "").body), &one))
			all = append(all, one)
		}
		same := reflect.DeepEqual(all[0], all[len(all)-1])
		if rides, _ := all[0]["completedTrips"].(float64); same && rides > 0 && all[0]["revenue"] != 0.0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the builds report %v", all)
		}
	}
}

// TestTwoBuilds runs a newer build and this one as two processes on one table.
// In the canary both change the same items, and both follow the stream; after
// the rollback only this build does. The table's stream has every change: none
// drops what the newer build added, and v never falls. A repeated Idempotency-Key gets the
// response of the other build.
func TestTwoBuilds(t *testing.T) {
	testkit.Long(t)
	t.Setenv("TABLE_NAME", "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	on, err := engine.Start(ctx, engine.Options{Memory: true})
	testkit.Must(t, err)
	t.Cleanup(on.Stop)
	canary := startBuild(t, "newer", t.TempDir(), on.URL, "-overlay", overlay(t, t.TempDir())) // it loads the demo
	sealing, err := os.ReadFile(filepath.Join(canary.data, "sealing.key"))
	testkit.Must(t, err)
	data := t.TempDir()
	testkit.Must(t, os.WriteFile(filepath.Join(data, "sealing.key"), sealing, 0o600))
	plain := startBuild(t, "plain", data, on.URL)
	running, err := folder.Find(ctx, data)
	testkit.Must(t, err)
	service := read[[]struct{ ID string }](&plain.world, "service", "list", "metro")[0].ID
	tokens, err := flow.Token(ctx, flow.Options{BaseURL: canary.base, Tenant: "metro", Audience: "rider",
		Email: "rider1@metro.example", Password: demo.Password})
	testkit.Must(t, err)
	ride := func(key string) script.Ride {
		return script.Ride{Asks: `"paymentType":"WALLET","serviceTypeId":"` + service + `"`, Fare: "12.5", Key: key}
	}
	for n := range 4 {
		var both sync.WaitGroup
		for _, b := range []*build{canary, plain} {
			both.Go(func() { b.change(service, fmt.Sprint(n)) })
		}
		both.Wait()
		one, other := canary, plain
		if n%2 == 1 {
			one, other = plain, canary
		}
		tokens = other.refresh(one.refresh(tokens))
		repeatKeys(one, other, fmt.Sprint(n))
		_, err := ride(fmt.Sprint("canary-", n)).Take(turns(one, other))
		testkit.Must(t, err)
	}
	sameReports(t, canary, plain)
	open := ride("open")
	open.ID = canary.ride(open, "request", "accept")
	tokens = canary.refresh(tokens)
	canary.end()
	before := len(written(t, on.URL, running.Table))
	plain.change(service, "rollback")
	plain.refresh(tokens)
	plain.ride(open, script.Steps[2:]...)
	for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(50 * time.Millisecond) {
		after := kept(t, written(t, on.URL, running.Table)[before:])
		if len(after) == len(changedKinds) || t.Failed() {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after the rollback only these were changed: %v", slices.Sorted(maps.Keys(after)))
		}
	}
	t.Logf("changes of what the newer build had written: %v", kept(t, written(t, on.URL, running.Table)))
	if out, errs, code := plain.run("verify"); code != 0 {
		t.Errorf("verify: %d %s %s", code, out, errs)
	}
}
