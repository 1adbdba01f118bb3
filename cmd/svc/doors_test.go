package main

import (
	"cmp"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/domain/machine"
)

// printedProgram returns the only program of a page in the language.
func printedProgram(t *testing.T, page, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	testkit.Must(t, err)
	found := regexp.MustCompile("(?s)\n```"+language+"\n(.*?\n)```\n").FindAllStringSubmatch(string(text), -1)
	if len(found) != 1 {
		t.Fatalf("%s has %d programs in %s", page, len(found), language)
	}
	return found[0][1]
}

// TestPrintedDoors runs the commands by which docs/integrators.md makes a machine, and those by
// which docs/clients.md uses it.
func TestPrintedDoors(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	c := newCheckout(t)
	made := printed(t, "docs/integrators.md", "## 2. A machine")
	used := printed(t, "docs/clients.md", "## Which door is yours")
	if len(made) != 1 || len(used) == 0 {
		t.Fatalf("%q %q", made, used)
	}
	out := c.bash(made[0] + "\n" + used[0])
	for _, want := range []string{`"tripCode"`, "svc_list_trips"} {
		if !strings.Contains(out, want) {
			t.Errorf("the commands print no %s: %s", want, out)
		}
	}
}

// TestReaderOfTheFeed runs the program of docs/integrators.md for a minute, or for SVC_READER
// (1h), while its secret is replaced again and again. The program ends at the first request that
// fails. It must miss no event.
func TestReaderOfTheFeed(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	c := newCheckout(t)
	length, err := time.ParseDuration(cmp.Or(os.Getenv("SVC_READER"), "1m"))
	testkit.Must(t, err)
	c.bash(printed(t, "docs/integrators.md", "## 2. A machine")[0])
	file := filepath.Join(c.dir, "credentials")
	text, err := os.ReadFile(file)
	testkit.Must(t, err)
	client, _, _ := strings.Cut(string(text), ":")
	_, id, _ := machine.ParseClientID(client)
	program := printedProgram(t, "docs/integrators.md", "python")
	if n := strings.Count(program, "\n"); n > 21 {
		t.Errorf("the program has %d lines", n)
	}
	if length < 45*time.Minute { // else no token is renewed
		program = strings.Replace(program, "- 60", "- 898", 1)
	}
	testkit.Must(t, os.WriteFile(filepath.Join(c.dir, "reader.py"), []byte(program), 0o600))
	python, err := filepath.Abs("../../.cache/python/bin/python")
	testkit.Must(t, err)
	var out, errs lines
	reader := exec.CommandContext(t.Context(), python, "-B", "reader.py")
	reader.Dir, reader.Stdout, reader.Stderr = c.dir, &out, &errs
	reader.Env = append(os.Environ(), "SVC_URL="+c.base, "CREDENTIALS="+file)
	testkit.Must(t, reader.Start())
	ended := make(chan error, 1)
	go func() { ended <- reader.Wait() }()
	made, replaced := 0, 0
	for began, last := time.Now(), time.Now(); time.Since(began) < length; time.Sleep(min(10*time.Second, length/60)) {
		c.ok("trigger", "metro", "driver.status_changed") // as often as wanted
		made++
		if time.Since(last) > length/3 { // longer than a token lives
			last = time.Now()
			replaced++
			c.replaceSecret(id, client, file)
		}
		select {
		case err := <-ended:
			t.Fatalf("after %v and %d secrets: %v\n%s", time.Since(began), replaced, err, errs.text())
		default:
		}
	}
	c.ok("verify") // the stream functions have written everything
	c.readAll(&out)
	_ = reader.Process.Kill()
	if replaced < 2 || made < 10 {
		t.Errorf("%d secrets were replaced, %d changes made", replaced, made)
	}
	if status := c.status(file); status != http.StatusOK {
		t.Errorf("the last secret gets %d", status)
	}
}

// replaceSecret gives the machine another secret, which its program finds in the file. Of three
// the first would be too many.
func (c *checkout) replaceSecret(id, client, file string) {
	c.Helper()
	if m := read[machine.Machine](c.world, "machine", "get", "metro", id); len(m.Secrets) > 1 {
		c.ok("machine", "remove-secret", "metro", id, m.Secrets[0].ID)
	}
	next := read[machine.NewMachineSecret](c.world, "machine", "add-secret", "metro", id, "--overlap-hours", "1").Secret
	testkit.Must(c, os.WriteFile(file+".next", []byte(client+":"+next+"\n"), 0o600))
	testkit.Must(c, os.Rename(file+".next", file))
}

// readAll waits until the reader has printed the whole feed. Nothing may be missing, come twice
// or be out of order.
func (c *checkout) readAll(out *lines) {
	c.Helper()
	token, want := c.token("dashboard", "operator@metro.example"), ""
	for after, more := "earliest", true; more; {
		q, err := http.NewRequest(http.MethodGet, c.base+"/api/v1/events?limit=200&after="+after, nil)
		testkit.Must(c, err)
		q.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(q)
		testkit.Must(c, err)
		var page struct {
			Items   []struct{ ID, Type string }
			Cursor  string
			HasMore bool `json:"has_more"`
		}
		testkit.Must(c, json.NewDecoder(res.Body).Decode(&page))
		_ = res.Body.Close()
		for _, e := range page.Items {
			want += e.ID + " " + e.Type + "\n"
		}
		after, more = page.Cursor, page.HasMore
	}
	for deadline := time.Now().Add(testkit.Patience); out.text() != want; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.Fatalf("the reader printed %d bytes, the feed has %d", len(out.text()), len(want))
		}
	}
}

// status asks for a token with the credentials in the file.
func (c *checkout) status(file string) int {
	c.Helper()
	text, err := os.ReadFile(file)
	testkit.Must(c, err)
	client, secret, _ := strings.Cut(strings.TrimSpace(string(text)), ":")
	_, status := c.machineToken(client, secret)
	return status
}
