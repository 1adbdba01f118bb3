package health

import (
	"context"
	"fmt"
	"slices"
	"time"

	"svc/cmd/svc/cli"
	"svc/pkg/app/localapp"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
)

// dueWord is the word on the command line for the tasks of package due that were given
// up. They are items of the table, so no queue has them.
const dueWord = "due"

// mostDead is how many dead tasks of one due.Book, the task list of a function, a command
// reads.
const mostDead = 10_000

// deadTask is a task that its function gave up after too many attempts.
type deadTask struct {
	First    string `json:"first"` // identifies the task on the command line
	At       string `json:"at"`
	Book     string `json:"book"`
	Tenant   string `json:"tenant"`
	Kind     string `json:"kind"`
	ID       string `json:"id"`
	Attempts int    `json:"attempts"`

	book due.Book
	task due.Task
}

// deadTasks returns the tasks that were given up. If first is not empty, it returns only the
// task that svc dlq list shows with this FIRST.
func deadTasks(ctx context.Context, p cli.Platform, first string) ([]deadTask, error) {
	all := []deadTask{}
	for _, book := range localapp.Books(p.DB, time.Now) {
		found, err := book.Dead(ctx, mostDead)
		if err != nil {
			return nil, err
		}
		for _, k := range found {
			one := deadTask{At: timestamp.Format(k.At), Book: book.Name, Tenant: k.Tenant, Kind: k.Kind, ID: k.ID,
				Attempts: k.Attempts, book: book, task: k}
			one.First = ids.Hash(fmt.Sprint(one.Book, one.At, one.Tenant, one.Kind, one.ID))[:12]
			if first == "" || first == one.First {
				all = append(all, one)
			}
		}
	}
	return all, nil
}

// onDue calls do with the tasks that were given up, or only with the one that first
// identifies. A queue is a usage error.
func onDue(ctx context.Context, c *cli.CLI, queue, first string, do func(cli.Platform, []deadTask) error) error {
	if queue != "" {
		return cli.Usagef("--queue is for settlement and projection; tasks are rows of the table")
	}
	p, err := c.Platform(ctx)
	if err != nil {
		return err
	}
	all, err := deadTasks(ctx, p, first)
	if err != nil {
		return err
	}
	if first != "" && len(all) == 0 {
		return fmt.Errorf("there is no dead task %q; svc dlq list due shows them", first)
	}
	return do(p, all)
}

// listDue prints the tasks that were given up.
func listDue(ctx context.Context, c *cli.CLI, queue string) error {
	return onDue(ctx, c, queue, "", func(_ cli.Platform, all []deadTask) error {
		t := cli.Table{Head: "FIRST AT BOOK TENANT KIND ID ATTEMPTS"}
		for _, one := range all {
			t.Add(one.First, one.At, one.Book, one.Tenant, one.Kind, one.ID, one.Attempts)
		}
		return c.Show(all, t)
	})
}

// replayDue makes the tasks that were given up due again at once.
func replayDue(ctx context.Context, c *cli.CLI, queue string) error {
	return onDue(ctx, c, queue, "", func(_ cli.Platform, all []deadTask) error {
		out := replayed{}
		for _, one := range all {
			if err := one.book.Revive(ctx, one.task); err != nil {
				fmt.Fprintf(c.Err, "%s: %s\n", one.First, cli.Printable(err.Error()))
				out.Failed++
				continue
			}
			out.Done++
		}
		return showReplayed(c, out)
	})
}

// dropDue removes the tasks that were given up, or only the one that first identifies. It
// records each removal in the audit log of its tenant, if the tenant still exists.
func dropDue(ctx context.Context, c *cli.CLI, queue, first string) error {
	return onDue(ctx, c, queue, first, func(p cli.Platform, all []deadTask) error {
		known, err := p.Everywhere(ctx)
		if err != nil {
			return err
		}
		for _, one := range all {
			if slices.Contains(known, one.Tenant) {
				if err := p.AppendToAudit(ctx, []string{one.Tenant}, "dlq.drop", dueWord, one, nil); err != nil {
					return err
				}
			}
			tx := p.DB.Platform("DUE").Write()
			one.book.Drop(tx, one.task)
			if err := table.Retry(ctx, tx.Commit); err != nil {
				return err
			}
		}
		return c.Done(map[string]int{"dropped": len(all)}, "Dropped %d dead letters.", len(all))
	})
}
