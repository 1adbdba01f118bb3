package repository_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/edge/gateway/emulator"
)

// opsTemplate reads a template of ops/ and returns its resources.
func opsTemplate(t *testing.T, name string) *yaml.Node {
	t.Helper()
	return opsSection(t, name, "Resources")
}

func opsSection(t *testing.T, name, section string) *yaml.Node {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../ops", name))
	testkit.Must(t, err)
	var root yaml.Node
	testkit.Must(t, yaml.Unmarshal(text, &root))
	return field(root.Content[0], section)
}

// at returns the node at a path of names through nested mappings.
func at(n *yaml.Node, names ...string) *yaml.Node {
	for _, name := range names {
		n = field(n, name)
	}
	return n
}

// TestEdgeSendsWhatTheFunctionsCheck: CloudFront sends the secret header that
// front.go checks and the viewer's address. It caches nothing. WAF limits
// sign-in, and all requests, per address.
func TestEdgeSendsWhatTheFunctionsCheck(t *testing.T) {
	resources := opsTemplate(t, "edge.yaml")
	code, err := os.ReadFile("../front.go")
	testkit.Must(t, err)
	distribution := at(resources, "Distribution", "Properties", "DistributionConfig")
	secret := at(at(distribution, "Origins").Content[0], "OriginCustomHeaders").Content[0]
	viewer := values(at(resources, "ToOrigin", "Properties", "OriginRequestPolicyConfig", "HeadersConfig", "Headers"))
	for _, header := range append(viewer, field(secret, "HeaderName").Value) {
		if !strings.Contains(string(code), `"`+http.CanonicalHeaderKey(header)+`"`) {
			t.Errorf("front.go does not read the header %s, which CloudFront sends", header)
		}
	}
	if got := field(secret, "HeaderValue").Value; got != "OriginSecret" || len(viewer) != 1 {
		t.Errorf("the secret header is %q, the headers of CloudFront are %q", got, viewer)
	}
	const cachingDisabled = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"
	if got := at(distribution, "DefaultCacheBehavior", "CachePolicyId").Value; got != cachingDisabled {
		t.Errorf("the cache policy is %s", got)
	}
	var limits []string
	for _, rule := range at(resources, "WebACL", "Properties", "Rules").Content {
		statement := at(rule, "Statement", "RateBasedStatement")
		limits = append(limits, field(statement, "AggregateKeyType").Value+" "+field(statement, "Limit").Value)
		if field(field(rule, "Action"), "Block") == nil {
			t.Errorf("the rule %s does not block", field(rule, "Name").Value)
		}
	}
	if !slices.Equal(limits, []string{"IP SignInRate", "IP AddressRate"}) {
		t.Errorf("the rules are %q", limits)
	}
}

// TestProbePages: the probe requests /health/ready, missing data raises the
// alarm, and the alarm notifies and has a section in the runbook.
func TestProbePages(t *testing.T) {
	resources := opsTemplate(t, "probe.yaml")
	alarm := at(resources, "Unreachable", "Properties")
	if got := field(alarm, "TreatMissingData").Value; got != "breaching" {
		t.Errorf("missing data is %s", got)
	}
	if got := values(field(alarm, "AlarmActions")); !slices.Equal(got, []string{"AlarmTopicArn"}) {
		t.Errorf("it notifies %q", got)
	}
	text, err := os.ReadFile("../../../docs/operations/alarms.md")
	testkit.Must(t, err)
	section := inAlarms.FindStringSubmatch(field(alarm, "AlarmDescription").Value)
	if section == nil || !strings.Contains(string(text), "# "+section[1]+"\n") {
		t.Errorf("the runbook has no section %q", section)
	}
	config := at(resources, "Probe", "Properties", "HealthCheckConfig")
	if len(values(field(config, "Regions"))) < 3 || field(config, "ResourcePath").Value != "Path" {
		t.Errorf("it asks for %s from %q", field(config, "ResourcePath").Value, values(field(config, "Regions")))
	}
}

// TestBackupsAreCopied: every backup of the plan is copied to a vault in
// another region, and nobody can delete backups early from the vault in this
// region.
func TestBackupsAreCopied(t *testing.T) {
	resources := opsTemplate(t, "backup.yaml")
	rules := at(resources, "Plan", "Properties", "BackupPlan", "BackupPlanRule").Content
	for _, rule := range rules {
		copies := field(rule, "CopyActions").Content
		if len(copies) != 1 || field(copies[0], "DestinationBackupVaultArn").Value != "CopyToVaultArn" {
			t.Errorf("the rule %s makes no copy elsewhere", field(rule, "RuleName").Value)
		}
	}
	if len(rules) == 0 || at(resources, "Vault", "Properties", "LockConfiguration", "ChangeableForDays") == nil {
		t.Error("there is no rule, or the vault is not locked")
	}
}

// TestBackupRoleRestoresNothing: the role that makes backups cannot write a table.
func TestBackupRoleRestoresNothing(t *testing.T) {
	role := at(opsTemplate(t, "backup.yaml"), "Role", "Properties")
	want := []string{"arn:${AWS::Partition}:iam::aws:policy/service-role/AWSBackupServiceRolePolicyForBackup"}
	if got := values(field(role, "ManagedPolicyArns")); !slices.Equal(got, want) || field(role, "Policies") != nil {
		t.Errorf("the role has the policies %q", got)
	}
}

// TestFewAddressesCannotUseUpOAuth: fifteen addresses, each at its own limit,
// leave most of the gateway's limit for /oauth/ to others.
func TestFewAddressesCannotUseUpOAuth(t *testing.T) {
	number := func(n *yaml.Node) float64 {
		var out float64
		testkit.Must(t, n.Decode(&out))
		return out
	}
	var root yaml.Node
	testkit.Must(t, yaml.Unmarshal(svc.Template, &root))
	route := number(at(root.Content[0], "Resources", "HttpApi", "Properties", "RouteSettings", "ANY /oauth/{proxy+}",
		"ThrottlingRateLimit"))
	address := number(at(opsSection(t, "edge.yaml", "Parameters"), "AddressRate", "Default")) / 300
	if 15*address > route/4 {
		t.Errorf("15 addresses may send %.0f of %.0f requests a second", 15*address, route)
	}
}

// TestBackupsThatFailNotify: an alarm counts each way in which a backup or its
// copy can fail, and another the absence of backups. Both notify. AWS Backup's
// own notifications have no such event any more (AWS Backup API,
// PutBackupVaultNotifications).
func TestBackupsThatFailNotify(t *testing.T) {
	resources := opsTemplate(t, "backup.yaml")
	if events := at(resources, "Vault", "Properties", "Notifications"); events != nil {
		t.Errorf("the vault notifies of %q", values(field(events, "BackupVaultEvents")))
	}
	var metrics []string
	for _, name := range []string{"Failed", "Missing"} {
		alarm := at(resources, name, "Properties")
		if alarm == nil {
			t.Fatalf("there is no alarm %s", name)
		}
		if got := values(field(alarm, "AlarmActions")); !slices.Equal(got, []string{"AlarmTopicArn"}) {
			t.Errorf("%s notifies %q", name, got)
		}
		if metric := field(alarm, "MetricName"); metric != nil {
			metrics = append(metrics, metric.Value+" "+field(alarm, "TreatMissingData").Value)
			continue
		}
		for _, m := range field(alarm, "Metrics").Content[1:] {
			metrics = append(metrics, at(m, "MetricStat", "Metric", "MetricName").Value)
		}
	}
	want := []string{"NumberOfBackupJobsFailed", "NumberOfBackupJobsAborted", "NumberOfBackupJobsExpired",
		"NumberOfCopyJobsFailed", "NumberOfBackupJobsCompleted breaching"}
	if !slices.Equal(metrics, want) {
		t.Errorf("the alarms watch %q", metrics)
	}
}

// TestRetentionOfBackups: the document of retention names how long backups and
// their copies are kept, in its table and where it says what stays of a tenant.
func TestRetentionOfBackups(t *testing.T) {
	parameters := opsSection(t, "backup.yaml", "Parameters")
	days := at(parameters, "KeepDays", "Default").Value
	copies := at(parameters, "KeepCopyDays", "Default").Value
	text, err := os.ReadFile("../../../docs/operations/switches.md")
	testkit.Must(t, err)
	for _, want := range []string{"`KeepDays`: " + days + " days", "`KeepCopyDays`: " + copies + " days",
		"- Backups remain for " + days + " days, and their copies elsewhere for " + copies + " days"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("switches.md does not say %q", want)
		}
	}
}

// TestMappingsMayRest: the document of switches says after how many hours
// without its mapping the records of a stream function become dead letters.
func TestMappingsMayRest(t *testing.T) {
	text, err := os.ReadFile("../../../docs/operations/switches.md")
	testkit.Must(t, err)
	streams, err := emulator.Streams(svc.Template)
	testkit.Must(t, err)
	for _, s := range streams {
		for _, want := range []string{fmt.Sprintf("disable its mapping, at most %d hours |", int(s.MaxAge.Hours())),
			fmt.Sprintf("`MaximumRecordAgeInSeconds`, %d hours", int(s.MaxAge.Hours()))} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: switches.md does not say %q", s.Function, want)
			}
		}
	}
	if len(streams) != 2 {
		t.Errorf("%d streams", len(streams))
	}
}
