package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"svc/pkg/base/money"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// Edits collects flags of the command Cmd. Each flag that is set changes one value of a
// T.
type Edits[T any] struct {
	Cmd   *cobra.Command
	steps []func(*T) error
}

// Field adds a flag that sets one field of a T. of returns a pointer to that field. The
// type of the pointer decides what the flag takes: a text, an exact decimal number, an
// integer or a boolean. "" sets a nullable field to null.
func (e *Edits[T]) Field(name, usage string, of func(*T) any) {
	flags := e.Cmd.Flags()
	switch of(new(T)).(type) {
	case *bool:
		value := flags.Bool(name, false, usage)
		e.set(name, func(to *T) { *of(to).(*bool) = *value })
	case *int:
		value := flags.Int(name, 0, usage)
		e.set(name, func(to *T) { *of(to).(*int) = *value })
	default:
		value := flags.String(name, "", usage)
		e.Step(name, func(to *T) error {
			number := strings.TrimSpace(*value)
			switch field := of(to).(type) {
			case *string:
				*field = *value
			case **string:
				if *field = nil; *value != "" {
					*field = value
				}
			case **json.Number:
				if *field = nil; *value != "" {
					*field = new(json.Number(number))
				}
			case *money.Amount:
				*field = money.Amount(number)
				return checkNumber(name, number)
			case **money.Amount:
				if *field = nil; *value != "" {
					*field = new(money.Amount(number))
				}
				return checkNumber(name, number)
			}
			return nil
		})
	}
}

// checkNumber returns a usage error unless the text, which is the value of the flag, is
// empty or a number.
func checkNumber(flag, text string) error {
	if _, err := money.Parse(text); text != "" && err != nil {
		return Usagef("--%s %q: expected a number", flag, text)
	}
	return nil
}

// set is Step for a change that cannot fail.
func (e *Edits[T]) set(name string, do func(*T)) {
	e.Step(name, func(to *T) error {
		do(to)
		return nil
	})
}

// Step adds the change do, which Apply makes if the flag with the name was set. It does
// not add the flag itself.
func (e *Edits[T]) Step(name string, do func(*T) error) {
	e.steps = append(e.steps, func(to *T) error {
		if !e.Cmd.Flags().Changed(name) {
			return nil
		}
		return do(to)
	})
}

// Apply makes the changes of the flags that were set. The error joins the faults
// of all flags.
func (e *Edits[T]) Apply(to *T) error {
	var errs []error
	for _, step := range e.steps {
		errs = append(errs, step(to))
	}
	return errors.Join(errs...)
}

// kindsOfFlags maps the type of a flag to the words for an expected value in an error
// message.
var kindsOfFlags = map[string]string{"int": "a whole number", "int64": "a whole number", "bool": "true or false",
	"duration": "a time such as 90s or 24h"}

// flagFaults returns every fault of a command line's flags, because pflag stops at the
// first one.
func flagFaults(cmd *cobra.Command, args []string) error {
	var errs []error
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		if !strings.HasPrefix(args[i], "-") || args[i] == "-" {
			continue
		}
		word := args[i]
		err := cmd.Flags().Parse(args[i : i+1])
		if err != nil && strings.HasPrefix(err.Error(), "flag needs an argument") && i+1 < len(args) {
			err = cmd.Flags().Parse(args[i : i+2])
			i++
		}
		if err == nil {
			continue
		}
		said := err.Error()
		if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			if what, known := kindsOfFlags[invalid.GetFlag().Value.Type()]; known {
				said = fmt.Sprintf("--%s %s: expected %s", invalid.GetFlag().Name, invalid.GetValue(), what)
			}
			if _, generated := invalid.GetFlag().Value.(*FlagValue); generated {
				said = fmt.Sprintf("--%s %s: %v", invalid.GetFlag().Name,
					Shorten(invalid.GetValue(), TableWidth/2), invalid.Unwrap())
			}
		}
		if _, number := strconv.ParseFloat(word, 64); number == nil {
			said = fmt.Sprintf("%s looks like a flag; write a negative number at the end, behind \"--\": -- %[1]s", word)
		}
		if name, unknown := strings.CutPrefix(said, "unknown flag: --"); unknown {
			var names []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
			said += cmp.Or(asArgument(cmd, name), Nearest("--"+name, names))
		}
		errs = append(errs, Usagef("%s", said))
	}
	return errors.Join(errs...)
}

// asArgument returns a hint if the unknown flag is an argument of the command, such as
// --tenant for SLUG. Else it returns "".
func asArgument(cmd *cobra.Command, flag string) string {
	name := strings.ToUpper(flag)
	if name == "TENANT" {
		name = "SLUG"
	}
	if slices.Contains(strings.Fields(cmd.Use), name) {
		return "; it is an argument here: " + cmd.CommandPath() + strings.TrimPrefix(cmd.Use, cmd.Name())
	}
	return ""
}

// usages returns the usage errors within err, in order.
func usages(err error) []error {
	switch one := err.(type) { //nolint:errorlint // the tree is walked here
	case usageError:
		return []error{one}
	case interface{ Unwrap() []error }:
		var out []error
		for _, e := range one.Unwrap() {
			out = append(out, usages(e)...)
		}
		return out
	case interface{ Unwrap() error }:
		return usages(one.Unwrap())
	}
	return nil
}

// Change returns the RunE function of a command that changes something of a tenant. The
// slug is the first argument. If no flag was set, the function returns a usage error and
// does not call f.
func (e *Edits[T]) Change(c *CLI, f func(ctx context.Context, t table.Tenant, args []string) error) func(*cobra.Command,
	[]string) error {
	return Act(func(ctx context.Context, args []string) error {
		if err := e.Needed(); err != nil {
			return err
		}
		_, t, err := c.At(ctx, args[0])
		if err != nil {
			return err
		}
		return f(ctx, t, args)
	})
}

// Account describes a kind of account, driver or rider, for the commands that change an
// account.
type Account[T any] struct {
	Kind   string // name of the kind in messages
	Find   func(ctx context.Context, t table.Tenant, name string) (T, error)
	Change func(ctx context.Context, t table.Tenant, by audit.By, id string, edit func(*T) error) (T, error)
	Fields func(*T) (id, email *string, disabled *bool) // pointers to these fields
}

// Account makes the command change the account that the second argument names, and
// returns the command. It adds the flags that all accounts share.
func (e *Edits[T]) Account(c *CLI, a Account[T]) *cobra.Command {
	e.Field("email", "mail `address`", func(r *T) any { _, email, _ := a.Fields(r); return email })
	e.Field("disable", "reject the account's sign-in and tokens; --disable=false undoes it",
		func(r *T) any { _, _, disabled := a.Fields(r); return disabled })
	e.Cmd.RunE = e.Change(c, func(ctx context.Context, t table.Tenant, args []string) error {
		one, err := a.Find(ctx, t, args[1])
		if err != nil {
			return err
		}
		id, _, _ := a.Fields(&one)
		now, err := a.Change(ctx, t, By(), *id, e.Apply)
		if err != nil {
			return err
		}
		id, _, _ = a.Fields(&now)
		return c.Done(now, "Changed %s %s.", a.Kind, *id)
	})
	return e.Cmd
}

// Needed returns a usage error if none of the command's own flags was set.
func (e *Edits[T]) Needed() error {
	given := false
	e.Cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { given = given || f.Changed })
	if !given {
		return Usagef("nothing to change: give a flag")
	}
	return nil
}
