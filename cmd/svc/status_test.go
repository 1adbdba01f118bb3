package main

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/cmd/svc/cli"
)

// TestStatus: svc status names the service that commands reach. Other tests add tenants to it.
func TestStatus(t *testing.T) {
	w := share(t)
	s := read[struct {
		Address, Table, Tenants string
		Keys                    []struct{ KID string }
		Lag, DeadLetters        map[string]string
	}](w, "status")
	tenants, err := strconv.Atoi(s.Tenants)
	if err != nil || tenants < 3 || s.Address != w.base || s.Table == "" || len(s.Keys) == 0 ||
		s.DeadLetters["settlement"] != "0" {
		t.Errorf("%+v", s)
	}
	for _, word := range []string{"settlement", "projection"} {
		if _, err := time.ParseDuration(s.Lag[word]); err != nil {
			t.Errorf("lag of %s: %q", word, s.Lag[word])
		}
	}
	if out := w.ok("status"); !strings.Contains(out, "the service on the data folder "+w.data) {
		t.Errorf("%s", out)
	}
}

// TestDoctor: on a machine without the programs, svc doctor names them and says
// how to get them.
func TestDoctor(t *testing.T) {
	var out, errs bytes.Buffer
	data := t.TempDir()
	t.Setenv("PATH", data)
	t.Setenv("CHROME", "")
	code := newCLI(&out, &errs).Run(t.Context(), []string{"doctor", "--data", data})
	for _, want := range []string{"go  ", "no   run", "make test fetches one", "pip install aws-sam-cli"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %s", want, out.String())
		}
	}
	if code != cli.ExitFailure || !strings.Contains(errs.String(), "cannot run") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}
