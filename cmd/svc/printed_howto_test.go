package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc/pkg/domain/trip"
	"svc/pkg/local/testkit"
)

// TestPrintedHowTo runs the recipes of docs/how-to.md as printed, on the company that the first one makes.
// The last one to run deletes the company.
func TestPrintedHowTo(t *testing.T) {
	testkit.Long(t)
	const page, code = "docs/how-to.md", "K5KW91N3"
	c := newCheckout(t)
	recipe := func(heading string) string {
		t.Helper()
		blocks := printed(t, page, "## "+heading)
		if len(blocks) != 1 {
			t.Fatalf("%s prints %d blocks of commands, want 1", heading, len(blocks))
		}
		return blocks[0]
	}
	says := func(out string, want ...string) {
		t.Helper()
		for _, text := range want {
			if !strings.Contains(out, text) {
				t.Errorf("no %q: %s", text, out)
			}
		}
	}
	says(c.bash(recipe("Add the first tenant")), "bay", "boss@bay.example", "/oauth/password?", "Car")
	c.ok("rider", "add", "bay", "rider1@bay.example", "--first", "Rita")
	drivers := map[string]string{} // their ids
	for _, name := range []string{"driver1", "driver2"} {
		drivers[name] = read[struct{ ID string }](c.world, "driver", "add", "bay", name+"@bay.example", "--first", name).ID
	}
	waits, runs := c.booked("DRIVER_ARRIVED"), c.booked("IN_PROGRESS")
	stuck := strings.Split(recipe("Help with a trip that is stuck"), "\n")
	for i, step := range []struct{ trip, want string }{{runs, runs}, {waits, drivers["driver1"]},
		{waits, drivers["driver2"]}, {runs, "COMPLETED"}, {waits, "CANCELLED"}} {
		c.bash(strings.ReplaceAll(stuck[i], code, step.trip))
		says(c.ok("trip", "show", "bay", step.trip), step.want)
	}
	if len(stuck) != 5 {
		t.Errorf("%d commands help with a trip that is stuck; this test runs 5", len(stuck))
	}
	says(c.bash(strings.ReplaceAll(recipe("Correct a fare, give money back"), code, runs)), "17.5", "REFUND", "Sorry")
	c.bash(recipe("Get reports and lists out"))
	for _, file := range []string{"january.csv", "trips.csv"} {
		text, err := os.ReadFile(filepath.Join(c.dir, file))
		if err != nil || !strings.Contains(string(text), ",") {
			t.Errorf("%s: %v %s", file, err, text)
		}
	}
	says(c.bash(recipe("Delete a tenant")), "bay")
	if out := c.ok("tenant", "list"); strings.Contains(out, "bay") {
		t.Errorf("the tenant is still there: %s", out)
	}
}

// booked books a ride in the company bay, brings it to the status, and returns its code.
func (c *checkout) booked(status string) string {
	c.Helper()
	ride := read[trip.Trip](c.world, "trip", "book", "bay", "--rider", "rider1@bay.example", "--from", "1 Pier",
		"--at", "37.8,-122.4")
	c.ok("trip", "move", "bay", ride.ID, "ASSIGNED", "--driver", "driver1@bay.example")
	for _, next := range []string{"DRIVER_ARRIVED", "IN_PROGRESS"} {
		c.ok("trip", "move", "bay", ride.ID, next)
		if next == status {
			break
		}
	}
	return ride.TripCode
}

// TestPrintedAdministration runs the commands with which README shows svc.
func TestPrintedAdministration(t *testing.T) {
	testkit.Long(t)
	c := newCheckout(t)
	c.token("rider", "rider1@metro.example")
	token := read[[]struct {
		ID string
	}](c.world, "token", "list", "metro")
	open := read[[]trip.Trip](c.world, "trip", "list", "metro", "--status", "PENDING")
	if len(token) == 0 || len(open) == 0 {
		t.Fatal(token, open)
	}
	blocks := printed(t, "README.md", "## Administer it")
	if len(blocks) != 1 || strings.Count(blocks[0], "<") != 2 {
		t.Fatalf("README prints %q", blocks)
	}
	out := c.bash(strings.NewReplacer("<jti>", token[0].ID, "<id>", open[0].ID).Replace(blocks[0]))
	for _, want := range []string{"Changed tenant metro", "permissions left", token[0].ID, "CANCELLED", "Usage"} {
		if !strings.Contains(out, want) {
			t.Errorf("README's commands print no %s: %s", want, out)
		}
	}
}

// run names what runs the shell commands of each page.
var run = map[string]string{
	"README.md":       "TestPrintedFirstCall, TestPrintedAdministration, make bare-root; make targets are CI's own",
	"CONTRIBUTING.md": "make bare-root", "docs/endpoint.md": "make targets and go test, which are CI's own steps",
	"docs/languages.md": "the same", "docs/agents.md": "agents.TestPrintedAgentsPage",
	"docs/clients.md": "the tests of pkg/app/generated", "docs/how-to.md": "TestPrintedHowTo",
	"docs/tutorial.md": "TestPrintedTutorial", "docs/operations/first-deployment.md": "localstack/walk.sh",
	"docs/operations/backup.md":   "AWS only; docs/operations/walked.md says what was tried",
	"docs/operations/deploy.md":   "AWS only; the same",
	"docs/operations/protect.md":  "AWS only; the same",
	"docs/operations/switches.md": "AWS only; the same",
	"events/README.md":            "sam local, a step of CI",
}

// TestEveryShellBlockIsRun: a page with commands names what runs them, so a new one gets its test.
func TestEveryShellBlockIsRun(t *testing.T) {
	root := filepath.Join("..", "..")
	out, err := exec.Command("git", "-C", root, "ls-files", "*.md").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	var with []string
	for file := range strings.FieldsSeq(string(out)) {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "```sh") {
			with = append(with, file)
			if run[file] == "" {
				t.Errorf("nothing runs the commands of %s: write a test that does, and name it in this file", file)
			}
		}
	}
	for file := range run {
		if !slices.Contains(with, file) {
			t.Errorf("%s has no commands any more", file)
		}
	}
}
