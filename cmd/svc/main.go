package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // for systems without the zones

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
	c.registry = folder.Registry()
	code := c.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
