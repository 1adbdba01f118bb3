package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc/pkg/edge/gateway/emulator"
)

// object is a JSON or YAML object of a decoded template.
type object = map[string]any

// copied are the types of resources that are copied with their properties, but
// without a condition or a deletion policy. Functions and the API are derived.
// Resources that monitor a deployment or serve only AWS (alarms, dashboard,
// domain, log groups) are left out.
var copied = map[string]bool{
	"AWS::DynamoDB::Table": true, "AWS::KMS::Key": true, "AWS::KMS::Alias": true, "AWS::SQS::Queue": true,
	"AWS::IAM::ManagedPolicy": true, "AWS::S3::Bucket": true, "AWS::S3::BucketPolicy": true, "AWS::Events::Rule": true,
	"AWS::SQS::QueuePolicy": true, "AWS::SNS::Topic": true, "AWS::SNS::TopicPolicy": true,
}

// apiID and stage fix the API's address before the API exists.
const (
	apiID = "svc"
	stage = "live"
)

// code says where the zip of each function is.
type code struct {
	bucket       string
	keys         map[string]string // S3 keys of the zips, by the name of the function
	architecture string            // arm64 or x86_64
}

// derive returns the variant of template.yaml for LocalStack: plain CloudFormation with a
// REST API. text is template.yaml, and at says where the functions' zips are.
func derive(text []byte, at code) (object, error) {
	doc, err := emulator.Decode(text)
	if err != nil {
		return nil, err
	}
	routes, err := emulator.Routes(text)
	if err != nil {
		return nil, err
	}
	without(doc, "HasMailer") // no mailer: LocalStack has no SES
	globals := member(member(doc, "Globals"), "Function")
	resources := object{}
	for name, r := range member(doc, "Resources") {
		resource, _ := r.(object)
		switch kind := resource["Type"]; {
		case isHook(resource): // LocalStack has no CodeDeploy
		case kind == "AWS::Serverless::Function" && resource["Condition"] != nil: // off by default
		case kind == "AWS::Serverless::Function":
			if err := function(resources, name, globals, member(resource, "Properties"), at); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		case copied[fmt.Sprint(kind)]:
			resources[name] = object{"Type": kind, "Properties": resource["Properties"]} // no DeletionPolicy: retain nothing
		}
	}
	if len(resources) == 0 {
		return nil, errors.New("the template has no resource for LocalStack")
	}
	rest(resources, routes)
	parameters := member(doc, "Parameters")
	delete(member(parameters, "BaseUrl"), "AllowedPattern") // BaseUrl is a plain http address here
	outputs := object{}
	for _, name := range []string{"TableName", "KeyId", "SettlementDeadLettersUrl", "ProjectionDeadLettersUrl"} {
		outputs[name] = member(doc, "Outputs")[name]
	}
	outputs["ApiUrl"] = object{"Value": object{"Ref": "BaseUrl"}}
	outputs["KeysFunction"] = object{"Value": object{"Ref": "KeysFunction"}}
	return object{"AWSTemplateFormatVersion": "2010-09-09",
		"Description": "The REST variant of template.yaml, for LocalStack",
		"Parameters":  parameters, "Conditions": doc["Conditions"], "Resources": resources, "Outputs": outputs}, nil
}

// isHook reports whether a resource is the function that CodeDeploy calls before it
// shifts traffic. Nothing else calls this function.
func isHook(resource object) bool {
	name := fmt.Sprint(member(member(resource, "Properties"), "FunctionName")["Fn::Sub"])
	return strings.HasPrefix(name, "CodeDeployHook_")
}

// without replaces each Fn::If on the condition in the tree by the value that it has if
// the condition is false.
func without(tree any, condition string) any {
	switch v := tree.(type) {
	case []any:
		for i := range v {
			v[i] = without(v[i], condition)
		}
	case object:
		if choice := list(v["Fn::If"]); len(choice) == 3 && choice[0] == condition {
			return without(choice[2], condition)
		}
		for name := range v {
			v[name] = without(v[name], condition)
		}
	}
	return tree
}

// imported returns a template with only the table, as in template.yaml, for a change set
// of type IMPORT. Such a change set accepts only resources that it imports.
func imported(text []byte) (object, error) {
	doc, err := emulator.Decode(text)
	if err != nil {
		return nil, err
	}
	parameters := object{"DeletionProtection": member(member(doc, "Parameters"), "DeletionProtection")}
	return object{"AWSTemplateFormatVersion": "2010-09-09", "Parameters": parameters,
		"Resources": object{"Table": member(doc, "Resources")["Table"]}}, nil
}

// function adds a function to resources, with its role, its event sources and its
// schedules. The function rest adds its routes. It returns an error if at has no zip of
// the function, or if an event's type is unknown.
func function(resources object, name string, globals, properties object, at code) error {
	if at.keys[name] == "" {
		return errors.New("the function has no code: expected its zip in the bucket")
	}
	policies, arns := []any{}, []any{"arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"}
	for i, p := range list(properties["Policies"]) {
		policy, _ := p.(object)
		if policy["Ref"] != nil {
			arns = append(arns, policy)
			continue
		}
		policies = append(policies, object{"PolicyName": fmt.Sprint("Policy", i), "PolicyDocument": policy})
	}
	for event, e := range member(properties, "Events") {
		source, _ := e.(object)
		switch p := member(source, "Properties"); source["Type"] {
		case "DynamoDB":
			arns = append(arns, "arn:aws:iam::aws:policy/service-role/AWSLambdaDynamoDBExecutionRole")
			mapping := maps.Clone(p)
			mapping["EventSourceArn"], mapping["FunctionName"] = mapping["Stream"], object{"Ref": name}
			delete(mapping, "Stream")
			dead := member(member(p, "DestinationConfig"), "OnFailure")["Destination"]
			mapping["DestinationConfig"] = object{"OnFailure": object{"Destination": dead}}
			policies = append(policies, object{"PolicyName": "DeadLetters", "PolicyDocument": object{"Version": "2012-10-17",
				"Statement": []any{object{"Effect": "Allow", "Action": []any{"s3:PutObject", "s3:ListBucket"},
					"Resource": "*"}}}})
			resources[name+event] = object{"Type": "AWS::Lambda::EventSourceMapping", "Properties": mapping}
		case "ScheduleV2":
			resources[name+event] = schedule(name, p)
			resources[name+event+"Permission"] = permission(name, "events.amazonaws.com")
		case "SQS":
			arns = append(arns, "arn:aws:iam::aws:policy/service-role/AWSLambdaSQSQueueExecutionRole")
			mapping := maps.Clone(p)
			mapping["EventSourceArn"], mapping["FunctionName"] = mapping["Queue"], object{"Ref": name}
			delete(mapping, "Queue")
			resources[name+event] = object{"Type": "AWS::Lambda::EventSourceMapping", "Properties": mapping}
		case "SNS":
			resources[name+event] = object{"Type": "AWS::SNS::Subscription", "Properties": object{"Protocol": "lambda",
				"TopicArn": p["Topic"], "Endpoint": object{"Fn::GetAtt": []any{name, "Arn"}}}}
			resources[name+event+"Permission"] = permission(name, "sns.amazonaws.com")
		case "HttpApi":
		default:
			return fmt.Errorf("an event has type %v; expected DynamoDB, ScheduleV2, SQS, SNS or HttpApi", source["Type"])
		}
	}
	resources[name+"Role"] = role(arns, policies)
	variables := maps.Clone(member(member(globals, "Environment"), "Variables"))
	maps.Copy(variables, member(member(properties, "Environment"), "Variables"))
	setting := func(field string) any {
		if v, own := properties[field]; own {
			return v
		}
		return globals[field]
	}
	resources[name] = object{"Type": "AWS::Lambda::Function", "Properties": object{
		"Code":          object{"S3Bucket": at.bucket, "S3Key": at.keys[name]},
		"Role":          object{"Fn::GetAtt": []any{name + "Role", "Arn"}},
		"Architectures": []any{at.architecture}, "Runtime": setting("Runtime"), "Handler": setting("Handler"),
		"MemorySize": setting("MemorySize"),
		"Timeout":    setting("Timeout"), "Environment": object{"Variables": variables}}}
	return nil
}

// schedule returns the EventBridge rule that starts the function with the name. event has
// the properties of the ScheduleV2 event in the template.
func schedule(name string, event object) object {
	target := object{"Id": name, "Arn": object{"Fn::GetAtt": []any{name, "Arn"}}}
	if event["Input"] != nil {
		target["Input"] = event["Input"]
	}
	return object{"Type": "AWS::Events::Rule",
		"Properties": object{"ScheduleExpression": event["ScheduleExpression"],
			"Targets": []any{target}}}
}

// role returns a function's IAM role. arns are its managed policies, and policies its
// inline policies.
func role(arns, policies []any) object {
	return object{"Type": "AWS::IAM::Role", "Properties": object{"ManagedPolicyArns": arns,
		"Policies": policies,
		"AssumeRolePolicyDocument": object{"Version": "2012-10-17", "Statement": []any{object{"Effect": "Allow",
			"Action":    "sts:AssumeRole",
			"Principal": object{"Service": "lambda.amazonaws.com"}}}}}}
}

// permission returns the resource that allows an AWS service, the principal, to call a
// function.
func permission(function, principal string) object {
	return object{"Type": "AWS::Lambda::Permission", "Properties": object{"Action": "lambda:InvokeFunction",
		"FunctionName": object{"Ref": function}, "Principal": principal}}
}

// anyMethod is what a REST API calls the method ANY in its OpenAPI document.
const anyMethod = "x-amazon-apigateway-any-method"

// rest adds the REST API to resources. An HTTP API sends requests that match no route to
// $default. To do the same, a REST API needs an any-method on every path, and on
// /{proxy+} for all other paths.
func rest(resources object, routes []emulator.Route) {
	fallback := ""
	for _, r := range routes {
		if r.Path == emulator.Default {
			fallback = r.Function
		}
	}
	paths, functions := object{}, map[string]bool{}
	for _, r := range routes {
		path, method := r.Path, strings.ToLower(r.Method)
		if path == emulator.Default {
			path, method = "/{proxy+}", "any"
		}
		if method == "any" {
			method = anyMethod
		}
		if paths[path] == nil {
			paths[path] = object{}
			if fallback != "" {
				paths[path].(object)[anyMethod] = integration(fallback, path)
			}
		}
		paths[path].(object)[method] = integration(r.Function, path)
		functions[r.Function] = true
	}
	resources["RestApi"] = object{"Type": "AWS::ApiGateway::RestApi",
		"Properties": object{"Name": object{"Fn::Sub": "${AWS::StackName}"},
			"Tags": []any{object{"Key": "_custom_id_", "Value": apiID}},
			"Body": object{"openapi": "3.0.1", "info": object{"title": "svc", "version": "1"}, "paths": paths}}}
	resources["RestDeployment"] = object{"Type": "AWS::ApiGateway::Deployment",
		"Properties": object{"RestApiId": object{"Ref": "RestApi"}}}
	resources["RestStage"] = object{"Type": "AWS::ApiGateway::Stage",
		"Properties": object{"RestApiId": object{"Ref": "RestApi"},
			"DeploymentId": object{"Ref": "RestDeployment"}, "StageName": stage}}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		resources[name+"Permission"] = permission(name, "apigateway.amazonaws.com")
	}
}

// integration returns the method of the REST API that passes requests for the path to a
// function.
func integration(function, path string) object {
	method := object{"responses": object{}, "x-amazon-apigateway-integration": object{"type": "aws_proxy",
		"httpMethod": "POST", "passthroughBehavior": "when_no_match",
		"uri": object{"Fn::Sub": "arn:aws:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${" +
			function + ".Arn}/invocations"}}}
	var parameters []any
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			name = strings.TrimSuffix(strings.TrimSuffix(name, "}"), "+")
			parameters = append(parameters, object{"name": name, "in": "path", "required": true,
				"schema": object{"type": "string"}})
		}
	}
	if parameters != nil {
		method["parameters"] = parameters
	}
	return method
}

// member returns the member of m with the name if it is an object, else nil.
func member(m object, name string) object {
	v, _ := m[name].(object)
	return v
}

// list returns v as a list, nil if it is none.
func list(v any) []any {
	l, _ := v.([]any)
	return l
}
