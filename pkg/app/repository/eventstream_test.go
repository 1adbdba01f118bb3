package repository_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"svc"
	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/base/config"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
	local "svc/pkg/local/schema"
)

// TestStreamPolicy: EventsFunction has the rights that a stream uses from its begin to
// its end, for a caller of any audience, and no other.
func TestStreamPolicy(t *testing.T) {
	r := &recording{requests: map[string]map[string]iamRequest{app.Events: {}}}
	db, err := table.Open(t.Context(), table.Options{Table: testkit.Name(t, local.Options{}),
		Endpoint: testkit.Endpoint(t), Transport: func(next http.RoundTripper) http.RoundTripper {
			return recorder{r, app.Events, next}
		}})
	testkit.Must(t, err)
	stand := apitest.NewAt(t, db, api.Config{Streams: 8}, app.StreamRows(db)...)
	n := stand.Tenant("USD", 3)
	tokens := map[authz.Audience]string{}
	for audience, kind := range map[authz.Audience]string{authz.Dashboard: ids.Person, authz.Rider: ids.Customer,
		authz.Driver: ids.Driver} {
		tokens[audience] = stand.Token(n, audience, ids.New(kind, stand.Now()), "VIEW_EVENTS")
	}
	r.requests[app.Events] = map[string]iamRequest{} // of the stream, and not of the stand
	for audience, token := range tokens {
		for _, query := range []string{"", "?after=earliest"} {
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second) // of which the stream leaves five
			req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/events/stream"+query, nil)
			req.Header.Set("Authorization", "Bearer "+token)
			a := httptest.NewRecorder()
			stand.Server.ServeHTTP(a, req)
			cancel()
			if want := audience == authz.Dashboard; (a.Code == http.StatusOK) != want {
				t.Fatalf("%s: %d %s", audience, a.Code, a.Body)
			}
		}
	}
	statements, used := policiesOf(t)[app.Events], map[string]bool{}
	for _, q := range r.of(app.Events) {
		granted := grants(statements, q)
		if len(granted) == 0 {
			t.Errorf("no statement grants %s of %s %v", q.action, q.resource, q.keys)
		}
		for _, s := range granted {
			for _, name := range append(append(slices.Clone(q.keys), q.resource), right(q.action)) {
				used[s.Sid+" "+name] = true
			}
		}
	}
	for _, s := range statements {
		for _, part := range s.unused(used) {
			if !slices.Contains(checkFamilies, part) {
				t.Errorf("%s grants %s, which no stream uses", s.Sid, part)
			}
		}
	}
}

// TestStreamNeedsTheSecret: everybody can reach a function URL, and the URL is not the
// address of the service. So the function does not start without an origin secret or
// without BASE_URL. The template does not accept EventStreams without them.
func TestStreamNeedsTheSecret(t *testing.T) {
	whole := map[string]string{"BASE_URL": "https://svc.example", "ORIGIN_SECRET_SHA256": strings.Repeat("0f", 32)}
	for _, without := range []string{"", "BASE_URL", "ORIGIN_SECRET_SHA256"} {
		c := config.Read(func(name string) string {
			if name == without {
				return ""
			}
			return whole[name]
		})
		p := &app.Runtime{Config: c, BaseURL: c.BaseURL, DB: testkit.Table(t), Now: time.Now,
			Logger: slog.New(slog.DiscardHandler)}
		if _, err := app.Streaming(app.StreamRows)(p, app.Events); (err == nil) != (without == "") {
			t.Errorf("without %q: %v", without, err)
		}
	}
	var root yaml.Node
	testkit.Must(t, yaml.Unmarshal(svc.Template, &root))
	rule := field(field(root.Content[0], "Rules"), "StreamsComeThroughCloudFront")
	if when := field(rule, "RuleCondition"); when.Tag != "!Not" ||
		!slices.Equal(values(when.Content[0]), []string{"EventStreams", "0"}) {
		t.Errorf("the rule is about %v", values(when))
	}
	assertion := field(field(rule, "Assertions").Content[0], "Assert")
	if assertion.Tag != "!Not" || !slices.Equal(values(assertion.Content[0]), []string{"OriginSecretHash", ""}) {
		t.Errorf("the rule asserts %s %q", assertion.Tag, values(assertion.Content[0]))
	}
}

// TestStreamOfTheTemplate: the URL streams. It asks for no IAM signature, because the
// function asks for the secret. Its executions are reserved. CloudFront sends requests to
// exactly the row's path there, with the secret and the caller's token.
func TestStreamOfTheTemplate(t *testing.T) {
	f := ofType(t, "AWS::Serverless::Function")[app.Events]
	p := field(f, "Properties")
	url := field(ofType(t, "AWS::Lambda::Url")["EventsUrl"], "Properties")
	may := map[string]string{} // both since October 2025
	for _, resource := range ofType(t, "AWS::Lambda::Permission") {
		p := field(resource, "Properties")
		may[field(p, "Action").Value] = strings.Join(append(values(field(p, "FunctionUrlAuthType")),
			values(field(p, "InvokedViaFunctionUrl"))...), " ")
	}
	if diff := cmp.Diff(map[string]string{"lambda:InvokeFunctionUrl": "NONE", "lambda:InvokeFunction": "true"},
		may); diff != "" {
		t.Error(diff)
	}
	got := []string{field(f, "Condition").Value, field(p, "Timeout").Value, field(p, "ReservedConcurrentExecutions").Value,
		field(url, "AuthType").Value, field(url, "InvokeMode").Value,
		field(field(p, "DeploymentPreference"), "PassthroughCondition").Value}
	if diff := cmp.Diff([]string{"HasEventStreams", "900", "EventStreams", "NONE", "RESPONSE_STREAM", "true"},
		got); diff != "" {
		t.Error(diff)
	}
	edge := at(opsTemplate(t, "edge.yaml"), "Distribution", "Properties", "DistributionConfig")
	behaviour := field(edge, "CacheBehaviors")
	if behaviour.Tag != "!If" || behaviour.Content[0].Value != "HasStreams" {
		t.Fatal("the behaviour does not depend on StreamDomain")
	}
	only := behaviour.Content[1].Content
	if len(only) != 1 {
		t.Fatalf("%d behaviours", len(only))
	}
	rows := app.StreamRows(nil)
	if path := field(only[0], "PathPattern").Value; len(rows) != 1 || path != rows[0].Path {
		t.Errorf("CloudFront sends %s", path)
	}
	got = []string{field(only[0], "TargetOriginId").Value, field(only[0], "Compress").Value,
		field(only[0], "CachePolicyId").Value, field(only[0], "OriginRequestPolicyId").Value}
	if diff := cmp.Diff([]string{"streams", "false", "4135ea2d-6df8-44a3-9df3-4b5a84be39ad",
		"b689b0a8-53d0-40ab-baf2-68738e2966ac"}, got); diff != "" {
		t.Error(diff)
	}
	origin := field(edge, "Origins").Content[1].Content[1]
	header := field(origin, "OriginCustomHeaders").Content[0]
	if field(origin, "Id").Value != "streams" || field(header, "HeaderName").Value != "X-Origin-Secret" ||
		field(header, "HeaderValue").Value != "OriginSecret" {
		t.Error("CloudFront sends no secret to the function URL")
	}
}
