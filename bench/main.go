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

// options are the command line.
type options struct {
	sizes    []int  // trips of the tenants that every endpoint is measured in
	lists    int    // trips of one more, for the lists alone; 0 for none
	reads    int    // requests of each reading endpoint and size
	writes   int    // of each writing one
	only     string // part of the endpoints' names
	document string
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
	flags.IntVar(&o.reads, "reads", 200, "requests of each reading endpoint and size")
	flags.IntVar(&o.writes, "writes", 60, "requests of each writing endpoint and size")
	flags.StringVar(&o.only, "only", "", "measure the endpoints whose names hold this, and write no document")
	flags.StringVar(&o.document, "document", "docs/performance.md", "where the tables go")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for text := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 10 {
			return o, fmt.Errorf("-sizes: %q is no number of trips (at least 10)", text)
		}
		o.sizes = append(o.sizes, n)
	}
	if o.reads < 1 || o.writes < 1 {
		return o, fmt.Errorf("-reads and -writes: at least 1")
	}
	return o, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
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
	for _, c := range endpoints {
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
