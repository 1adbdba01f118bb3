package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/trip"
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
	says(c.bash(recipe("Add a dispatcher")), "/oauth/join?", "invited", "Granted")
	drivers := map[string]string{} // their ids
	for _, one := range read[[]struct{ ID, Email string }](c.world, "driver", "list", "bay") {
		name, _, _ := strings.Cut(one.Email, "@")
		drivers[name] = one.ID
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
	firstWeek(c, recipe, says)
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

// firstWeek runs what a new company does in its first days.
func firstWeek(c *checkout, recipe func(string) string, says func(out string, want ...string)) {
	c.bash(recipe("Draw a zone"))
	says(c.ok("zone", "list", "bay"), "Downtown")
	if out, err := c.tryBash("svc trip book bay --rider rider1@bay.example --from Nowhere --at 40,-122.4"); err == nil {
		c.Errorf("a ride begins outside of the zone: %s", out)
	}
	call := c.bash(recipe("Book by phone"))
	says(call, "Booked trip", "PENDING")
	if strings.Contains(call, "settles at 0") {
		c.Errorf("the ride has no price: %s", call)
	}
	says(c.ok("rider", "list", "bay"), "Iris Novak")
	says(c.bash(recipe("Import customers")), "1 created", "0 failed")
	says(c.ok("rider", "list", "bay"), "sam@people.example")
	for _, kind := range imports.Kinds() {
		c.columns(kind)
	}
	says(c.bash(recipe("Add a webhook")), "whsec_", "pending")
	says(c.bash(recipe("Pay a driver")), "Posted 50 USD", "A bonus", "Posted -20 USD")
	says(c.bash(recipe("Get a driver's statement of a month")), "2026-01", "America/Los_Angeles")
	page, err := os.ReadFile(filepath.Join(c.dir, "january.html"))
	if err != nil || !strings.Contains(string(page), "<html") {
		c.Errorf("january.html: %v %s", err, page)
	}
	c.bash(recipe("Show streets on the map"))
	says(c.ok("tenant", "settings", "bay"), "tiles.bay.example", "OpenStreetMap")
}

// columns checks that the page of imports names the columns of the kind, and no other.
func (c *checkout) columns(kind string) {
	c.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "imports.md"))
	if err != nil {
		c.Fatal(err)
	}
	_, row, _ := strings.Cut(string(page), "\n| `"+kind+"` | ")
	row, _, _ = strings.Cut(row, " |")
	out, err := c.tryBash("printf 'none\\n1\\n' > none.csv; svc import none.csv --tenant bay --kind " + kind)
	_, known, _ := strings.Cut(out, "Known columns: ")
	known, _, _ = strings.Cut(known, ".")
	if err == nil || known == "" || strings.ReplaceAll(row, "`", "") != known {
		c.Errorf("docs/imports.md has for %s the columns %s, and svc %s", kind, row, out)
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
	if len(blocks) != 1 || strings.Count(blocks[0], "TOKEN_ID")+strings.Count(blocks[0], "TRIP_CODE") != 2 {
		t.Fatalf("README prints %q", blocks)
	}
	out := c.bash(strings.NewReplacer("TOKEN_ID", token[0].ID, "TRIP_CODE", open[0].TripCode).Replace(blocks[0]))
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
	"docs/clients.md": "the tests of pkg/app/generated, TestPrintedDoors", "docs/how-to.md": "TestPrintedHowTo",
	"docs/integrators.md": "TestPrintedDoors, TestReaderOfTheFeed",
	"docs/oauth.md":       "TestMachineCommands",
	"docs/imports.md":     "imports.TestFilesOfOtherSystems",
	"docs/tutorial.md":    "TestPrintedTutorial", "docs/operations/first-deployment.md": "localstack/walk.sh",
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
