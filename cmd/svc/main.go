package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // for systems without the zones

	"svc/cmd/svc/cli"
	"svc/cmd/svc/company"
	"svc/cmd/svc/dev"
	"svc/cmd/svc/health"
	"svc/cmd/svc/operation"
	"svc/cmd/svc/people"
	"svc/cmd/svc/remote"
	"svc/cmd/svc/repair"
	"svc/pkg/local/folder"
)

func main() {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it, so that the process outlives its terminal
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	go func() { // a second Ctrl-C exits at once
		<-ctx.Done()
		stop()
	}()
	c := newCLI(os.Stdout, os.Stderr)
	c.Registry = folder.Registry()
	code := c.Run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// newCLI returns the command line with every command. operation is the last package, because it
// adds commands to the groups of the others.
func newCLI(out, err io.Writer) *cli.CLI {
	return cli.New(version(), out, err, dev.Add, health.Add, repair.Add, people.Add, company.Add, remote.Add, addVersion,
		operation.Add)
}
