package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/cmd/svc/cli"
	"svc/pkg/access/authz"
	"svc/pkg/data/audit"
	"svc/pkg/domain/trip"
	"svc/pkg/local/demo"
	"svc/pkg/local/folder"
)

// TestChangesInAWSAreConfirmed: a change on a table in AWS names the table and
// does nothing without --yes.
func TestChangesInAWSAreConfirmed(t *testing.T) {
	t.Setenv("TABLE_NAME", "svc-live")
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "")
	t.Setenv("AWS_REGION", "eu-central-1")
	for _, tc := range []struct {
		args  string
		stdin string
	}{
		{args: "tenant set metro --flag taxiEnabled=false"},
		{args: "tenant brand metro primaryColor=#000000"},
		{args: "rebuild"},
		{args: "restore finish"},
		{args: "rebuild metro"},
		{args: "dlq drop settlement --all"},
		{args: "trip cancel metro trp_x --reason lost", stdin: "yes\n"}, // a pipe cannot confirm
	} {
		var out, errs bytes.Buffer
		c := newCLI(&out, &errs)
		c.Stdin = strings.NewReader(tc.stdin)
		code := c.Run(t.Context(), strings.Fields(tc.args))
		for _, want := range []string{"the table svc-live in AWS", "region eu-central-1", "--yes"} {
			if code != cli.ExitUsage || !strings.Contains(errs.String(), want) {
				t.Errorf("svc %s: exit code %d, %q names no %s", tc.args, code, errs.String(), want)
			}
		}
	}
}

// TestDataBeatsTableName: --data overrides TABLE_NAME, and the command says so.
func TestDataBeatsTableName(t *testing.T) {
	w := share(t)
	t.Setenv("TABLE_NAME", "svc-live")
	out, errs, code := w.run("tenant", "list")
	if code != 0 || !strings.Contains(out, "metro") || !strings.Contains(errs, "ignoring TABLE_NAME=svc-live") {
		t.Errorf("exit code %d: %s %s", code, out, errs)
	}
}

// errorLine is an error as --json prints it.
type errorLine struct {
	Error    string
	ExitCode int
	Help     string
}

// TestJSONErrors: with --json an error is one JSON object.
func TestJSONErrors(t *testing.T) {
	for args, want := range map[string]errorLine{
		"fly --json": {`unknown command "fly" for "svc"`, cli.ExitUsage, "svc --help"},
		"tenant list --json --data /nowhere": {"no service runs on the data folder /nowhere: start one with `svc dev`",
			cli.ExitFailure, ""},
	} {
		t.Setenv("TABLE_NAME", "")
		var out, errs bytes.Buffer
		code := newCLI(&out, &errs).Run(t.Context(), strings.Fields(args))
		var got errorLine
		if err := json.Unmarshal(errs.Bytes(), &got); err != nil || got != want || code != want.ExitCode {
			t.Errorf("svc %s: exit code %d, %q", args, code, errs.String())
		}
	}
}

// TestCompletion: the shell completes slugs, permissions, scopes and statuses.
func TestCompletion(t *testing.T) {
	w := share(t)
	for _, tc := range []struct{ args, want string }{
		{"driver list|m", "metro"},
		{"member grant metro ana@metro.example|VIEW_TR", "VIEW_TRIPS"},
		{"token get --scope|rider.t", "rider.trips:read"},
		{"trip list metro --status|SEA", "SEARCHING"},
		{"order set metro x|DEL", "DELIVERED"},
		{"trip move metro trp_x|IN", "IN_PROGRESS"},
		{"token get --tenant|h", "harbor"},
	} {
		args, begun, _ := strings.Cut(tc.args, "|")
		var out, errs bytes.Buffer
		words := append([]string{"__complete", "--data", w.data}, strings.Fields(args)...)
		code := newCLI(&out, &errs).Run(t.Context(), append(words, begun))
		if code != 0 || !strings.Contains(out.String(), tc.want) {
			t.Errorf("%s completes to %q, want %s: %s", tc.args, out.String(), tc.want, errs.String())
		}
	}
	if help := w.ok("--help"); !strings.Contains(help, "completion") || !strings.Contains(help, "Exit codes") {
		t.Errorf("the help names no completion or no exit codes: %s", help)
	}
}

// TestIntervention completes a trip for the driver, and cancels another. The
// trip's log and the audit log name the operator.
func TestIntervention(t *testing.T) {
	w := share(t)
	id := w.ride()
	moved := []string{id}
	if _, errs, code := w.run("trip", "move", "metro", id, "COMPLETED"); code != 1 ||
		!strings.Contains(errs, "cannot be completed") {
		t.Errorf("a trip without a driver: %d %s", code, errs)
	}
	w.ok("driver", "add", "metro", "spare@metro.example", "--first", "Spare", "--password", "a long password 1")
	w.ok("trip", "move", "metro", id, "ASSIGNED", "--driver", "spare@metro.example")
	for _, status := range []string{"DRIVER_ARRIVED", "IN_PROGRESS", "COMPLETED"} {
		w.ok("trip", "move", "metro", id, status)
	}
	shown := read[tripWithLog](w, "trip", "show", "metro", id)
	last := shown.Log[len(shown.Log)-1]
	if shown.Status != trip.Completed || last.Type != trip.EventCompleted || last.Actor.Type != string(authz.Dashboard) ||
		!strings.HasPrefix(last.Actor.ID, "svc") {
		t.Errorf("%s: %+v", shown.Status, last)
	}
	if _, errs, code := w.run("trip", "cancel", "metro", id, "--reason", "late"); code != 1 ||
		!strings.Contains(errs, "cannot be cancelled") {
		t.Errorf("a completed trip was cancelled: %d %s", code, errs)
	}
	id = w.ride()
	moved = append(moved, id)
	if newest := read[[]trip.Trip](w, "trip", "list", "metro", "--status", "PENDING"); newest[0].ID != id {
		t.Errorf("the list begins with %s, want %s", newest[0].ID, id)
	}
	w.ok("trip", "cancel", "metro", id, "--reason", "The driver had an accident")
	found := read[tripWithLog](w, "trip", "show", "metro", id)
	if found.Status != trip.Cancelled || *found.CancelReason != "The driver had an accident" {
		t.Errorf("%+v", found.Trip)
	}
	moves := 0
	for _, e := range read[[]audit.Entry](w, "audit", "metro", "--limit", "100") {
		if e.What == "trip.move" && slices.Contains(moved, e.Subject) {
			moves++
		}
	}
	if moves != 5 {
		t.Errorf("%d entries of the audit log, want 5", moves)
	}
	if out := w.ok("wallet", "show", "metro", "driver1@metro.example"); !regexp.MustCompile(
		`BALANCE +[-0-9.]+ USD `).MatchString(out) {
		t.Errorf("the wallet: %s", out)
	}
}

// TestInterventionOnTheRoad: a car breaks down, the second driver's phone dies, and
// the operator completes the ride with its fare by svc. Another trip is given back
// and deleted.
func TestInterventionOnTheRoad(t *testing.T) {
	w := share(t)
	for _, name := range []string{"broken", "saver"} {
		w.ok("driver", "add", "metro", name+"@metro.example", "--first", name, "--password", "a long password 1")
	}
	id := w.ride()
	w.ok("trip", "hand-over", "metro", id, "--driver", "broken@metro.example")
	w.ok("trip", "hand-over", "metro", id, "--driver", "saver@metro.example")
	w.ok("trip", "move", "metro", id, "DRIVER_ARRIVED")
	w.ok("trip", "move", "metro", id, "IN_PROGRESS")
	if _, errs, code := w.run("trip", "complete", "metro", id, "--fare", "1000000000000"); code != 1 ||
		!strings.Contains(errs, "largest fare") {
		t.Errorf("a typo: %d %s", code, errs)
	}
	w.ok("trip", "complete", "metro", id, "--fare", "18.50", "--distance", "6.4")
	shown := read[tripWithLog](w, "trip", "show", "metro", id)
	var events []trip.Event
	for _, e := range shown.Log {
		events = append(events, e.Type)
	}
	want := []trip.Event{trip.EventRequested, trip.EventAssigned, trip.EventHandedOver, trip.EventArrived,
		trip.EventStarted, trip.EventCompleted}
	if *shown.FinalFare != "18.5" || *shown.ActualDistance != "6.4" || !slices.Equal(events, want) {
		t.Errorf("%+v with %v", shown.Trip, events)
	}
	id = w.ride()
	w.ok("trip", "hand-over", "metro", id, "--driver", "saver@metro.example")
	w.ok("driver", "edit", "metro", "broken@metro.example", "--disable")
	if _, errs, code := w.run("trip", "hand-over", "metro", id, "--driver", "broken@metro.example"); code != 1 ||
		!strings.Contains(errs, "disabled") {
		t.Errorf("handed over to a disabled driver: %d %s", code, errs)
	}
	w.ok("trip", "unassign", "metro", id, "--reason", "ill")
	if _, errs, code := w.run("trip", "delete", "metro", id); code != 1 || !strings.Contains(errs, "cannot be deleted") {
		t.Errorf("deleted: %d %s", code, errs)
	}
	w.ok("trip", "cancel", "metro", id, "--reason", "no car")
	w.ok("trip", "delete", "metro", id)
	if _, errs, code := w.run("trip", "show", "metro", id); code != 1 {
		t.Errorf("a deleted trip is shown: %d %s", code, errs)
	}
}

// ride requests a ride and returns its id.
func (w *world) ride() string {
	w.Helper()
	var made struct{ ID string }
	out := call(w.T, "POST", w.base+"/api/v1/me/trips", w.token("rider", "rider1@metro.example"),
		`{"originAddress": "350 5th Ave", "originLat": 40.7484, "originLng": -73.9857}`, 201)
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		w.Fatal(err)
	}
	return made.ID
}

// TestTokenGet: svc token get reads the password from standard input, and uses
// the client again. svc token list shows names beside ids.
func TestTokenGet(t *testing.T) {
	t.Parallel()
	w := start(t)
	get := func() {
		t.Helper()
		var out, errs bytes.Buffer
		c := newCLI(&out, &errs)
		c.Stdin = strings.NewReader(demo.Password + "\n")
		args := []string{"token", "get", "--tenant", "metro", "--email", "operator@metro.example", "--data", w.data}
		if code := c.Run(t.Context(), args); code != 0 {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
		w.expect("/api/v1/trips", strings.TrimSpace(out.String()), 200, "")
	}
	get()
	get()
	if clients := read[[]struct{ Tokens int }](w, "client", "list", "metro"); len(clients) != 1 || clients[0].Tokens != 2 {
		t.Errorf("clients: %+v", clients)
	}
	out := w.ok("token", "list", "metro", "--wide")
	for _, want := range []string{"operator@metro.example", "Command line", "tenant.trips:read"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
	if out := w.ok("member", "list", "metro"); !strings.Contains(out, fmt.Sprintf("all (%d)", len(authz.Permissions()))) {
		t.Errorf("members: %s", out)
	}
	if out := w.ok("member", "list", "metro", "--wide"); !strings.Contains(out, "VIEW_TRIPS") {
		t.Errorf("members, wide: %s", out)
	}
}

// TestAddNeedsTheAddress: an account that needs a link is not made when the
// service's address is unknown.
func TestAddNeedsTheAddress(t *testing.T) {
	w := share(t)
	running := w.toTable()
	defer running()
	for _, args := range [][]string{
		{"member", "add", "metro", "new@metro.example", "--all"},
		{"driver", "add", "metro", "new@metro.example", "--first", "New"},
		{"rider", "add", "metro", "new@metro.example", "--first", "New"},
	} {
		var out, errs bytes.Buffer
		if code := newCLI(&out, &errs).Run(t.Context(), args); code != 1 || !strings.Contains(errs.String(), "set BASE_URL") {
			t.Errorf("svc %s: exit code %d, %s%s", strings.Join(args, " "), code, out.String(), errs.String())
		}
	}
	running()
	for _, args := range []string{"person find new@metro.example", "driver list metro", "rider list metro"} {
		if out, _, _ := w.run(strings.Fields(args)...); strings.Contains(out, "new@metro.example") {
			t.Errorf("an account was made: %s", out)
		}
	}
}

// toTable makes commands without --data reach the service as a table, with no
// address. The returned function undoes this.
func (w *world) toTable() func() {
	w.Helper()
	running, err := folder.Find(w.Context(), w.data)
	if err != nil {
		w.Fatal(err)
	}
	for name, value := range map[string]string{"TABLE_NAME": running.Table, "AWS_ENDPOINT_URL_DYNAMODB": running.Endpoint,
		"BASE_URL": ""} {
		w.Setenv(name, value)
	}
	return func() { w.Setenv("TABLE_NAME", "") }
}

// tripWithLog is a trip as --json prints it.
type tripWithLog struct {
	trip.Trip
	Log []trip.LogEntry `json:"log"`
}
