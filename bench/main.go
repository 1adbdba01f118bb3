package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

// options are the command-line options.
type options struct {
	cpu, check    bool // measure processor time; only compare the allocations
	ceilings      bool // count the units at each key
	soak          bool // drive load against svc dev
	only          string
	rounds, reads int
	minutes       float64
	rides         float64  // a second
	revisions     []string // whose builds are measured; "" is the working tree
	environment   []string // extra variables for the functions of the first build
	document      string   // file of the tables
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

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&o.cpu, "cpu", false, "measure processor time and allocations of the built functions")
	flags.BoolVar(&o.check, "check", false, "with -cpu: fail if an endpoint allocates over 10 % more than in the "+
		"last make cpu, and write no document")
	flags.BoolVar(&o.ceilings, "ceilings", false, "count units and hottest keys, and what operations cost")
	flags.BoolVar(&o.soak, "soak", false, "drive mixed load against bin/svc dev on disk")
	flags.StringVar(&o.only, "only", "", "measure the endpoints whose names contain this, and write no document")
	flags.IntVar(&o.rounds, "rounds", 9, "with -cpu: rounds, in which the builds take turns")
	flags.IntVar(&o.reads, "reads", 200, "with -cpu: events of a round")
	flags.Float64Var(&o.minutes, "minutes", 60, "with -soak: how long; under 10, write no document")
	flags.Float64Var(&o.rides, "rides", 2, "with -soak: rides a second, each with about ten requests")
	base := flags.String("base", "", "with -cpu: a git revision to build and measure beside the working tree")
	env := flags.String("env", "", "with -cpu: NAME=value for the working tree's functions, separated by blanks; "+
		"-base . measures the same tree without them")
	flags.StringVar(&o.document, "document", "docs/tables.md", "file of the tables")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.reads < 1 || o.rounds < 1 {
		return o, errors.New("-reads and -rounds must be at least 1")
	}
	o.environment = strings.Fields(*env)
	o.revisions = []string{""}
	if *base != "" {
		o.revisions = append(o.revisions, *base)
	}
	return o, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	switch {
	case err != nil:
		return err
	case o.cpu:
		return runCPU(ctx, o)
	case o.ceilings:
		return runCeilings(ctx, o)
	case o.soak:
		return runSoak(ctx, o)
	}
	return errors.New("say what to measure: -cpu, -ceilings or -soak (make lists the commands)")
}
