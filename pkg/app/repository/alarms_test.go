package repository_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/app"
)

// alarm is one alarm of the template.
type alarm struct {
	metrics  []string // "Errors TripsFunction": the metric and its resource
	math     int      // how many metrics its expression reads
	parts    []string // of a composite alarm: the alarms in its rule
	topic    string   // the parameter with the topic it notifies
	severity string   // first word of its description, before a full stop
}

// functionsOfTheAPI answer requests.
var functionsOfTheAPI = []string{"OAuthFunction", "TripsFunction", "FleetFunction", "SettingsFunction",
	"ReportsFunction", "DeliveryFunction", "FeedbackFunction", "MeFunction", "DocsFunction", "MCPFunction"}

// TestAlarmsWatch: exactly the required metrics have alarms.
func TestAlarmsWatch(t *testing.T) {
	want := []string{"5xx HttpApi", "Count HttpApi", "4xx HttpApi", "Count HttpApi", "Latency HttpApi",
		"Invocations KeysFunction",
		"SystemErrors Table", "TransactionConflict Table", "ConcurrentExecutions all", "Throttles all", "MailRefused all",
		"ChecksFailed all", "ThrottledRequests Table",
		"IteratorAge SettlementFunction", "IteratorAge ProjectionFunction",
		"ApproximateNumberOfMessagesVisible SettlementDeadLetters",
		"ApproximateNumberOfMessagesVisible ProjectionDeadLetters",
		// A stream lasts minutes. Its limit of executions is its own, so Throttles subtracts them.
		"Errors EventsFunction", "Failures EventsFunction", "Throttles EventsFunction", "Throttles EventsFunction"}
	for _, f := range functionsOfTheAPI {
		want = append(want, "Errors "+f, "Failures "+f, "Duration "+f)
	}
	for _, f := range []string{"SettlementFunction", "ProjectionFunction", "DispatchFunction", "KeysFunction",
		"JobsFunction", "DeliverFunction"} {
		want = append(want, "Errors "+f)
	}
	var have []string
	for _, a := range alarmsOf(t) {
		have = append(have, a.metrics...)
	}
	slices.Sort(want)
	slices.Sort(have)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
}

// TestAlarmsNotify: every alarm notifies exactly once, either itself or through
// ServiceAlarm, and its description begins with its severity. CloudWatch takes
// ten metrics in an alarm's expression.
func TestAlarmsNotify(t *testing.T) {
	alarms := alarmsOf(t)
	if len(alarms) > 20 {
		t.Errorf("the template defines %d alarms, more than 20", len(alarms))
	}
	in := map[string]int{}
	for name, a := range alarms {
		if a.math > 10 {
			t.Errorf("%s reads %d metrics, more than 10", name, a.math)
		}
		for _, part := range a.parts {
			if in[part]++; alarms[part].metrics == nil {
				t.Errorf("%s: there is no alarm %s", name, part)
			}
		}
	}
	for name, a := range alarms {
		if (a.topic == "") != (in[name] == 1) || in[name] > 1 {
			t.Errorf("%s notifies %q and is in %d composite alarms", name, a.topic, in[name])
		}
		if a.topic != "" && severities[a.topic] != a.severity {
			t.Errorf("%s notifies %s, and its description says %q", name, a.topic, a.severity)
		}
	}
}

// severities are the severities by topic.
var severities = map[string]string{"AlarmTopicArn": "Page", "TicketTopicArn": "Ticket"}

// TestCanariesRollBack: while a new version of a function takes over, an alarm
// on this function's own errors restores the old version.
func TestCanariesRollBack(t *testing.T) {
	alarms := alarmsOf(t)
	for function, resource := range ofType(t, "AWS::Serverless::Function") {
		preference := field(field(resource, "Properties"), "DeploymentPreference")
		if !hasCanary(t, function, preference) {
			continue
		}
		watched := map[string]bool{}
		for _, name := range rollbackAlarms(t, function, field(preference, "Alarms")) {
			for _, m := range alarms[name].metrics {
				watched[m] = true
			}
		}
		if !watched["Errors "+function] {
			t.Errorf("%s: no alarm of its deployment watches its errors", function)
		}
		if (function == app.Events || slices.Contains(functionsOfTheAPI, function)) && !watched["Failures "+function] {
			t.Errorf("%s: no alarm of its deployment watches its failures", function)
		}
	}
}

// hasCanary reports whether a function takes over step by step. Three have no
// traffic of which a part could be tried.
func hasCanary(t *testing.T, function string, preference *yaml.Node) bool {
	t.Helper()
	e := field(preference, "Enabled")
	without := e != nil && e.Value == "false"
	expected := slices.Contains([]string{"KeysFunction", "SmokeFunction", "JobsFunction"}, function)
	if without != expected {
		t.Errorf("%s: without a canary %t, want %t", function, without, expected)
	}
	return !without
}

// rollbackAlarms returns the alarms of !If [RollsBackOnAlarm, [!Ref Alarm], [!Ref AWS::NoValue]].
func rollbackAlarms(t *testing.T, function string, n *yaml.Node) []string {
	t.Helper()
	if n.Tag != "!If" || n.Content[0].Value != "RollsBackOnAlarm" || values(n.Content[2])[0] != "AWS::NoValue" {
		t.Errorf("%s: RollBackOnAlarm does not decide on its alarms", function)
		return nil
	}
	return values(n.Content[1])
}

// TestProdPagesSomebody: the stack of the prod profile cannot be created or
// changed without a topic for its alarms. Without a separate topic, tickets go
// there too.
func TestProdPagesSomebody(t *testing.T) {
	var root yaml.Node
	testkit.Must(t, yaml.Unmarshal(svc.Template, &root))
	rule := field(field(root.Content[0], "Rules"), "ProdPagesSomebody")
	if got := values(field(rule, "RuleCondition")); !slices.Equal(got, []string{"Environment", "prod"}) {
		t.Errorf("the rule is about %q", got)
	}
	assertion := field(field(rule, "Assertions").Content[0], "Assert")
	if assertion.Tag != "!Not" || !slices.Equal(values(assertion.Content[0]), []string{"AlarmTopicArn", ""}) {
		t.Errorf("the rule asserts %s %q", assertion.Tag, values(assertion.Content[0]))
	}
	config, err := os.ReadFile("../../../samconfig.toml")
	testkit.Must(t, err)
	_, prod, _ := strings.Cut(string(config), "[prod.deploy.parameters]")
	prod, _, _ = strings.Cut(prod, "\n[")
	if !strings.Contains(prod, `parameter_overrides = "Environment=prod `) {
		t.Error("the prod profile is not of the environment prod")
	}
	for name, resource := range ofType(t, "AWS::CloudWatch::Alarm") {
		p := field(resource, "Properties")
		if topicOf(p) != "TicketTopicArn" {
			continue
		}
		for _, actions := range []string{"AlarmActions", "OKActions"} {
			if fallback := topicOfIf(field(p, actions).Content[2]); fallback != "AlarmTopicArn" {
				t.Errorf("%s: without a topic of their own, tickets go to %q", name, fallback)
			}
		}
	}
}

// TestMailRefusalsAreCounted: the log line that the alarm MailRefused counts is
// one that the authorization server writes.
func TestMailRefusalsAreCounted(t *testing.T) {
	filter := field(field(ofType(t, "AWS::Logs::MetricFilter")["MailRefusals"], "Properties"), "FilterPattern").Value
	message, found := strings.CutPrefix(strings.TrimSuffix(filter, " }"), "{ $.msg = ")
	if !found {
		t.Fatalf("the filter is %s", filter)
	}
	written := false
	testkit.Must(t, filepath.WalkDir("../../oauth", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		written = written || strings.Contains(string(text), "ErrorContext(ctx, "+message)
		return err
	}))
	if !written {
		t.Errorf("pkg/oauth writes no line %s", message)
	}
}

// TestLettersReachTheirQueue: the letters of Lambda's event source mapping and
// those of the function itself lie below prefixes that the rule of the function's
// own queue names, and no other rule.
func TestLettersReachTheirQueue(t *testing.T) {
	for name, rule := range ofType(t, "AWS::Events::Rule") {
		p := field(rule, "Properties")
		function, ok := strings.CutSuffix(name, "Lost")
		if !ok {
			continue
		}
		if got := field(field(p, "Targets").Content[0], "Arn").Value; got != function+"DeadLetters.Arn" {
			t.Errorf("%s has the queue %s", name, got)
		}
		var got []string
		for _, prefix := range field(field(field(field(p, "EventPattern"), "detail"), "object"), "key").Content {
			got = append(got, field(prefix, "prefix").Value)
		}
		want := []string{"aws/lambda/${" + function + "FunctionStream}/", function + "Function/"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		variables := field(field(field(ofType(t, "AWS::Serverless::Function")[function+"Function"], "Properties"),
			"Environment"), "Variables")
		if got := field(variables, "LOST_RECORDS"); got == nil || got.Value != "LostRecords" {
			t.Errorf("%sFunction does not know the bucket", function)
		}
	}
}

// TestAlarmTable: docs/operations/alarms.md lists for each alarm what it
// watches, and how it notifies: as a page, as a ticket or through ServiceAlarm.
func TestAlarmTable(t *testing.T) {
	text, err := os.ReadFile("../../../docs/operations/alarms.md")
	testkit.Must(t, err)
	for _, kind := range []string{"AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"} {
		for name, resource := range ofType(t, kind) {
			section := inAlarms.FindStringSubmatch(field(field(resource, "Properties"), "AlarmDescription").Value)
			if section == nil || !strings.Contains(string(text), "# "+section[1]+"\n") {
				t.Errorf("%s names no section of docs/operations/alarms.md: %q", name, section)
			}
		}
	}
	alarms := alarmsOf(t)
	notifies := map[string]string{}
	for composite, c := range alarms {
		for _, name := range c.parts {
			notifies[name] = "`" + composite + "`"
		}
	}
	for name, a := range alarms {
		if a.parts != nil {
			continue
		}
		if notifies[name] == "" {
			notifies[name] = strings.ToLower(a.severity)
		}
		row := fmt.Sprintf("| `%s` | %s | %s |", name, notifies[name], watches(a))
		if !strings.Contains(string(text), row+"\n") {
			t.Errorf("docs/operations/alarms.md has no row\n%s", row)
		}
	}
}

// watches describes what an alarm watches: each metric once, then the
// resources.
func watches(a alarm) string {
	var metrics, of []string
	for _, m := range a.metrics {
		metric, about, _ := strings.Cut(m, " ")
		if metric = "`" + metric + "`"; !slices.Contains(metrics, metric) {
			metrics = append(metrics, metric)
		}
		if !slices.Contains(of, about) {
			of = append(of, about)
		}
	}
	if rest, all := without(of, functionsOfTheAPI); all {
		of = append([]string{"the API's functions"}, rest...)
	}
	for i := range of {
		of[i] = strings.TrimSuffix(strings.TrimSuffix(of[i], "Function"), "DeadLetters")
	}
	return strings.Join(metrics, ", ") + " of " + strings.Join(of, ", ")
}

// without removes the names in some from all, and reports whether all contained
// every name in some.
func without(all, some []string) (rest []string, every bool) {
	for _, s := range all {
		if !slices.Contains(some, s) {
			rest = append(rest, s)
		}
	}
	return rest, len(rest)+len(some) == len(all)
}

var (
	inAlarms = regexp.MustCompile(`\(alarms\.md, "([^"]+)"\)$`)
	inRule   = regexp.MustCompile(`ALARM\("\$\{(\w+)\}"\)`)
	selects  = regexp.MustCompile(`^SELECT SUM\((\w+)\)`)
	named    = regexp.MustCompile(`'\$\{(\w+)\}'`)
)

// alarmsOf reads the alarms from the template.
func alarmsOf(t *testing.T) map[string]alarm {
	t.Helper()
	out := map[string]alarm{}
	for name, resource := range ofType(t, "AWS::CloudWatch::Alarm") {
		p := field(resource, "Properties")
		a := alarm{topic: topicOf(p), severity: severityOf(p)}
		if metric := field(p, "MetricName"); metric != nil {
			a.metrics = append(a.metrics, metricOf(p))
		}
		if metrics := field(p, "Metrics"); metrics != nil {
			for _, m := range metrics.Content {
				if m.Tag == "!If" {
					m = m.Content[1]
				}
				if stat := field(m, "MetricStat"); stat != nil {
					a.metrics = append(a.metrics, metricOf(field(stat, "Metric")))
					a.math++
				} else if text := field(m, "Expression").Value; selects.MatchString(text) {
					a.metrics = append(a.metrics, selected(text)...)
				}
			}
		}
		out[name] = a
	}
	for name, resource := range ofType(t, "AWS::CloudWatch::CompositeAlarm") {
		p := field(resource, "Properties")
		a := alarm{topic: topicOf(p), severity: severityOf(p)}
		for _, part := range inRule.FindAllStringSubmatch(field(p, "AlarmRule").Value, -1) {
			a.parts = append(a.parts, part[1])
		}
		out[name] = a
	}
	return out
}

// selected returns what a Metrics Insights query watches: its metric for each
// resource that it names, or for all.
func selected(query string) (metrics []string) {
	metric := selects.FindStringSubmatch(query)[1]
	for _, about := range named.FindAllStringSubmatch(query, -1) {
		metrics = append(metrics, metric+" "+about[1])
	}
	if metrics == nil {
		metrics = []string{metric + " all"}
	}
	return metrics
}

// metricOf returns the name of a metric and its last dimension, which names the
// resource. Lines of the log, and so Failures, name a function without the
// suffix.
func metricOf(n *yaml.Node) string {
	of := "all"
	if dimensions := field(n, "Dimensions"); dimensions != nil {
		last := dimensions.Content[len(dimensions.Content)-1]
		of, _, _ = strings.Cut(field(last, "Value").Value, ".")
		if field(last, "Name").Value == "Function" {
			of += "Function"
		}
	}
	return field(n, "MetricName").Value + " " + of
}

func severityOf(p *yaml.Node) string {
	word, _, _ := strings.Cut(field(p, "AlarmDescription").Value, ".")
	return word
}

// topicOf returns the parameter with an alarm's topic: !If [Condition, [!Ref
// Topic], …]. It is "" if the alarm does not notify of both its states.
func topicOf(p *yaml.Node) string {
	actions, ok := field(p, "AlarmActions"), field(p, "OKActions")
	if actions == nil || ok == nil {
		return ""
	}
	return topicOfIf(actions)
}

func topicOfIf(n *yaml.Node) string { return n.Content[1].Content[0].Value }

// ofType returns the template's resources of a type, by logical id.
func ofType(t *testing.T, kind string) map[string]*yaml.Node {
	t.Helper()
	var root yaml.Node
	testkit.Must(t, yaml.Unmarshal(svc.Template, &root))
	resources, out := field(root.Content[0], "Resources"), map[string]*yaml.Node{}
	for i := 0; i < len(resources.Content); i += 2 {
		if resource := resources.Content[i+1]; field(resource, "Type").Value == kind {
			out[resources.Content[i].Value] = resource
		}
	}
	return out
}
