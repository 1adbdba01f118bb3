package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"svc/pkg/app/localapp"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
)

// dueWord names the tasks that were given up on the command line. They are rows of the
// table, so they have no queue.
const dueWord = "due"

// mostDead is how many dead tasks of one book a command reads.
const mostDead = 10_000

// deadTask is a task that was given up.
type deadTask struct {
	First    string `json:"first"`
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
func (p platform) deadTasks(ctx context.Context, first string) ([]deadTask, error) {
	all := []deadTask{}
	for _, book := range localapp.Books(p.db, time.Now) {
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

// onDue runs a command of dlq on the tasks that were given up.
func (c *cli) onDue(ctx context.Context, queue, first string, do func(platform, []deadTask) error) error {
	if queue != "" {
		return usagef("--queue is for settlement and projection; tasks are rows of the table")
	}
	p, err := c.platform(ctx)
	if err != nil {
		return err
	}
	all, err := p.deadTasks(ctx, first)
	if err != nil {
		return err
	}
	if first != "" && len(all) == 0 {
		return fmt.Errorf("there is no dead task %q; svc dlq list due shows them", first)
	}
	return do(p, all)
}

func (c *cli) listDue(ctx context.Context, queue string) error {
	return c.onDue(ctx, queue, "", func(_ platform, all []deadTask) error {
		t := cols{head: "FIRST AT BOOK TENANT KIND ID ATTEMPTS"}
		for _, one := range all {
			t.add(one.First, one.At, one.Book, one.Tenant, one.Kind, one.ID, one.Attempts)
		}
		return c.show(all, t)
	})
}

func (c *cli) replayDue(ctx context.Context, queue string) error {
	return c.onDue(ctx, queue, "", func(_ platform, all []deadTask) error {
		out := replayed{}
		for _, one := range all {
			if err := one.book.Revive(ctx, one.task); err != nil {
				fmt.Fprintf(c.err, "%s: %s\n", one.First, printable(err.Error()))
				out.Failed++
				continue
			}
			out.Done++
		}
		return c.showReplayed(out)
	})
}

func (c *cli) dropDue(ctx context.Context, queue, first string) error {
	return c.onDue(ctx, queue, first, func(p platform, all []deadTask) error {
		known, err := p.everywhere(ctx)
		if err != nil {
			return err
		}
		for _, one := range all {
			if slices.Contains(known, one.Tenant) {
				if err := p.appendToAudit(ctx, []string{one.Tenant}, "dlq.drop", dueWord, one, nil); err != nil {
					return err
				}
			}
			tx := p.db.Platform("DUE").Write()
			one.book.Drop(tx, one.task)
			if err := table.Retry(ctx, tx.Commit); err != nil {
				return err
			}
		}
		return c.done(map[string]int{"dropped": len(all)}, "Dropped %d dead letters.", len(all))
	})
}
