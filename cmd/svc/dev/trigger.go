package dev

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/access/authz"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/event"
	"svc/pkg/domain/person"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/tenant"
)

// triggerCommand returns the command svc trigger, which makes a real change that produces
// an event.
func triggerCommand(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "trigger SLUG TYPE", Short: "Make a change that produces an event, to try a receiver",
		Long: "Make a real change that produces an event of the type, and first what the change needs: a rider, a driver,\n" +
			"a business. So it works in a new sandbox too. It works in a sandbox, and in any tenant of svc dev. What a job\n" +
			"does may take a minute.",
		Example: "  svc trigger metro trip.completed\n  svc trigger metro driver.status_changed"}
	cmd.RunE = c.In(func(ctx context.Context, p cli.Platform, t table.Tenant, args []string) error {
		if !event.Known(args[1]) {
			return cli.Usagef("%s is not a type of event%s; docs/events.md lists all", args[1],
				cli.Nearest(args[1], eventTypes()))
		}
		flags, err := tenant.Flags(ctx, t)
		if err != nil {
			return err
		}
		if p.Data == "" && !tenant.IsSandbox(flags) {
			return fmt.Errorf("%s is no sandbox. svc trigger makes rides that never happened, so it works in a sandbox "+
				"and in svc dev only", args[0])
		}
		what, err := (&trigger{p: p, t: t, flags: flags}).run(ctx, args[1])
		if err != nil {
			return err
		}
		return c.Done(map[string]string{"type": args[1], "changed": what}, "%s comes from %s.", args[1], what)
	})
	return cmd
}

// eventTypes returns the names of all types of events.
func eventTypes() (names []string) {
	for _, one := range event.Types() {
		names = append(names, one.Name)
	}
	return names
}

// trigger makes changes in one tenant, each of which produces an event.
type trigger struct {
	p     cli.Platform
	t     table.Tenant
	flags table.Item
}

// run makes a change that produces an event of the type kind. It returns the id of what
// it changed.
func (g *trigger) run(ctx context.Context, kind string) (string, error) {
	if steps, ok := rideSteps[kind]; ok {
		return g.ride(ctx, steps, false)
	}
	if steps, ok := laterSteps[kind]; ok {
		return g.ride(ctx, steps, true)
	}
	if change := triggers[kind]; change != nil {
		return change(g, ctx)
	}
	return "", fmt.Errorf("svc has no change for %s", kind)
}

// address returns a new mail address at a domain that cannot exist.
func address() string { return "trigger-" + strings.ToLower(rand.Text()[:10]) + "@svc.invalid" }

// aRider returns the first rider who is neither disabled nor erased, or a new rider.
func (g *trigger) aRider(ctx context.Context) (customer.Record, error) {
	found, _, err := customer.List(ctx, g.t, "", 50)
	if err != nil {
		return customer.Record{}, err
	}
	if i := slices.IndexFunc(found, func(r customer.Record) bool { return !r.Disabled && r.ErasedAt == nil }); i >= 0 {
		return found[i], nil
	}
	return g.newRider(ctx)
}

// newRider adds a rider who may sign in.
func (g *trigger) newRider(ctx context.Context) (customer.Record, error) {
	return g.addRider(ctx, false)
}

// addRider adds a rider and waits until the feed has the event of the new rider. A
// disabled rider cannot sign in.
func (g *trigger) addRider(ctx context.Context, disabled bool) (customer.Record, error) {
	r, err := customer.Store.Create(ctx, g.t, cli.By(), customer.Record{Customer: customer.Customer{Email: address(),
		FirstName: "Trigger", LastName: "Rider"}, Disabled: disabled}, "")
	return r, g.told(ctx, err, customer.Key(g.t, r.ID))
}

// aDriver returns a driver who is neither disabled nor busy, or a new driver.
func (g *trigger) aDriver(ctx context.Context) (driver.Record, error) {
	found, _, err := driver.List(ctx, g.t, "", "", 50)
	if err != nil {
		return driver.Record{}, err
	}
	if i := slices.IndexFunc(found, func(d driver.Record) bool { return !d.Disabled && d.Status != driver.Busy }); i >= 0 {
		return found[i], nil
	}
	return g.newDriver(ctx)
}

// newDriver adds a driver who may sign in.
func (g *trigger) newDriver(ctx context.Context) (driver.Record, error) {
	return g.addDriver(ctx, false)
}

// addDriver adds a driver and waits until the feed has the event of the new driver. A
// disabled driver cannot sign in.
func (g *trigger) addDriver(ctx context.Context, disabled bool) (driver.Record, error) {
	d, err := driver.Create(ctx, g.t, cli.By(), driver.Record{Driver: driver.Driver{Email: address(), FirstName: "Trigger",
		LastName: "Driver"}, Disabled: disabled}, "")
	return d, g.told(ctx, err, driver.Key(g.t, d.ID))
}

// aMember returns the first operator, or a new one without permissions.
func (g *trigger) aMember(ctx context.Context) (string, error) {
	found, _, err := g.people().Members(ctx, g.t, "", 1)
	if err != nil || len(found) > 0 {
		return append(found, person.Membership{})[0].PersonID, err
	}
	return g.newMember(ctx)
}

// newMember adds an operator without permissions, and returns the person's id.
func (g *trigger) newMember(ctx context.Context) (string, error) {
	one, err := g.people().Create(ctx, cli.By(), person.Person{Email: address(), FirstName: "Trigger",
		LastName: "Operator"}, "")
	if err == nil {
		_, err = g.people().Join(ctx, g.t, cli.By(), one.ID, "operator", nil)
	}
	return one.ID, g.told(ctx, err, authz.ActorKey(g.t, authz.Dashboard, one.ID))
}

// told returns err if it is not nil. Else it waits until the event feed has the event of
// the new item with the key. A change that follows earlier would produce no event of its
// own.
func (g *trigger) told(ctx context.Context, err error, key table.Key) error {
	if err != nil {
		return err
	}
	return await(ctx, "the event of a new item", func() (bool, error) {
		emitted, err := g.t.Get(ctx, event.EmittedKey(g.t, key))
		return emitted.Found(), err
	})
}

// people returns the store of operators.
func (g *trigger) people() person.Store { return person.Store{DB: g.p.DB} }

// retried commits what prepare adds to a transaction, and repeats both after a conflict.
// The transaction may also write the list of open jobs.
func (g *trigger) retried(ctx context.Context, prepare func(*table.Tx)) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		tx := g.t.Write().Covers(g.p.Jobs().Handle)
		prepare(tx)
		return tx.Commit(ctx)
	})
}

// awaited is how long await waits at most.
const awaited = 10 * time.Minute

// await waits until done returns true or an error, or awaited has passed. what names the
// work in the error.
func await(ctx context.Context, what string, done func() (bool, error)) error {
	for deadline := time.Now().Add(awaited); ; {
		if ok, err := done(); err != nil || ok {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s takes longer than %s; look again later", what, cli.Span(awaited))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery / 4):
		}
	}
}

// ledger returns the store of receipts with which the operator of the platform changes
// money of the tenant t.
func ledger(ctx context.Context, t table.Tenant) (receipt.Store, error) {
	flags, err := tenant.Flags(ctx, t)
	return receipt.Store{Tenant: t, By: cli.By(), Flags: flags,
		Commit: func(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) }}, err
}
