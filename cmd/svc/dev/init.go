package dev

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/base/email"
	"svc/pkg/domain/tenant"
)

// firstPeople holds the values of svc init. askForMissing asks for those that no flag
// set.
type firstPeople struct {
	tenant, name, currency, timezone string
	operator, rider, driver          string
	password                         string // password of rider and driver; "" creates one-time links instead
}

// initCommand returns the command svc init, which creates the first tenant, operator,
// rider and driver.
func initCommand(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "init", Short: "Create the first tenant, operator, rider and driver",
		Long: "Ask for the first tenant, operator, rider and driver. Then print and run the commands that create them,\n" +
			"and a service type.\n" +
			"The operator gets a one-time link to set a password. Without --password, rider and driver get one too.\n" +
			"A value that a flag sets is not asked for.",
		Example: "  svc init\n  svc init --tenant acme --name 'Acme Rides' --currency EUR \\\n" +
			"    --timezone Europe/Lisbon --operator ana@acme.example \\\n" +
			"    --rider rita@acme.example --driver duarte@acme.example"}
	var b firstPeople
	text := cmd.Flags().StringVar
	text(&b.tenant, "tenant", "", "`slug` of the tenant")
	text(&b.name, "name", "", "`name` of the tenant for people")
	text(&b.currency, "currency", "", "`currency` of the tenant, ISO 4217")
	text(&b.timezone, "timezone", "", "time zone of the tenant, IANA `name`, as in Europe/Lisbon")
	text(&b.operator, "operator", "", "mail `address` of the first operator, who gets every permission")
	text(&b.rider, "rider", "", "mail `address` of the first rider")
	text(&b.driver, "driver", "", "mail `address` of the first driver")
	text(&b.password, "password", "", "`password` of rider and driver; without it links are printed")
	cmd.RunE = cli.Act(func(ctx context.Context, _ []string) error {
		p, err := c.Platform(ctx)
		if err != nil {
			return err
		}
		if _, err := p.Address(); err != nil { // a link needs the address; fail before anything is created
			return err
		}
		if err := b.askForMissing(c.Err, os.Stdin); err != nil {
			return err
		}
		return runAll(ctx, c, cmd.Root(), b.commands())
	})
	return cmd
}

// runAll prints and runs svc commands until one fails. The user has already confirmed the
// calling command, so these commands do not ask again.
func runAll(ctx context.Context, c *cli.CLI, root *cobra.Command, commands [][]string) error {
	c.Yes = true
	for i, args := range commands {
		fmt.Fprintf(c.Err, "$ svc %s\n", withoutPassword(args))
		if c.Execute(ctx, root, args) != 0 {
			fmt.Fprintln(c.Err, "These commands are left. Run them on the same service, with the password in place of …:")
			for _, one := range commands[i:] {
				fmt.Fprintf(c.Err, "  svc %s\n", withoutPassword(one))
			}
			return errors.New("stopped, because a command failed; what the earlier commands created stays; correct the " +
				"cause, then run the commands that are left")
		}
	}
	return nil
}

// askForMissing asks for each value that no flag set, except the password, until it is valid.
func (b *firstPeople) askForMissing(out io.Writer, in io.Reader) error {
	lines := bufio.NewScanner(in)
	for _, q := range []struct {
		question, usual string
		answer          *string
		field           string // field of the tenant that the answer sets; "" for a mail address
	}{
		{"Short name of the company, in addresses (acme)", "", &b.tenant, "slug"},
		{"Name of the company", "", &b.name, "name"},
		{"Currency", "EUR", &b.currency, "currency"},
		{"Time zone", "Europe/Lisbon", &b.timezone, "timezone"},
		{"Mail address of the first operator", "", &b.operator, ""},
		{"Mail address of the first rider", "", &b.rider, ""},
		{"Mail address of the first driver", "", &b.driver, ""},
	} {
		usual := ""
		if q.usual != "" {
			usual = " [" + q.usual + "]"
		}
		for asking := *q.answer == ""; asking; {
			fmt.Fprintf(out, "%s%s: ", q.question, usual)
			answer := q.usual
			if lines.Scan() && strings.TrimSpace(lines.Text()) != "" {
				answer = strings.TrimSpace(lines.Text())
			}
			if answer == "" {
				return fmt.Errorf("no answer to %q: answer it, or give the value as a flag", q.question)
			}
			*q.answer = answer
			wrong := b.wrong(q.field, answer)
			if asking = wrong != ""; asking {
				fmt.Fprintln(out, wrong)
			}
		}
	}
	return nil
}

// wrong returns what is wrong with an answer, "" if nothing is. field is the tenant's
// field that the answer sets, "" for a mail address.
func (b *firstPeople) wrong(field, answer string) string {
	if field != "" {
		return tenant.Tenant{Slug: b.tenant, Name: b.name, Currency: b.currency, Timezone: b.timezone}.Check(field)
	}
	if !email.Valid(email.Fold(answer)) {
		return "expected a mail address"
	}
	return ""
}

// commands returns the arguments of the svc commands that create the tenant, a service
// type and the people.
func (b *firstPeople) commands() [][]string {
	rider := []string{"rider", "add", b.tenant, b.rider, "--first", "First", "--last", "Rider"}
	driver := []string{"driver", "add", b.tenant, b.driver, "--first", "First", "--last", "Driver", "--status", "ONLINE"}
	if b.password != "" {
		rider, driver = append(rider, "--password", b.password), append(driver, "--password", b.password)
	}
	return [][]string{
		{"tenant", "create", b.tenant, "--name", b.name, "--currency", b.currency, "--timezone", b.timezone,
			"--flag", "taxiEnabled=true"},
		{"service", "add", b.tenant, "Standard", "--base", "3", "--per-km", "1", "--per-minute", "0.2", "--minimum", "5"},
		{"member", "add", b.tenant, b.operator, "--all"}, rider, driver,
	}
}

// withoutPassword formats a command line for output, without the password.
func withoutPassword(args []string) string {
	var out []string
	for i, arg := range args {
		switch {
		case i > 0 && args[i-1] == "--password":
			arg = "…"
		case strings.ContainsAny(arg, " '\"$"):
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		out = append(out, arg)
	}
	return strings.Join(out, " ")
}
