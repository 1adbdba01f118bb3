package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestExitCodes(t *testing.T) {
	tests := []struct {
		name string
		args []string
		env  map[string]string
		code int
		out  string
		err  string
	}{
		{name: "help", args: []string{"--help"}, code: 0, out: "svc [command]"},
		{name: "no command is help", code: 0, out: "svc [command]"},
		{name: "unknown command", args: []string{"fly"}, code: 2, err: `unknown command "fly"`},
		{name: "unknown command with a flag", args: []string{"trip", "fly", "bay", "--driver", "a@b.example"}, code: 2,
			err: `unknown command "fly" for "svc trips"`},
		{name: "unknown flag of a group", args: []string{"trip", "--wings"}, code: 2, err: "unknown flag: --wings"},
		{name: "dead letters of no function", args: []string{"dlq", "list", "dispatch"}, code: 2,
			err: `"dispatch" has no queue of dead letters; expected settlement, projection or due`},
		{name: "unknown flag", args: []string{"dev", "--wings"}, code: 2, err: "--wings"},
		{name: "an argument too many", args: []string{"dev", "now"}, code: 2, err: "now"},
		{name: "port that is no number", args: []string{"dev", "--port", "http"}, code: 2, err: "--port"},
		{name: "port out of range", args: []string{"dev", "--port", "70000"}, code: 2, err: "70000"},
		{name: "PORT that is none", args: []string{"dev"}, env: map[string]string{"PORT": "http"}, code: 2, err: "PORT"},
		{name: "arguments that are missing", args: []string{"driver", "add", "metro"}, code: 2,
			err: `expected SLUG EMAIL, got ["metro"]`},
		{name: "no argument", args: []string{"audit"}, code: 2, err: "expected SLUG, got nothing"},
		{name: "no such status", args: []string{"driver", "list", "metro", "--status", "LOST"}, code: 2,
			err: "expected OFFLINE, ONLINE, BUSY"},
		{name: "no such status of orders", args: []string{"order", "list", "metro", "--status", "LOST"}, code: 2,
			err: "expected PENDING"},
		{name: "failure", args: []string{"dev", "--data", "/dev/null/data"}, code: 1, err: "data folder"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("PORT", "0")
			for k, v := range tc.env {
				t.Setenv(k, v)
			}
			var out, errs bytes.Buffer
			code := newCLI(&out, &errs).Run(t.Context(), tc.args)
			if code != tc.code {
				t.Errorf("exit code %d, want %d: %s", code, tc.code, errs.String())
			}
			if !strings.Contains(out.String(), tc.out) {
				t.Errorf("output: %s", out.String())
			}
			if !strings.Contains(errs.String(), tc.err) || strings.Count(errs.String(), "\n") > 1 {
				t.Errorf("error output: %q", errs.String())
			}
		})
	}
}

// Every command has a description and an example.
func TestHelp(t *testing.T) {
	for _, cmd := range newCLI(nil, nil).Root().Commands() {
		for _, leaf := range append(cmd.Commands(), cmd) {
			if leaf.Short == "" || !leaf.HasSubCommands() && leaf.Example == "" {
				t.Errorf("%s lacks its help or an example", leaf.CommandPath())
			}
		}
	}
}

func TestDevStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &stopping{stop: cancel}
	var errs bytes.Buffer
	args := []string{"dev", "--memory", "--no-demo", "--port", "0", "--data", t.TempDir()}
	if code := newCLI(out, &errs).Run(ctx, args); code != 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if !strings.Contains(out.String(), "http://127.0.0.1:") {
		t.Errorf("output: %s", out.String())
	}
}

// stopping is an output that stops the command when the first line is written.
type stopping struct {
	bytes.Buffer
	stop context.CancelFunc
}

func (s *stopping) Write(p []byte) (int, error) {
	defer s.stop()
	return s.Buffer.Write(p)
}
