package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"svc/pkg/table"
)

// edits collects flags that change one thing each, when they are given.
type edits[T any] struct {
	cmd   *cobra.Command
	steps []func(*T) error
}

// text is a flag whose value is put into a field.
func (e *edits[T]) text(name, usage string, field func(*T) *string) {
	value := e.cmd.Flags().String(name, "", usage)
	e.step(name, func(to *T) error {
		*field(to) = *value
		return nil
	})
}

// optional is a flag for a field that may be null, which "" makes it.
func (e *edits[T]) optional(name, usage string, field func(*T) **string) {
	value := e.cmd.Flags().String(name, "", usage)
	e.step(name, func(to *T) error {
		*field(to) = nil
		if *value != "" {
			*field(to) = value
		}
		return nil
	})
}

// number is a flag for an exact number.
func (e *edits[T]) number(name, usage string, field func(*T) *json.Number) {
	value := e.cmd.Flags().String(name, "", usage)
	e.step(name, func(to *T) error {
		*field(to) = json.Number(strings.TrimSpace(*value))
		return nil
	})
}

// maybe is a flag for an exact number that may be null, which "" makes it.
func (e *edits[T]) maybe(name, usage string, field func(*T) **json.Number) {
	value := e.cmd.Flags().String(name, "", usage)
	e.step(name, func(to *T) error {
		*field(to) = nil
		if *value != "" {
			n := json.Number(strings.TrimSpace(*value))
			*field(to) = &n
		}
		return nil
	})
}

// whole is a flag for an integer.
func (e *edits[T]) whole(name, usage string, field func(*T) *int) {
	value := e.cmd.Flags().Int(name, 0, usage)
	e.step(name, func(to *T) error {
		*field(to) = *value
		return nil
	})
}

// flag is a flag that is on or off.
func (e *edits[T]) flag(name, usage string, field func(*T) *bool) {
	value := e.cmd.Flags().Bool(name, false, usage)
	e.step(name, func(to *T) error {
		*field(to) = *value
		return nil
	})
}

// given says in the help what holds where a flag is left out.
func (e *edits[T]) given(name, value string) { e.cmd.Flags().Lookup(name).DefValue = value }

// step runs when the flag was given.
func (e *edits[T]) step(name string, do func(*T) error) {
	e.steps = append(e.steps, func(to *T) error {
		if !e.cmd.Flags().Changed(name) {
			return nil
		}
		return do(to)
	})
}

// apply makes the changes that the flags ask for.
func (e *edits[T]) apply(to *T) error {
	for _, step := range e.steps {
		if err := step(to); err != nil {
			return err
		}
	}
	return nil
}

// change is the code of a command that changes something of a tenant, whose
// slug comes first: f runs when a flag says what.
func (e *edits[T]) change(c *cli, f func(ctx context.Context, t table.Tenant, args []string) error) func(*cobra.Command, []string) error {
	return act(func(ctx context.Context, args []string) error {
		if err := e.needed(); err != nil {
			return err
		}
		_, t, err := c.at(ctx, args[0])
		if err != nil {
			return err
		}
		return f(ctx, t, args)
	})
}

// needed is a usage error when no flag of the command's own was given.
func (e *edits[T]) needed() error {
	given := false
	e.cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { given = given || f.Changed })
	if !given {
		return usagef("nothing to change: give a flag")
	}
	return nil
}
