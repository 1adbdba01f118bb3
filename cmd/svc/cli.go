package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"svc/pkg/local"
)

// cli is what every command shares.
type cli struct {
	out, err io.Writer
	// data is the data folder of the service that the command is about.
	data string
	// json asks for output that programs read.
	json bool

	ran bool // a command's own code was reached: arguments and flags were right
}

// usageError is an error in how svc was called; its exit code is 2.
type usageError struct{ error }

// usagef makes an error in how svc was called.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func newCLI(out, err io.Writer) *cli { return &cli{out: out, err: err} }

// run runs one command line and returns the exit code.
func (c *cli) run(ctx context.Context, args []string) int {
	root := c.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	var usage usageError
	if errors.As(err, &usage) {
		err = usage // what was going on when it was found out is no help
	}
	said, _, _ := strings.Cut(err.Error(), ": strconv.") // a flag's value that is no number
	line := strings.Join(strings.Fields(strings.ReplaceAll(said, "\n", "; ")), " ")
	if !c.ran || usage.error != nil {
		fmt.Fprintf(c.err, "svc: %s (see %s --help)\n", line, cmd.CommandPath())
		return 2
	}
	fmt.Fprintf(c.err, "svc: %s\n", line)
	return 1
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "svc",
		Short:         "Run and operate the mobility and delivery service",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.PersistentFlags().StringVar(&c.data, "data", local.DefaultData, "data `folder` of the service")
	root.PersistentFlags().BoolVar(&c.json, "json", false, "print JSON, for programs")
	for _, command := range commands {
		root.AddCommand(command(c))
	}
	c.prepare(root)
	return root
}

// prepare notes when a command's own code is reached, has groups refuse words
// that are none of their commands, and names the arguments that are expected.
func (c *cli) prepare(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		c.prepare(sub)
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if check(cmd, args) == nil {
				return nil
			}
			return expected(cmd, args)
		}
	}
	switch run := cmd.RunE; {
	case run != nil:
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			c.ran = true
			return run(cmd, args)
		}
	case cmd.HasSubCommands():
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q for %q", args[0], cmd.CommandPath())
			}
			return cmd.Help()
		}
	}
}

// expected says which arguments a command wants, and what it was given.
func expected(cmd *cobra.Command, args []string) error {
	given := "nothing"
	if len(args) > 0 {
		given = fmt.Sprintf("%q", args)
	}
	_, wanted, _ := strings.Cut(cmd.Use, " ")
	if wanted == "" {
		wanted = "no arguments"
	}
	return usagef("expected %s, got %s", wanted, given)
}

// printJSON prints v for programs.
func (c *cli) printJSON(v any) error {
	enc := json.NewEncoder(c.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
