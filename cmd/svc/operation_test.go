package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/cmd/svc/operation"
	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/data/audit"
	"svc/pkg/edge/api"
)

// openAPI is what the tests read of docs/openapi.json.
type openAPI struct {
	Paths map[string]map[string]struct {
		ID     string `json:"operationId"`
		Policy struct {
			Audiences map[string]string `json:"audiences"`
		} `json:"x-policy"`
	} `json:"paths"`
}

// commandOf returns the command of an operation.
func commandOf(t *testing.T, op *operation.Operation) *cobra.Command {
	t.Helper()
	cmd, rest, err := newCLI(nil, nil).Root().Find([]string{op.Group, op.Name})
	if err != nil || len(rest) > 0 {
		t.Fatalf("svc %s %s: %v %v", op.Group, op.Name, rest, err)
	}
	return cmd
}

// TestEveryOperationHasACommand: each operation for operators that the OpenAPI document has
// is a command: the one of its row, or one by hand that exists. The command takes what the
// path needs, and demands what the body does.
func TestEveryOperationHasACommand(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "openapi.json"))
	testkit.Must(t, err)
	var doc openAPI
	testkit.Must(t, json.Unmarshal(text, &doc))
	n := 0
	for path, methods := range doc.Paths {
		for _, one := range methods {
			_, operators := one.Policy.Audiences["dashboard"]
			if !operators || strings.HasPrefix(path, "/api/v1/me") {
				continue
			}
			n++
			if hand := operation.ByHand[one.ID]; hand != "" {
				words := strings.Fields(strings.Split(hand, " --")[0])
				cmd, rest, err := newCLI(nil, nil).Root().Find(words)
				if err != nil || len(rest) > 0 || cmd.Annotations[cli.OperationID] != "" || !cmd.Runnable() {
					t.Errorf("%s: no command by hand is called svc %s", one.ID, hand)
				}
				continue
			}
			op, err := operation.Of(one.ID)
			testkit.Must(t, err)
			cmd := commandOf(t, op)
			words := strings.Fields(cmd.Use)[1:]
			least, most := len(words)-strings.Count(cmd.Use, "["), len(words)
			if cmd.Annotations[cli.OperationID] != one.ID || least != 1+strings.Count(path, "{") || most < least {
				t.Errorf("%s: svc %s %s takes %d to %d arguments", one.ID, op.Group, cmd.Use, least, most)
			}
			for _, f := range op.Fields {
				flag := cmd.Flags().Lookup(f.Flag())
				if flag == nil || flag.Usage == "" || f.Required != strings.HasSuffix(flag.Usage, "Required.") && f.Required {
					t.Errorf("%s: the flag of %s is %+v", one.ID, f.Name, flag)
				}
			}
		}
	}
	if n < 60 {
		t.Errorf("the document has %d operations for operators", n)
	}
	for id := range operation.ByHand {
		if id != "svc_stream_events" {
			_, err := operation.Of(id)
			testkit.Must(t, err)
		}
	}
}

// TestColumnsAreMembers: a column that somebody chose for a list is a member of its items.
func TestColumnsAreMembers(t *testing.T) {
	t.Parallel()
	operations, err := operation.All()
	testkit.Must(t, err)
	for _, op := range operations {
		if !op.Lists {
			continue
		}
		if op.Columns == "" {
			t.Errorf("%s has no columns", op.ID)
		}
		for spec := range strings.FieldsSeq(op.Columns) {
			_, of, _ := strings.Cut(spec, "=")
			for _, name := range strings.FieldsFunc(of, func(r rune) bool { return r == '|' || r == '~' }) {
				if name, _, _ = strings.Cut(name, "."); !slices.Contains(op.Members, name) {
					t.Errorf("%s: no item has %s", op.ID, name)
				}
			}
		}
	}
}

// line returns a command line of the operation with every argument and required flag, but
// that of the field called without.
func line(op *operation.Operation, without string) []string {
	args := []string{op.Group, op.Name, "metro"}
	for range op.Parameters {
		args = append(args, "none")
	}
	for _, f := range op.Fields {
		if op.Needs(f) && f.Name != without {
			args = append(args, "--"+f.Flag()+"="+strings.Trim(f.Sample(), "'"))
		}
	}
	return args
}

// TestGeneratedCommandsRefuse: an unknown flag, a missing argument, each required flag that
// is missing and each wrong word get one clear line, before any service is found.
func TestGeneratedCommandsRefuse(t *testing.T) {
	t.Parallel()
	operations, err := operation.All()
	testkit.Must(t, err)
	for _, op := range operations {
		if operation.ByHand[op.ID] != "" {
			continue
		}
		refused := func(want string, args ...string) {
			t.Helper()
			var out, errs bytes.Buffer
			code := newCLI(&out, &errs).Run(t.Context(), append(args, "--data", "/nowhere"))
			if code != cli.ExitUsage || !strings.Contains(errs.String(), want) || strings.Count(errs.String(), "\n") != 1 {
				t.Errorf("svc %q: exit code %d, %q lacks %q", args, code, errs.String(), want)
			}
		}
		refused("unknown flag: --wings", append(line(op, ""), "--wings")...)
		refused("expected SLUG", op.Group, op.Name)
		for _, f := range op.Fields {
			if op.Needs(f) {
				refused("--"+f.Flag()+" is missing", line(op, f.Name)...)
			}
			if words := f.Words(); words != nil {
				refused(strings.Join(words, ", "), append(line(op, f.Name), "--"+f.Flag()+"=NONE")...)
			}
			if f.Schema.Type == huma.TypeBoolean {
				refused("expected true or false", append(line(op, f.Name), "--"+f.Flag()+"=maybe")...)
			}
		}
	}
}

// notAudited are the writes whose audit entry is not in the tenant's log, because the platform
// shares the roadmap.
var notAudited = map[string]bool{"svc_submit_feedback": true, "svc_comment_feedback": true, "svc_vote_feedback": true,
	"svc_unvote_feedback": true}

// writer runs generated commands, and remembers which.
type writer struct {
	*world
	tenant string
	done   map[string]bool
}

// write runs the command of a write. The audit log must have a new entry, by the platform.
func (w *writer) write(id string, args ...string) (answer map[string]any) {
	w.Helper()
	op, err := operation.Of(id)
	testkit.Must(w, err)
	log := func() []audit.Entry {
		return read[[]audit.Entry](w.world, "audit", w.tenant, "--limit", "1000")
	}
	before := len(log())
	answer = read[map[string]any](w.world, append([]string{op.Group, op.Name, w.tenant}, args...)...)
	w.done[id] = true
	after := log()
	fresh := after[:len(after)-min(before, len(after))]
	own := slices.ContainsFunc(fresh, func(e audit.Entry) bool { return e.Who == cli.By().Who })
	if !own && !notAudited[id] {
		w.Errorf("%s leaves no entry of %s in the audit log", id, cli.By().Who)
	}
	return answer
}

func (w *writer) id(answer map[string]any) string {
	w.Helper()
	id, _ := answer["id"].(string)
	if id == "" {
		w.Fatalf("no id in %v", answer)
	}
	return id
}

// TestGeneratedWritesAreAudited runs each generated command that changes something. Each
// leaves an entry in the audit log with the platform as the actor.
func TestGeneratedWritesAreAudited(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := &writer{world: start(t), tenant: "metro", done: map[string]bool{}}
	w.company()
	w.rides()
	w.people()
	w.tenant = "toy"
	w.ok("tenant", "create", "toy", "--sandbox")
	w.write("svc_advance_sandbox", "--seconds=60")
	w.tenant = "metro"
	operations, err := operation.All()
	testkit.Must(t, err)
	for _, op := range operations {
		switch {
		case op.Method == http.MethodGet || operation.ByHand[op.ID] != "" || w.done[op.ID]:
		case len(op.Parameters) == 0: // a new one
			w.write(op.ID, line(op, "")[3:]...)
		default:
			t.Errorf("%s was not tried", op.ID)
		}
	}
}

func (w *writer) company() {
	w.Helper()
	zone := w.id(w.write("svc_create_zone", "Pier", "--box=-74.02,40.7,-74,40.71"))
	if got := w.write("svc_update_zone", zone, "--active=false", "--priority=-3"); got["active"] != false ||
		got["priority"] != -3.0 {
		w.Errorf("the zone is %v", got)
	}
	w.write("svc_delete_zone", zone)
	service := w.id(w.write("svc_create_service", "Cab", "--base=3", "--description=With a comma, and null"))
	if got := w.write("svc_update_service", service, "--description=", "--per-km=0.10"); got["description"] != nil {
		w.Errorf("the description is %v", got["description"])
	}
	w.write("svc_delete_service", service)
	shop := w.id(w.write("svc_create_business", "null", "--category=deli", "--address=Quay", "--lat=1", "--lng=-1"))
	w.write("svc_update_business", shop, "--phone=", "--fee=2.50")
	dish := w.id(w.write("svc_create_menu_item", shop, "Soup", "4.10"))
	w.write("svc_update_menu_item", shop, dish, "--available=false")
	order := read[[]map[string]any](w.world, "orders", "list", "metro", "--status", "PENDING", "--limit", "1")
	w.write("svc_update_order", w.id(order[0]), "ACCEPTED")
	r := receive(w.T)
	hook := w.write("svc_create_webhook", r.URL, "--types=trip.completed", "--types=trip.rated",
		"--idempotency-key=once")
	again := read[map[string]any](w.world, "webhooks", "create", "metro", r.URL, "--types=trip.completed",
		"--types=trip.rated", "--idempotency-key=once")
	if hook["id"] != again["id"] || hook["secret"] != again["secret"] {
		w.Errorf("the repeated command made %v, then %v", hook, again)
	}
	if got := w.write("svc_update_webhook", w.id(hook), "--types="); len(got["types"].([]any)) != 0 {
		w.Errorf("the types are %v", got["types"])
	}
	w.write("svc_rotate_webhook_secret", w.id(hook), "--overlap-hours=0")
	w.write("svc_delete_webhook", w.id(hook))
	w.write("svc_invite_member", "ben@new.example", "--role=viewer")
	w.write("svc_update_member", "usr_01JB0TH0000000000000000001", "--role=viewer") // the demo's support
	w.write("svc_update_branding", "--app-name=Another name")
	w.write("svc_update_settings", "--pricing-free-waiting-minutes=0", "--pricing-tax-rate=0.1")
	post := w.id(w.write("svc_submit_feedback", "--title=A title", "--body=A body\nof two lines"))
	w.write("svc_comment_feedback", post, "--body=A comment")
	w.write("svc_unvote_feedback", post)
	w.write("svc_vote_feedback", post)
}

func (w *writer) rides() {
	w.Helper()
	w.ok("driver", "add", "metro", "does@metro.example", "--first", "Does", "--password", "a long password 1")
	id := w.ride()
	w.write("svc_assign_trip", id, "--driver-id=does@metro.example")
	w.write("svc_unassign_trip", id)
	w.write("svc_update_trip", id, "--external-id=R 7/1", `--metadata={"a":"b"}`)
	if got := read[map[string]any](w.world, "trips", "external", "metro", "R 7/1"); got["id"] != id {
		w.Errorf("the trip by its identifier in another system is %v", got)
	}
	w.write("svc_assign_trip", id, "--driver-id=does@metro.example")
	w.write("svc_arrive_for_driver", id)
	w.write("svc_start_for_driver", id)
	done := w.write("svc_complete_for_driver", id, "--final-fare=18.50", "--actual-distance=6.4")
	if done["status"] != "COMPLETED" || done["finalFare"] != 18.5 || done["originAddress"] == nil {
		w.Errorf("the completed trip is %v", done)
	}
	w.ok("verify", "metro") // returns when the trip is settled
	w.write("svc_correct_fare", id, "17.50", "--reason=A detour")
	late := w.ride()
	w.write("svc_assign_trip", late, "--driver=does@metro.example")
	w.write("svc_arrive_for_driver", late)
	w.write("svc_report_no_show_for_driver", late, "--waive")
	none := w.ride()
	w.write("svc_cancel_trip", none, "--reason=No car")
	w.write("svc_delete_trip", none)
}

func (w *writer) people() {
	w.Helper()
	w.write("svc_update_driver", "driver1@metro.example", "--vehicle-color=Blue")
	w.write("svc_update_customer", "rider1@metro.example", "--last-name=Null")
	paper := w.id(w.write("svc_create_driver_document", "driver1@metro.example", "--kind=INSURANCE",
		"--expires-on=2031-01-31"))
	w.write("svc_update_driver_document", "driver1@metro.example", paper, "--state=APPROVED", "--expires-on=")
	w.write("svc_post_to_wallet", "--type=TOP_UP", "--amount=50.10", "--description=Paid in",
		"--driver-id=driver1@metro.example")
	token := w.token("driver", "driver1@metro.example")
	for _, id := range []string{"svc_pay_withdrawal", "svc_refuse_withdrawal"} {
		var asked map[string]any
		out := call(w.T, "POST", w.base+"/api/v1/me/wallet/withdrawals", token, `{"amount": 1}`, 201)
		testkit.Must(w, json.Unmarshal([]byte(out), &asked))
		args := []string{w.id(asked)}
		if id == "svc_refuse_withdrawal" {
			args = append(args, "--reason=No account")
		}
		w.write(id, args...)
	}
}

// TestOtherTenantsAreNotFound: a generated command does not find the resources of another
// tenant, whether it reads or writes, and changes nothing there.
func TestOtherTenantsAreNotFound(t *testing.T) {
	w := share(t)
	biz := read[[]map[string]any](w, "businesses", "list", "metro")[0]["id"].(string)
	theirs := map[string]string{"menu": biz, "businesses": biz, "documents": "driver1@metro.example"}
	for _, group := range []string{"trips", "zones", "services", "orders", "drivers", "customers"} {
		theirs[group] = read[[]map[string]any](w, group, "list", "metro")[0]["id"].(string)
	}
	theirs["documents"] = theirs["drivers"]
	w.ok("tenant", "create", "elsewhere", "--flag", "deliveryEnabled=true", "--flag", "taxiEnabled=true")
	operations, err := operation.All()
	testkit.Must(t, err)
	before, tried := w.ok("audit", "metro", "--json", "--limit", "1000"), 0
	for _, op := range operations {
		id := theirs[op.Group]
		if id == "" || operation.ByHand[op.ID] != "" || len(op.Parameters) == 0 {
			continue
		}
		args := line(op, "")
		args[2], args[3] = "elsewhere", id
		if op.Method == http.MethodPatch {
			for _, f := range op.Fields {
				if f.Name == "name" || f.Name == "firstName" || f.Name == "status" || f.Name == "externalId" {
					args = append(args, "--"+f.Flag()+"="+strings.Trim(f.Sample(), "'"))
				}
			}
			if op.Group == "documents" {
				args = append(args, "--state=APPROVED")
			}
		}
		tried++
		if out, errs, code := w.run(args...); code != cli.ExitFailure || !strings.Contains(errs, "there is no ") ||
			out != "" {
			t.Errorf("svc %q: exit code %d, %q, %q", args, code, errs, out)
		}
	}
	if after := w.ok("audit", "metro", "--json", "--limit", "1000"); after != before || tried < 25 {
		t.Errorf("something was changed, or only %d commands were tried", tried)
	}
}

// TestNoRowOfARiderIsReachable: no generated command, and no request by Operate, is one of a
// rider or driver. Only this command calls Operate, which checks no token.
func TestNoRowOfARiderIsReachable(t *testing.T) {
	w := share(t)
	operations, err := operation.All()
	testkit.Must(t, err)
	for _, op := range operations {
		if len(op.Policy.Scopes) != 1 || strings.HasPrefix(op.Path+"/", "/api/v1/me/") {
			t.Errorf("%s %s is not of operators alone", op.Method, op.Path)
		}
		if _, only := op.Policy.Scopes["dashboard"]; !only {
			t.Errorf("%s is of %v", op.ID, op.Policy.Scopes)
		}
	}
	db := w.opened()
	metro := w.handleOf(db, "metro")
	all, err := api.New(api.Config{DB: db}, app.Rows(db)...) // as a server would be that has all rows
	testkit.Must(t, err)
	for _, row := range app.Rows(db) {
		if _, operators := row.Policy.Scopes["dashboard"]; operators {
			continue
		}
		path := strings.NewReplacer("{", "", "}", "").Replace(row.Path)
		r := httptest.NewRequestWithContext(t.Context(), row.Method, path, strings.NewReader("{}"))
		answer := httptest.NewRecorder()
		all.Operate(answer, r, metro.ID(), cli.By().Who)
		if answer.Code != http.StatusForbidden {
			t.Errorf("%s is answered with %d", row.ID, answer.Code)
		}
	}
	root := filepath.Join("..", "..")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(".Operate(")) && filepath.Dir(path) != filepath.Join(root, "cmd", "svc", "operation") {
			t.Errorf("%s calls Operate", path)
		}
		return err
	})
	testkit.Must(t, err)
}
