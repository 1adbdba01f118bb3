package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // for systems without the zones
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() { // a second Ctrl-C exits at once
		<-ctx.Done()
		stop()
	}()
	code := newCLI(os.Stdout, os.Stderr).run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
