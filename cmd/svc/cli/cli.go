package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"svc/pkg/base/config"
	"svc/pkg/base/plaintext"
	"svc/pkg/local/folder"
)

// CLI is the state that all commands share.
type CLI struct {
	Out, Err io.Writer
	Stdin    io.Reader
	// Data is the data folder of the service that the command uses.
	Data string
	// DataGiven reports whether the command line has --data.
	DataGiven bool
	// Registry is where running services note their data folders; "" for none.
	Registry string
	// JSON selects output for programs.
	JSON bool
	Wide bool // tables show every value of a list
	Yes  bool // --yes confirms the command

	Env config.Config
	ran bool // the command's own code has started: arguments and flags were valid

	version  string // what --version shows
	commands []Commands
}

// Commands adds the commands of a package to the root.
type Commands func(c *CLI, root *cobra.Command)

// usageError is an error in the command line; its exit code is 2.
type usageError struct{ error }

// Usagef returns an error in the command line.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// New returns a command line whose commands are added in this order.
func New(version string, out, err io.Writer, commands ...Commands) *CLI {
	return &CLI{Out: out, Err: err, Stdin: os.Stdin, Env: config.Read(os.Getenv), version: version, commands: commands}
}

// Run runs one command line and returns the exit code.
func (c *CLI) Run(ctx context.Context, args []string) int {
	return c.Execute(ctx, c.Root(), args)
}

// Execute parses and runs a command line.
func (c *CLI) Execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		_, most := arguments(cmd.Use)
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && most == 0 && len(words) > 0 {
			return unknownCommand(cmd, words[0]) // the flag may be right for the command that was meant
		}
		return cmp.Or(flagFaults(cmd, args), err)
	})
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	wrong := usages(err)
	if err = ofFile(err); wrong != nil {
		err = errors.Join(wrong...) // the context of the errors does not help the user
	}
	line := strings.Join(strings.Fields(Printable(strings.ReplaceAll(err.Error(), "\n", "; "))), " ")
	code, help := ExitFailure, ""
	if !c.ran || wrong != nil {
		code, help = ExitUsage, cmd.CommandPath()+" --help"
	}
	switch {
	case c.JSON || slices.Contains(args, "--json"):
		_ = json.NewEncoder(c.Err).Encode(jsonError{line, code, help})
	case help != "":
		fmt.Fprintf(c.Err, "svc: %s (see %s)\n", line, help)
	default:
		fmt.Fprintf(c.Err, "svc: %s\n", line)
	}
	return code
}

// Exit codes.
const (
	ExitFailure = 1
	ExitUsage   = 2
)

// jsonError is an error as --json prints it.
type jsonError struct {
	Error    string `json:"error"`
	ExitCode int    `json:"exitCode"`
	Help     string `json:"help,omitempty"` // the command that explains the usage
}

// Root returns the root command with all commands.
func (c *CLI) Root() *cobra.Command {
	root := &cobra.Command{
		Use:   "svc",
		Short: "Run and operate the mobility and delivery service",
		Long: "Run and operate the mobility and delivery service.\n\n" +
			"The target is the service that `svc dev` runs on the data folder, or the table in TABLE_NAME with the\n" +
			"AWS environment variables. --data overrides TABLE_NAME. Before a change in AWS, svc names the target\n" +
			"and asks for confirmation. --yes confirms the change; --yes is required if standard input is not a terminal.\n\n" +
			"Times in tables are in UTC, except in a statement.\n\n" +
			"Exit codes: 0 done; 1 the command failed; 2 the command line is wrong, or a change was not confirmed.\n" +
			"With --json an error is one JSON object on standard error, with error, exitCode and, for exit code 2, help.",
		Version:       c.version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("svc {{.Version}}\n")
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	root.PersistentFlags().StringVar(&c.Data, "data", folder.Default, "data `folder` of the service")
	root.PersistentFlags().BoolVar(&c.Wide, "wide", false, "show every column and every value in tables")
	root.PersistentFlags().BoolVarP(&c.Yes, "yes", "y", false,
		"confirm a change in AWS, svc import undo, svc tenant delete or svc restore finish")
	root.PersistentFlags().BoolVar(&c.JSON, "json", false, "print JSON, for programs")
	for _, add := range c.commands {
		add(c, root)
	}
	c.prepare(root)
	wrapHelp(root)
	return root
}

// Annotations of a command. A command that is made from an operation of the API has the
// operation's id, and says if the operation changes nothing. statusWords are the values of the
// argument STATUS or the flag --status that a shell completes, separated by blanks.
const (
	OperationID = "operation"
	ReadsOnly   = "reads-only"
	StatusWords = "status-words"
)

// prepare wraps cmd and its subcommands. A wrapped command names the expected
// arguments in errors, and calls confirm before its own code starts. A group
// rejects unknown subcommands. prepare also sets the shell completion.
func (c *CLI) prepare(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		c.prepare(sub)
	}
	switch run := cmd.RunE; {
	case run != nil:
		c.completing(cmd)
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			least, most := arguments(cmd.Use)
			if len(args) < least || most >= 0 && len(args) > most {
				return expected(cmd, args)
			}
			return nil
		}
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			c.ran, c.DataGiven = true, cmd.Flags().Changed("data")
			if err := c.confirm(cmd.Context(), cmd, args); err != nil {
				return err
			}
			return run(cmd, args)
		}
	case cmd.HasSubCommands():
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		}
	}
}

// unknownCommand returns the usage error for a word that names no command of a group.
func unknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return Usagef("unknown command %q for %q%s", word, cmd.CommandPath(), Nearest(word, names))
}

// arguments returns how many arguments a command takes at least and at most, by its
// usage line: SLUG is one, [SLUG] at most one, SLUG… at least one and [SLUG…] any
// number. A negative most is no limit.
func arguments(use string) (least, most int) {
	use, _, _ = strings.Cut(use, " --") // flags that must be given
	for _, word := range strings.Fields(use)[1:] {
		if !strings.HasPrefix(word, "[") {
			least++
		}
		if most++; strings.Contains(word, "…") {
			return least, -1
		}
	}
	return least, most
}

// expected returns a usage error with the arguments that a command needs and
// those that it got.
func expected(cmd *cobra.Command, args []string) error {
	given := "nothing"
	if len(args) > 0 {
		given = fmt.Sprintf("%q", args)
	}
	_, wanted, _ := strings.Cut(cmd.Use, " ")
	wanted = cmp.Or(wanted, "no arguments")
	if last := args[max(0, len(args)-1):]; len(last) > 0 && (last[0] == "true" || last[0] == "false") {
		given += "; a flag that is on or off is written --flag=" + last[0]
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if f.NoOptDefVal != "" {
				given = strings.Replace(given, "--flag=", "--"+f.Name+"=", 1)
			}
		})
	}
	return Usagef("expected %s, got %s", wanted, given)
}

// PrintJSON prints v for programs.
func (c *CLI) PrintJSON(v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(c.Out, plaintext.ReplaceInvisible(text.String(), func(r rune) string {
		if r == '\n' { // of the indentation; every other one is in a JSON string
			return "\n"
		}
		return plaintext.Escape(r)
	}))
	return err
}
