package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
)

// options are the command-line options.
type options struct {
	sizes    []int  // trips of the tenants in which every endpoint is measured
	lists    int    // trips of one more tenant, for lists; 0 for none
	reads    int    // requests to each reading endpoint, per size; with -cpu and -memory events of a round
	writes   int    // requests to each writing endpoint, per size
	only     string // measure only endpoints whose names contain this, and write no document
	document string // file of the tables; -model always writes docs/model.md

	ceilings    bool     // count the units at each key instead
	model       bool     // simulate the table instead
	memory      bool     // measure functions of several sizes instead
	cpu         bool     // measure processor time instead
	agents      bool     // measure only tool calls, beside their requests
	check       bool     // compare allocations with those that make cpu stored, and write no document
	rounds      int      // rounds of -cpu, -memory and -concurrency
	concurrency bool     // compare processes that handle many events with those that handle one
	soak        bool     // drive load against svc dev instead
	minutes     float64  // how long -soak lasts
	rides       float64  // rides a second of -soak
	revisions   []string // whose builds are measured; "" is the working tree
	environment []string // extra variables for the functions of the first build
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
	sizes := flags.String("sizes", "100,10000,100000", "trips of the tenants, separated by commas")
	flags.IntVar(&o.lists, "lists", 0, "trips of one more tenant, for the lists alone (1000000 takes long)")
	flags.IntVar(&o.reads, "reads", 200, "requests of each reading endpoint and size; with -cpu and -memory: events "+
		"of a round")
	flags.IntVar(&o.writes, "writes", 60, "requests of each writing endpoint and size")
	flags.StringVar(&o.only, "only", "", "measure the endpoints whose names contain this, and write no document")
	flags.BoolVar(&o.cpu, "cpu", false, "measure processor time and allocations of the built functions instead")
	flags.BoolVar(&o.model, "model", false, "simulate the table with the traces of the last -ceilings instead")
	flags.BoolVar(&o.memory, "memory", false, "measure the built functions with the processor shares of several "+
		"sizes instead (needs root)")
	flags.BoolVar(&o.ceilings, "ceilings", false, "count units and hottest keys, and what operations cost, instead")
	flags.BoolVar(&o.concurrency, "concurrency", false, "compare one process that handles 64 events at once with 64 "+
		"processes instead")
	flags.BoolVar(&o.soak, "soak", false, "drive mixed load against bin/svc dev on disk instead")
	flags.Float64Var(&o.minutes, "minutes", 60, "with -soak: how long; under 10, write no document")
	flags.Float64Var(&o.rides, "rides", 2, "with -soak: rides a second, each with about ten requests")
	flags.BoolVar(&o.agents, "agents", false, "with -cpu: measure only tool calls of the MCP server beside their requests")
	flags.BoolVar(&o.check, "check", false, "with -cpu: fail if an endpoint allocates over 10 % more than in the "+
		"last make cpu, and write no document")
	flags.IntVar(&o.rounds, "rounds", 9, "with -cpu and -memory: rounds of at most -reads events, in which the "+
		"builds or sizes take turns; with -concurrency: rounds")
	base := flags.String("base", "", "with -cpu: a git revision to build and measure beside the working tree")
	env := flags.String("env", "", "with -cpu: NAME=value for the working tree's functions, separated by blanks; "+
		"-base . measures the same tree without them")
	flags.StringVar(&o.document, "document", "docs/performance.md", "file of the tables; -model always writes "+
		"docs/model.md")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for text := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 10 {
			return o, fmt.Errorf("-sizes: %q is not a number of trips of at least 10", text)
		}
		o.sizes = append(o.sizes, n)
	}
	if o.reads < 1 || o.writes < 1 {
		return o, fmt.Errorf("-reads and -writes must be at least 1")
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
	if err != nil {
		return err
	}
	switch {
	case o.cpu:
		return runCPU(ctx, o)
	case o.model:
		return runModel(o)
	case o.memory:
		return runMemory(ctx, o)
	case o.ceilings:
		return runCeilings(ctx, o)
	case o.concurrency:
		return runConcurrency(ctx, o)
	case o.soak:
		return runSoak(ctx, o)
	}
	measured, err := endpoints()
	if err != nil {
		return err
	}
	machine := describe()
	var worlds []*world
	defer func() {
		for _, w := range worlds {
			w.close()
		}
	}()
	for _, n := range o.sizes {
		w, err := newWorld(ctx, n, false)
		if err != nil {
			return fmt.Errorf("%d trips: %w", n, err)
		}
		worlds = append(worlds, w)
	}
	if o.lists > 0 {
		w, err := newWorld(ctx, o.lists, true)
		if err != nil {
			return fmt.Errorf("%d trips: %w", o.lists, err)
		}
		worlds = append(worlds, w)
	}
	var all []row
	for _, c := range measured {
		if !strings.Contains(c.name, o.only) {
			continue
		}
		r, err := measure(ctx, c, worlds, o)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Fprintln(os.Stderr, r.line())
		all = append(all, r)
	}
	if o.only != "" {
		return nil
	}
	return document(o, machine, worlds, all)
}
