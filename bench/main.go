package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
)

// options are the command-line options; parse describes them.
type options struct {
	cpu, check, soak bool
	only, base       string
	rounds, reads    int
	minutes          float64
}

// chosen returns the endpoints whose names contain the value of -only.
func (o options) chosen(all []endpoint) []endpoint {
	return slices.DeleteFunc(all, func(e endpoint) bool { return !strings.Contains(e.Name, o.only) })
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// parse reads the command line.
func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&o.cpu, "cpu", false, "measure processor time and allocations of the built functions")
	flags.BoolVar(&o.check, "check", false, "with -cpu: fail if an endpoint allocates over 10 % more than in the "+
		"last make cpu, and write no file")
	flags.BoolVar(&o.soak, "soak", false, "drive mixed load against bin/svc dev on disk")
	flags.StringVar(&o.only, "only", "", "measure the endpoints whose names contain this, and write no file")
	flags.IntVar(&o.rounds, "rounds", 9, "with -cpu: rounds, in which the builds take turns")
	flags.IntVar(&o.reads, "reads", 200, "with -cpu: events of a round")
	flags.Float64Var(&o.minutes, "minutes", 60, "with -soak: how long")
	flags.StringVar(&o.base, "base", "", "with -cpu: a git revision to build and measure beside the working tree")
	if err = flags.Parse(args); err == nil && (o.reads < 1 || o.rounds < 1) {
		err = errors.New("-reads and -rounds must be at least 1")
	}
	return o, err
}

// run parses the command line and makes the measurement that it selects.
func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	switch {
	case err != nil:
		return err
	case o.cpu:
		return runCPU(ctx, o)
	case o.soak:
		return runSoak(ctx, o)
	}
	return errors.New("say what to measure: -cpu or -soak (make lists the commands)")
}
