package repository_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"svc"
	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/domain/webhook"
	"svc/pkg/edge/api"
)

// statement is one statement of a function's policies.
type statement struct {
	Sid       string
	Action    []string
	Resource  []string // "table", an index's name, "key"
	Keys      []string // patterns of dynamodb:LeadingKeys
	Names     []string // allowed dynamodb:Attributes; nil means all
	some      bool     // of reads, only those of named attributes
	unchecked bool     // the condition on keys does not require that the request has keys
	deny      bool     // denies a request with any of the keys
}

// Reasons that depend on which of two writers comes first. A run may use their rights
// by chance.
const (
	older   = "zones of an older build get their covers (TestZonesOfAnOlderBuild), or a zone changes meanwhile"
	unquiet = "an account is disabled while its person changes it all the time"
	early   = "a fare is corrected before the stream settles the trip"
)

// Reasons of rights for the record of an operator.
const (
	leaves  = "an operator is removed (TestTakenMeanwhile)"
	accepts = "an invited operator accepts (TestInvitedMember)"
)

var byChance = []string{older, unquiet, early}

// unexercised lists rights that the end-to-end suite does not use: function,
// statement, and action, resource or pattern. The value says why the code needs
// the right.
var unexercised = map[string]string{
	"FleetFunction Seize T#*#CUSTOMER#*":           unquiet,
	"FleetFunction Seize T#*#DRIVER#*":             unquiet,
	"FleetFunction Seize dynamodb:UpdateItem":      unquiet,
	"FleetFunction Seize table":                    unquiet,
	"FleetFunction ChangeRecords dynamodb:PutItem": leaves,
	"MCPFunction ChangeRecords dynamodb:PutItem":   leaves,
	"OAuthFunction Join dynamodb:PutItem":          accepts,
	"OAuthFunction Join dynamodb:DeleteItem":       accepts,
	"OAuthFunction Join table":                     accepts,
	"OAuthFunction Join T#*#PERSON#*":              accepts,
	"OAuthFunction Join PERSON#*":                  accepts,
	"KeysFunction RotateKeys dynamodb:DeleteItem": "a retired key is deleted when the last token it " +
		"signed has ended",
	"TripsFunction Read T#*#WALLET#*":                   "a corrected fare makes a wallet, or a booking has a floor",
	"TripsFunction ClaimNumber dynamodb:UpdateItem":     "TestCallerInTwoRoundTrips",
	"TripsFunction ClaimNumber table":                   "TestCallerInTwoRoundTrips",
	"TripsFunction ClaimNumber T#*#CALLER#*":            "TestCallerInTwoRoundTrips",
	"TripsFunction Solvent dynamodb:ConditionCheckItem": "a ride is paid from the wallet of a company with a floor",
	"TripsFunction Solvent table":                       "a ride is paid from the wallet of a company with a floor",
	"TripsFunction Solvent T#*#WALLET#*":                "a ride is paid from the wallet of a company with a floor",
	"MeFunction Solvent dynamodb:ConditionCheckItem":    "a ride is paid from the wallet of a company with a floor",
	"MeFunction Solvent table":                          "a ride is paid from the wallet of a company with a floor",
	"MeFunction Solvent T#*#WALLET#*":                   "a ride is paid from the wallet of a company with a floor",
	"MCPFunction Exist T#*#WALLET#*":                    "a ride is paid from the wallet of a company with a floor",
	"TripsFunction SettleFirst dynamodb:UpdateItem":     early,
	"TripsFunction SettleFirst table":                   early,
	"TripsFunction SettleFirst T#*#CUSTOMER#*":          early,
	"TripsFunction SettleFirst T#*#DRIVER#*":            early,
	"ProjectionFunction Dispatch sqs:SendMessage":       "a process on a laptop has no queue",
	"ProjectionFunction Dispatch queue":                 "a process on a laptop has no queue",
	"ProjectionFunction PassOn sqs:SendMessage":         "a process on a laptop has no queue",
	"ProjectionFunction PassOn queue":                   "a process on a laptop has no queue",
	"DeliverFunction Later sqs:SendMessage":             "a process on a laptop has no queue",
	"DeliverFunction Later queue":                       "a process on a laptop has no queue",
	"DeliverFunction Read PERSON#*":                     "the creator of an endpoint that was disabled gets a mail",
	"DeliverFunction Read MAILSTOP#*":                   "the creator of an endpoint that was disabled gets a mail",
	"DeliverFunction Read THROTTLE#mail-*":              "the creator of an endpoint that was disabled gets a mail",
	"DeliverFunction Mails dynamodb:UpdateItem":         "an endpoint is disabled, or SES reports a bounce",
	"DeliverFunction Mails table":                       "an endpoint is disabled, or SES reports a bounce",
	"DeliverFunction Mails THROTTLE#mail-*":             "the creator of an endpoint that was disabled gets a mail",
	"DeliverFunction Mails MAILSTOP#*":                  "SES reports a bounce (TestReportsOfMails)",
	"DeliverFunction Check T#*#FAMILY#*":                "TestSenderMayCheckSubscriptions",
	"DispatchFunction Later sqs:SendMessage":            "a process on a laptop has no queue",
	"DispatchFunction Later queue":                      "a process on a laptop has no queue",
	"ReportsFunction MarkFlags dynamodb:UpdateItem":     "a posting to a driver or rider without a wallet",
	"JobsFunction Erase T#*#ORDER#*": "a person is erased who has such data " +
		"(pkg/background/erasure)",
	"JobsFunction Erase T#*#WALLET#*": "a person is erased who has such data " +
		"(pkg/background/erasure)",
	"JobsFunction Erase T#*#WITHDRAWAL#*": "a person is erased who has such data " +
		"(pkg/background/erasure)",
	"JobsFunction Erase T#*#ESTIMATES#*": "a person is erased who has such data " +
		"(pkg/background/erasure)",
	"JobsFunction Erase T#*#CONSENT#*": "a person is erased who has such data " +
		"(pkg/background/erasure)",
	"JobsFunction Erase T#*#WEBHOOK#*": "a person is erased who has such data " +
		"(pkg/background/erasure)",
	"JobsFunction Erase SESSION#*": "a person is erased who has such data " +
		"(pkg/background/erasure)",
	"JobsFunction Read T#*#ORDER#*":                            "old orders lose their addresses (pkg/background/erasure)",
	"JobsFunction Read T#*#SUFFIX#*":                           "people are imported by phone (pkg/background/jobs)",
	"JobsFunction EndLogin dynamodb:ConditionCheckItem":        "a person asked for an erasure 7 days ago",
	"MCPFunction Leave dynamodb:UpdateItem":                    "a person asks to be erased",
	"MCPFunction Leave table":                                  "a person asks to be erased",
	"MCPFunction Leave T#*#LOGIN#*":                            "a person asks to be erased",
	"MeFunction Leave dynamodb:UpdateItem":                     "a person asks to be erased",
	"MeFunction Leave table":                                   "a person asks to be erased",
	"MeFunction Leave T#*#LOGIN#*":                             "a person asks to be erased",
	"ReportsFunction MarkFlags table":                          "a posting to a driver or rider without a wallet",
	"ReportsFunction MarkFlags T#*#FLAGS#*":                    "a posting to a driver or rider without a wallet",
	"ProjectionFunction GiveUp s3:PutObject":                   "an item's data cannot be counted",
	"ProjectionFunction GiveUp letters of ProjectionFunction":  "an item's data cannot be counted",
	"ProjectionFunction CoverZones dynamodb:PutItem":           older,
	"ProjectionFunction CoverZones dynamodb:DeleteItem":        older,
	"ProjectionFunction CoverZones table":                      older,
	"ProjectionFunction CoverZones T#*#ZONE#*":                 older,
	"ProjectionFunction CheckZone dynamodb:ConditionCheckItem": older,
	"ProjectionFunction CheckZone table":                       older,
	"ProjectionFunction CheckZone T#*#SETTINGS":                older,
	"SettlementFunction CoverZones dynamodb:PutItem":           older,
	"SettlementFunction CoverZones dynamodb:DeleteItem":        older,
	"SettlementFunction CoverZones table":                      older,
	"SettlementFunction CoverZones T#*#ZONE#*":                 older,
	"SettlementFunction CheckZone dynamodb:ConditionCheckItem": older,
	"SettlementFunction CheckZone table":                       older,
	"SettlementFunction CheckZone T#*#SETTINGS":                older,
	"SettlementFunction Read T#*#ZONE#*":                       older,
	"SettlementFunction MarkFlags dynamodb:UpdateItem":         older,
	"SettlementFunction MarkFlags table":                       older,
	"SettlementFunction MarkFlags T#*#FLAGS#*":                 older,
	"DispatchFunction Search T#*#ZONES#*": "a robot of a sandbox with a strict service area " +
		"requests a ride",
	"SettlementFunction GiveUp s3:PutObject":                  "a trip's data cannot be settled",
	"SettlementFunction GiveUp letters of SettlementFunction": "a trip's data cannot be settled",
}

// TestPoliciesAreWhatIsUsed: every function has the rights that it uses, and no
// other. GetItem, BatchGetItem and Query of the same keys count as one right.
func TestPoliciesAreWhatIsUsed(t *testing.T) {
	r := recorded(t)
	policies, excused, granted := policiesOf(t), map[string]bool{}, map[string]bool{}
	for _, function := range slices.Sorted(maps.Keys(r.requests)) {
		statements := policies[function]
		used := map[string]bool{}
		for _, q := range r.of(function) {
			by := grants(statements, q)
			for _, s := range by {
				for _, name := range append(append(slices.Clone(q.keys), q.resource), right(q.action)) {
					used[s.Sid+" "+name] = true
				}
			}
			if len(by) == 0 {
				t.Errorf("%s asks for %s of %s %v, which no statement grants", function, q.action, q.resource, q.keys)
			}
		}
		for _, s := range statements {
			for _, part := range s.unused(nil) {
				granted[function+" "+s.Sid+" "+part] = true
			}
			for _, part := range s.unused(used) {
				if slices.Contains(s.Keys, "CLIENT#*") && slices.Contains(checkFamilies, part) {
					continue // TestChecksOfEveryAudience
				}
				name := function + " " + s.Sid + " " + part
				if excused[name] = true; unexercised[name] == "" {
					t.Errorf("%s is granted %s by %s and does not use it", function, part, s.Sid)
				}
			}
		}
	}
	for name, why := range unexercised {
		if chance := slices.Contains(byChance, why); chance && !granted[name] || !chance && !excused[name] {
			t.Errorf("%s needs no excuse", name)
		}
	}
}

// checkFamilies are the families of keys that the checks of a token read. A token
// of any audience may come to any endpoint.
var checkFamilies = []string{"T#*#TOKEN#*", "T#*#GRANT#*", "T#*#PERSON#*", "T#*#MACHINE#*", "T#*#CUSTOMER#*",
	"T#*#DRIVER#*", "T#*#FLAGS#*", "CLIENT#*", "KEYS#*"}

// TestChecksOfEveryAudience: a function can make each of its batches of checks for
// a token of any audience. Otherwise a rider's token at an operators' endpoint
// would get a 500.
func TestChecksOfEveryAudience(t *testing.T) {
	r, policies := recorded(t), policiesOf(t)
	actors, seen := []string{"T#t#PERSON#", "T#t#MACHINE#", "T#t#CUSTOMER#", "T#t#DRIVER#"}, 0
	for function := range r.requests {
		if function == app.Jobs { // only operators begin jobs
			continue
		}
		for _, q := range r.of(function) {
			if q.action != "dynamodb:BatchGetItem" || !slices.Contains(q.keys, "T#t#TOKEN#") {
				continue
			}
			seen++
			rest := slices.DeleteFunc(slices.Clone(q.keys), func(key string) bool { return slices.Contains(actors, key) })
			for _, actor := range actors {
				other := iamRequest{action: q.action, resource: q.resource, keys: append(slices.Clone(rest), actor)}
				if len(grants(policies[function], other)) == 0 {
					t.Errorf("%s may not read %v", function, other.keys)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no checks were recorded")
	}
}

// TestRefusedByPolicy: what a function must not do is refused, although it may do
// the like.
func TestRefusedByPolicy(t *testing.T) {
	policies := policiesOf(t)
	flags := func(action string, names ...string) iamRequest {
		return iamRequest{action: action, resource: "table", keys: []string{"T#t#FLAGS#"}, attributes: names}
	}
	reads := func(family string) iamRequest {
		return iamRequest{action: "dynamodb:BatchGetItem", resource: "table", keys: []string{family, "T#t#TOKEN#"}}
	}
	for _, function := range []string{"MeFunction", "MCPFunction"} {
		mark := flags("dynamodb:UpdateItem", "currency", "pk", "priced", "sk")
		if len(grants(policies[function], mark)) == 0 {
			t.Errorf("%s may not mark the flags", function)
		}
		for _, q := range []iamRequest{flags("dynamodb:UpdateItem", "disabled", "pk", "sk"),
			flags("dynamodb:UpdateItem", "pk", "priced", "sk", "taxiEnabled"),
			flags("dynamodb:UpdateItem", "agentActions", "pk", "sk"),
			flags("dynamodb:PutItem"), flags("dynamodb:DeleteItem")} {
			if len(grants(policies[function], q)) > 0 {
				t.Errorf("%s may %s %v of the flags", function, q.action, q.attributes)
			}
		}
	}
	// Families of a tenant that no function of the API needs, and those that it needs
	// elsewhere.
	for function, others := range map[string][]string{
		"TripsFunction": {"BRANDING", "REPORT"}, "FleetFunction": {"REPORT", "ESTIMATES"},
		"SettingsFunction": {"TRIP", "WALLET"}, "ReportsFunction": {"SETTINGS"}, "DeliveryFunction": {"TRIP"},
		"FeedbackFunction": {"TRIP", "WALLET", "BRANDING"}, "MeFunction": {"REPORT", "BRANDING", "SUFFIX"}, "MCPFunction": {},
	} {
		for _, name := range append(others, "FAMILY", "CONSENT", "LOGIN", "RECEIPT") {
			if q := reads("T#t#" + name + "#"); len(grants(policies[function], q)) > 0 {
				t.Errorf("%s may read %s", function, name)
			}
		}
		for _, key := range []string{"T#t#AUDIT", "EMAIL#", "SESSION#", "CODE#", "LINK#", "SLUG#"} {
			if len(grants(policies[function], reads(key))) > 0 {
				t.Errorf("%s may read %s", function, key)
			}
		}
	}
}

// TestSenderMayCheckSubscriptions: DeliverFunction may read in one request what decides
// whether an endpoint stands, and the access of an agent that subscribed.
func TestSenderMayCheckSubscriptions(t *testing.T) {
	stand := apitest.NewAt(t, testkit.Table(t), api.Config{})
	n := stand.Tenant("USD", 1)
	for audience, person := range map[authz.Audience]string{authz.Dashboard: "", authz.Rider: "cus_1",
		authz.Driver: "drv_1"} {
		q := iamRequest{action: "dynamodb:BatchGetItem", resource: "table", keys: []string{strings.ReplaceAll(
			webhook.BookKey(n, person).PK, n.ID(), "t")}}
		for _, key := range (authz.Standing{Audience: string(audience)}).Keys(n, stand.DB.Platform("CLIENT")) {
			q.keys = append(q.keys, strings.ReplaceAll(key.PK, n.ID(), "t"))
		}
		if len(grants(policiesOf(t)["DeliverFunction"], q)) == 0 {
			t.Errorf("DeliverFunction may not read %v", q.keys)
		}
	}
}

var readActions = []string{"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"}

// TestOnlySignInReadsLogins: only the authorization server can read and write
// a password hash. Functions that add and disable accounts can write neither a
// password nor when it was set.
func TestOnlySignInReadsLogins(t *testing.T) {
	for function, statements := range policiesOf(t) {
		for _, key := range []string{"T#t#LOGIN#", "EMAIL#"} {
			for _, action := range append([]string{"dynamodb:UpdateItem"}, readActions...) {
				q := iamRequest{action: action, resource: "table", keys: []string{key}}
				hash := q
				hash.attributes = []string{"actor", "password", "pk", "sk"}
				if function != "OAuthFunction" && len(grants(statements, hash)) > 0 {
					t.Errorf("%s of the password of %s by %s is granted", action, key, function)
				}
				if action == "dynamodb:UpdateItem" {
					q.attributes = []string{"actor", "password", "passwordAt", "pk", "sk"}
				}
				if got := len(grants(statements, q)) > 0; got != (function == "OAuthFunction") {
					t.Errorf("%s of %s by %s: granted %t", action, key, function, got)
				}
			}
		}
	}
}

// TestPoliciesNameKeys: every statement on the table names leading keys and
// rejects a request without keys. No statement grants more than single items
// and queries.
func TestPoliciesNameKeys(t *testing.T) {
	allowed := []string{"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:PutItem",
		"dynamodb:UpdateItem",
		"dynamodb:DeleteItem", "dynamodb:ConditionCheckItem", "kms:Encrypt", "kms:Decrypt", "s3:PutObject",
		"sqs:SendMessage", "dynamodb:BatchWriteItem"}
	for function, statements := range policiesOf(t) {
		for _, s := range statements {
			if s.deny {
				continue
			}
			if slices.Contains(s.Action, "s3:PutObject") != slices.Equal(s.Resource, []string{"letters of " + function}) {
				t.Errorf("%s: %s grants %v of %v", function, s.Sid, s.Action, s.Resource)
			}
			for _, action := range s.Action {
				if !slices.Contains(allowed, action) {
					t.Errorf("%s: %s grants %s", function, s.Sid, action)
				}
				if strings.HasPrefix(action, "dynamodb:") && (len(s.Keys) == 0 || s.unchecked || slices.Contains(s.Keys, "*")) {
					t.Errorf("%s: %s grants %s without naming keys", function, s.Sid, action)
				}
			}
		}
	}
}

// grants returns the statements that allow a request, or none if a statement
// denies it.
func grants(statements []statement, q iamRequest) (granted []statement) {
	for _, s := range statements {
		switch {
		case s.deny && s.denies(q):
			return nil
		case !s.deny && s.allows(q):
			granted = append(granted, s)
		}
	}
	return granted
}

// denies reports whether the statement denies the request: one matching key is
// enough.
func (s statement) denies(q iamRequest) bool {
	return slices.Contains(s.Action, q.action) && slices.Contains(s.Resource, q.resource) &&
		slices.ContainsFunc(q.keys, func(key string) bool {
			return slices.ContainsFunc(s.Keys, func(pattern string) bool { return like(pattern, key) })
		})
}

// allows reports whether the statement allows the request. As in IAM, one
// statement must name action, resource and all keys.
func (s statement) allows(q iamRequest) bool {
	if !slices.Contains(s.Action, q.action) || !slices.Contains(s.Resource, q.resource) {
		return false
	}
	for _, key := range q.keys {
		if !slices.ContainsFunc(s.Keys, func(pattern string) bool { return like(pattern, key) }) {
			return false
		}
	}
	if s.some && len(q.attributes) == 0 { // a read of all attributes
		return false
	}
	for _, name := range q.attributes {
		if s.Names != nil && !slices.Contains(s.Names, name) {
			return false
		}
	}
	return true
}

// like implements IAM's StringLike.
func like(pattern, key string) bool {
	ok, err := path.Match(pattern, strings.ReplaceAll(key, "/", ""))
	return err == nil && ok
}

func right(action string) string {
	switch action {
	case "dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query":
		return "read"
	}
	return action
}

func (s statement) unused(used map[string]bool) []string {
	var out []string
	if s.deny {
		return nil
	}
	for _, action := range s.Action {
		if !used[s.Sid+" "+right(action)] {
			out = append(out, action)
		}
	}
	for _, resource := range s.Resource {
		if !used[s.Sid+" "+resource] {
			out = append(out, resource)
		}
	}
	for _, pattern := range s.Keys {
		hit := false
		for name := range used {
			sid, key, _ := strings.Cut(name, " ")
			hit = hit || sid == s.Sid && like(pattern, key)
		}
		if !hit {
			out = append(out, pattern)
		}
	}
	return out
}

// policiesOf reads the statements of every function from the template.
func policiesOf(t *testing.T) map[string][]statement {
	t.Helper()
	var root yaml.Node
	testkit.Must(t, yaml.Unmarshal(svc.Template, &root))
	resources := field(root.Content[0], "Resources")
	out := map[string][]statement{}
	for i := 0; i < len(resources.Content); i += 2 {
		name, resource := resources.Content[i].Value, resources.Content[i+1]
		if field(resource, "Type").Value != "AWS::Serverless::Function" {
			continue
		}
		if name == app.Smoke { // TestSmokeMayInvokeVersions
			continue
		}
		out[name] = nil
		policies := field(field(resource, "Properties"), "Policies")
		if policies == nil {
			continue
		}
		for _, p := range policies.Content {
			if p.Tag == "!Ref" {
				p = field(field(field(resources, p.Value), "Properties"), "PolicyDocument")
			}
			for _, s := range field(p, "Statement").Content {
				out[name] = append(out[name], statementOf(t, s))
			}
		}
	}
	if len(out) != 17 {
		t.Fatalf("%d functions are in the template", len(out))
	}
	return out
}

func statementOf(t *testing.T, n *yaml.Node) statement {
	t.Helper()
	s := statement{Sid: field(n, "Sid").Value, Action: values(field(n, "Action"))}
	for _, resource := range values(field(n, "Resource")) {
		switch {
		case resource == "Table.Arn":
			resource = "table"
		case resource == "SealingKey.Arn":
			resource = "key"
		case resource == "DispatchQueue.Arn", resource == "WebhookQueue.Arn":
			resource = "queue"
		case strings.HasPrefix(resource, "${Table.Arn}/index/"):
			resource = strings.TrimPrefix(resource, "${Table.Arn}/index/")
		case strings.HasPrefix(resource, "${LostRecords.Arn}/"):
			resource = "letters of " + strings.TrimSuffix(strings.TrimPrefix(resource, "${LostRecords.Arn}/"), "/*")
		default:
			t.Errorf("%s is about %s, which is not known", s.Sid, resource)
		}
		s.Resource = append(s.Resource, resource)
	}
	condition := field(n, "Condition")
	if s.deny = field(n, "Effect").Value == "Deny"; s.deny {
		s.Keys = values(field(field(condition, "ForAnyValue:StringLike"), "dynamodb:LeadingKeys"))
		return s
	}
	s.Keys = values(field(field(condition, "ForAllValues:StringLike"), "dynamodb:LeadingKeys"))
	s.Names = values(field(field(condition, "ForAllValues:StringEquals"), "dynamodb:Attributes"))
	s.some = slices.Contains(values(field(field(condition, "StringEquals"), "dynamodb:Select")), "SPECIFIC_ATTRIBUTES")
	reads := func(action string) bool { return slices.Contains(readActions, action) }
	if s.Names != nil && !s.some && slices.ContainsFunc(s.Action, reads) {
		t.Errorf("%s names attributes, and still allows to read all", s.Sid)
	}
	null := values(field(field(condition, "Null"), "dynamodb:LeadingKeys"))
	s.unchecked = fmt.Sprint(null) != "[false]"
	return s
}

// field returns a member of a mapping, nil if absent.
func field(n *yaml.Node, name string) *yaml.Node {
	if n == nil {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// values returns a text, or the texts of a list.
func values(n *yaml.Node) []string {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.ScalarNode:
		return []string{n.Value}
	}
	var out []string
	for _, c := range n.Content {
		out = append(out, c.Value)
	}
	return out
}
