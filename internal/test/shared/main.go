// Command shared starts one engine in memory, which SVC_ENGINE selects, and runs a command whose tests all use it.
//
//	shared go test PACKAGES
//
// DynamoDB Local is slow until the JVM has compiled its code, so one engine for all test processes takes less processor
// time than one engine for each.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"svc/pkg/local/engine"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "shared:", err)
		code = 1
	}
	os.Exit(code)
}

// run starts the engine, runs the command with the engine's address in its environment,
// and returns its exit code.
func run(command []string) (code int, err error) {
	if len(command) == 0 {
		return 0, errors.New("expected a command, such as go test and its packages")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	e, err := engine.Start(ctx, engine.Options{Memory: true, Direct: true})
	if err != nil {
		return 0, err
	}
	defer e.Stop()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // a developer's
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL_DYNAMODB="+e.URL)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		return 0, err
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code, nil
	}
	return 1, nil // a signal ended it
}
