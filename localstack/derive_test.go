package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/edge/gateway/emulator"
)

func derived(t *testing.T) object {
	t.Helper()
	at, err := codeLocation("amd64")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := derive(svc.Template, at)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestRoutes: the REST API has the routes of the HTTP API, and sends unmatched
// requests to the same function.
func TestRoutes(t *testing.T) {
	paths := member(member(member(member(derived(t)["Resources"].(object), "RestApi"), "Properties"), "Body"), "paths")
	routes, err := emulator.Routes(svc.Template)
	if err != nil {
		t.Fatal(err)
	}
	var want, have []string
	for _, r := range routes {
		switch {
		case r.Path == emulator.Default:
			want = append(want, anyMethod+" /{proxy+} "+r.Function)
		case r.Method == "ANY":
			want = append(want, anyMethod+" "+r.Path+" "+r.Function)
		default:
			want = append(want, strings.ToLower(r.Method)+" "+r.Path+" "+r.Function)
		}
	}
	for path, p := range paths {
		methods := p.(object)
		if methods[anyMethod] == nil {
			t.Errorf("%s has methods that nobody answers", path)
		}
		for method, m := range methods {
			uri := fmt.Sprint(member(member(m.(object), "x-amazon-apigateway-integration"), "uri")["Fn::Sub"])
			_, function, _ := strings.Cut(uri, "${AWS::Region}:lambda:path/2015-03-31/functions/${")
			function, _, _ = strings.Cut(function, ".Arn}")
			if method == anyMethod && function == "DocsFunction" && path != "/{proxy+}" {
				continue // what an HTTP API's $default route does
			}
			have = append(have, method+" "+path+" "+function)
		}
	}
	slices.Sort(want)
	slices.Sort(have)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
}

// TestResources: every function has its code, role and environment. The stream
// functions have their mapping. No resource is left that LocalStack does not
// support.
func TestResources(t *testing.T) {
	doc := derived(t)
	resources := doc["Resources"].(object)
	kinds := map[string]int{}
	for name, r := range resources {
		kind := r.(object)["Type"].(string)
		kinds[kind]++
		if name == "SmokeFunction" || strings.Contains(kind, "Serverless") || strings.Contains(kind, "ApiGatewayV2") ||
			strings.Contains(kind, "CloudWatch") {
			t.Errorf("%s is a %s", name, kind)
		}
		if kind == "AWS::Lambda::Function" {
			p := r.(object)["Properties"].(object)
			if member(member(p, "Environment"), "Variables")["TABLE_NAME"] == nil || p["Runtime"] != "provided.al2023" ||
				p["Timeout"] == nil {
				t.Errorf("%s: %v", name, p)
			}
		}
	}
	want := map[string]int{"AWS::Lambda::Function": 16, "AWS::IAM::Role": 16, "AWS::Lambda::EventSourceMapping": 4,
		"AWS::DynamoDB::Table": 1, "AWS::KMS::Key": 1,
		"AWS::SQS::Queue": 4, "AWS::ApiGateway::RestApi": 1, "AWS::ApiGateway::Deployment": 1, "AWS::ApiGateway::Stage": 1,
		"AWS::Events::Rule": 7, "AWS::S3::Bucket": 2, "AWS::S3::BucketPolicy": 2,
		"AWS::SQS::QueuePolicy": 1, "AWS::Lambda::Permission": 16, "AWS::SNS::Topic": 1,
		"AWS::SNS::TopicPolicy": 1, "AWS::SNS::Subscription": 1}
	for _, kind := range slices.Sorted(maps.Keys(want)) {
		if kinds[kind] != want[kind] {
			t.Errorf("%d of %s, want %d", kinds[kind], kind, want[kind])
		}
	}
	settlement := resources["SettlementFunctionStream"].(object)["Properties"].(object)
	for _, field := range []string{"EventSourceArn", "FunctionName", "StartingPosition", "BatchSize",
		"FunctionResponseTypes", "FilterCriteria", "MaximumRetryAttempts"} {
		if settlement[field] == nil {
			t.Errorf("the mapping of settlement has no %s", field)
		}
	}
	sweep := resources["SettlementFunctionSweep"].(object)["Properties"].(object)
	if input := sweep["Targets"].([]any)[0].(object)["Input"]; input != `{"sweep": true}` {
		t.Errorf("the schedule of settlement sends %v", input)
	}
}

// TestReferences: everything that a resource or an output references exists.
func TestReferences(t *testing.T) {
	doc := derived(t)
	text, err := json.Marshal(object{"Resources": doc["Resources"], "Outputs": doc["Outputs"]})
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	there := func(name string) bool {
		return strings.HasPrefix(name, "AWS::") || member(doc, "Resources")[name] != nil ||
			member(doc, "Parameters")[name] != nil
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case object:
			if name, ok := v["Ref"].(string); ok && !there(name) {
				t.Errorf("Ref: %s is not there", name)
			}
			if l := list(v["Fn::GetAtt"]); len(l) > 0 && !there(l[0].(string)) {
				t.Errorf("GetAtt: %s is not there", l[0])
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(tree)
}

func TestFaults(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "a list": "[]", "no resources": "Resources: {}",
		"code missing": "Resources: {A: {Type: 'AWS::Serverless::Function', Properties: {}}}"} {
		if _, err := derive([]byte(text), code{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// freeAddress returns a free address. Its port is below the ephemeral range, so
// that the system does not assign it to another process.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		if free, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 16384+rand.IntN(16384))); err == nil {
			defer func() { _ = free.Close() }()
			return free.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

func TestForward(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "reached")
	}))
	defer server.Close()
	from := freeAddress(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- forward(ctx, from, server.Listener.Addr().String()) }()
	for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(10 * time.Millisecond) {
		res, err := http.Get("http://" + from)
		if err == nil {
			body, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if string(body) != "reached" {
				t.Errorf("body %q", body)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestImported: a stack can be made around a restored table with the table's
// definition alone. Nothing in it refers to what is left out.
func TestImported(t *testing.T) {
	doc, err := imported(svc.Template)
	if err != nil {
		t.Fatal(err)
	}
	table := member(member(doc, "Resources"), "Table")
	if len(member(doc, "Resources")) != 1 || table["DeletionPolicy"] != "Retain" ||
		len(list(member(table, "Properties")["GlobalSecondaryIndexes"])) != 4 {
		t.Errorf("got %v", doc)
	}
	text, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(text), `"Ref"`) + strings.Count(string(text), `"Fn::`); got != 1 {
		t.Errorf("%d references, want that to DeletionProtection alone: %s", got, text)
	}
}
