package repository_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/app"
)

// TestSmokeIsTheHook: CodeDeploy calls SmokeFunction before any canary, under
// the only name that its role may invoke, and the function knows the new version
// of each function that handles requests.
func TestSmokeIsTheHook(t *testing.T) {
	var root yaml.Node
	testkit.Must(t, yaml.Unmarshal(svc.Template, &root))
	hook := at(root.Content[0], "Globals", "Function", "DeploymentPreference", "Hooks", "PreTraffic")
	if diff := cmp.Diff([]string{"HasSmokeTest", "SmokeFunction", "AWS::NoValue"}, values(hook)); diff != "" {
		t.Errorf("the hook of all functions: %s", diff)
	}
	functions := ofType(t, "AWS::Serverless::Function")
	for name, resource := range functions {
		if at(resource, "Properties", "DeploymentPreference", "Hooks") != nil {
			t.Errorf("%s has a hook of its own", name)
		}
	}
	p := field(functions[app.Smoke], "Properties")
	if name := field(p, "FunctionName").Value; !strings.HasPrefix(name, "CodeDeployHook_") {
		t.Errorf("its name is %s", name)
	}
	var have, want []string
	variables := at(p, "Environment", "Variables")
	for i := 0; i < len(variables.Content); i += 2 {
		value := variables.Content[i+1]
		if value.Tag == "!If" { // the function may be absent
			value = value.Content[1]
		}
		have = append(have, variables.Content[i].Value+" "+value.Value)
	}
	for _, name := range append(app.RequestFunctions(), app.Events) {
		want = append(want, name+" "+name+".Version")
	}
	slices.Sort(have)
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("its environment: %s", diff)
	}
}

// TestSmokeMayInvokeVersions: the hook may invoke versions of the functions that
// it tries and report to this stack's deployments, and nothing else. No other
// function may invoke any.
func TestSmokeMayInvokeVersions(t *testing.T) {
	functions := ofType(t, "AWS::Serverless::Function")
	policies := at(functions[app.Smoke], "Properties", "Policies").Content
	if len(policies) != 1 {
		t.Fatalf("it has %d policies", len(policies))
	}
	var have []string
	for _, s := range field(policies[0], "Statement").Content {
		for _, action := range values(field(s, "Action")) {
			for _, resource := range optional(field(s, "Resource")) {
				have = append(have, action+" "+resource)
			}
		}
	}
	want := []string{"codedeploy:PutLifecycleEventHookExecutionStatus arn:${AWS::Partition}:codedeploy:${AWS::Region}:" +
		"${AWS::AccountId}:deploymentgroup:${ServerlessDeploymentApplication}/*"}
	for _, name := range append(app.RequestFunctions(), app.Events) {
		want = append(want, "lambda:InvokeFunction ${"+name+".Arn}:*")
	}
	slices.Sort(have)
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(string(svc.Template), "lambda:"); n != 3 {
		t.Errorf("%d statements are about Lambda, want the one, and two of the function URL", n)
	}
}

// optional is values, with what an !If of the list has if its condition holds.
func optional(n *yaml.Node) []string {
	out := values(n)
	for i := range out {
		if c := n.Content; len(c) > 0 && c[i].Tag == "!If" {
			out[i] = c[i].Content[1].Value
		}
	}
	return out
}

// TestOnlyTheGatewaySendsRequests: nothing but the HTTP API, the table's stream,
// schedules, one function URL and, for a function without requests, a queue or topic
// calls a function. A second function URL, a load balancer or a REST API with a mapping
// template would require a review of gateway.Direct. A function URL always names
// itself in apiId.
func TestOnlyTheGatewaySendsRequests(t *testing.T) {
	for name, resource := range ofType(t, "AWS::Serverless::Function") {
		p := field(resource, "Properties")
		if field(p, "FunctionUrlConfig") != nil {
			t.Errorf("%s has a URL", name)
		}
		events := field(p, "Events")
		for i := 1; events != nil && i < len(events.Content); i += 2 {
			kind := field(events.Content[i], "Type").Value
			worker := (kind == "SQS" || kind == "SNS") && !slices.Contains(app.RequestFunctions(), name)
			if !worker && !slices.Contains([]string{"HttpApi", "DynamoDB", "ScheduleV2"}, kind) {
				t.Errorf("%s gets events of %s", name, kind)
			}
		}
	}
	for name, resource := range ofType(t, "AWS::Lambda::Permission") {
		if p := field(resource, "Properties"); field(p, "FunctionName").Value != app.Events+".Alias" {
			t.Errorf("%s permits calls of %s", name, field(p, "FunctionName").Value)
		}
	}
	if urls := ofType(t, "AWS::Lambda::Url"); len(urls) != 1 ||
		at(urls["EventsUrl"], "Properties", "TargetFunctionArn").Value != app.Events+".Alias" {
		t.Errorf("the template has %d URLs", len(urls))
	}
	for _, kind := range []string{"AWS::Serverless::Api",
		"AWS::ElasticLoadBalancingV2::TargetGroup", "AWS::ApiGatewayV2::Integration", "AWS::ApiGateway::Method"} {
		if found := ofType(t, kind); len(found) > 0 {
			t.Errorf("the template has a %s", kind)
		}
	}
}
