package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/spf13/cobra"

	"svc/pkg/app"
	"svc/pkg/background/feed"
	"svc/pkg/background/projection"
	"svc/pkg/background/settlement"
	"svc/pkg/base/panics"
	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/feedback"
	"svc/pkg/domain/tenant"
	"svc/pkg/local/poller"
)

// streamFunctions are the functions that have dead letters, by their names on
// the command line.
var streamFunctions = map[string]string{"settlement": app.Settlement, "projection": app.Projection}

func dlqCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "dlq", Short: "List, replay or drop records that a function could not process",
		Long: "Dead letters are records of the table's stream that settlement or projection could not process within\n" +
			"two hours, or gave up at once because the data of the item is wrong. Dead letters of due are tasks that were\n" +
			"given up after ten attempts, such as a step of dispatch or a webhook. The table keeps them for 30 days.\n\n" +
			"The dead letters of a local service are\n" +
			"in its data folder. Those of a deployed service are in a queue. Name the queue with --queue or " +
			"with the variable SETTLEMENT_DEAD_LETTERS or PROJECTION_DEAD_LETTERS.\n" +
			"A command reads at most about 10,000 messages of a queue; run it again for the rest."}
	var queue string
	var everything bool
	list := &cobra.Command{Use: "list settlement|projection|due", Short: "List the dead letters",
		Example: "  svc dlq list settlement\n  svc dlq list settlement --json",
		Long: "List the dead letters. The listed messages of a queue are invisible for the next 30 seconds: during this " +
			"time svc dlq list, replay and drop do not see them.",
		RunE: act(func(ctx context.Context, args []string) error { return c.listLetters(ctx, args[0], queue) })}
	replay := &cobra.Command{Use: "replay settlement|projection|due",
		Short:   "Process dead letters again, and drop those that succeed",
		Example: "  svc dlq replay settlement",
		Long: `Settle or count the items of the dead letters as they are now, and drop the letters that succeed.
A replay is always safe, because it does not repeat work that was done before. The tasks of due are
due again at once: their function carries them out within a minute.

A letter in a queue names an object in S3 with the records. S3 keeps the object for 14 days. A letter
of an older deployment names a range of the stream, which keeps records for 24 hours. If the records
of a letter are gone, the command settles the trips, or counts the items, of all tenants.

A letter in a queue that fails again is invisible for five minutes. A replay does not see it during
this time.`,
		RunE: act(func(ctx context.Context, args []string) error { return c.replayLetters(ctx, args[0], queue) })}
	drop := &cobra.Command{Use: "drop settlement|projection|due [FIRST]",
		Short:   "Drop a dead letter without processing it",
		Example: "  svc dlq drop settlement 4421584500000000017450439091\n  svc dlq drop settlement --all",
		Long: `Drop the dead letter that svc dlq list shows with this FIRST. With --all, drop all visible dead letters
of the function.

The command records the drop of a local letter in the audit log of the letter's tenant. A letter in a
queue may concern several tenants. For this reason, the command records its drop in the audit log of
every tenant.`,
		RunE: act(func(ctx context.Context, args []string) error {
			if (len(args) == 2) == everything {
				return usagef("expected one of FIRST and --all")
			}
			return c.dropLetters(ctx, args[0], queue, append(args, "")[1])
		})}
	drop.Flags().BoolVar(&everything, "all", false, "drop all visible dead letters of the function")
	for _, sub := range []*cobra.Command{list, replay, drop} {
		sub.Flags().StringVar(&queue, "queue", "", "`URL` of the dead-letter queue")
		cmd.AddCommand(sub)
	}
	return cmd
}

// shownLetter is a dead letter for output, without its content.
type shownLetter struct {
	At      string `json:"at"`
	Shard   string `json:"shard"`
	First   string `json:"first"` // sequence number, or the message's id if the records cannot be read
	Last    string `json:"last"`
	Records int    `json:"records"`
	Reason  string `json:"reason"`
}

func (c *cli) listLetters(ctx context.Context, word, queue string) error {
	if word == dueWord {
		return c.listDue(ctx, queue)
	}
	function, p, q, err := c.letters(ctx, word, queue)
	if err != nil {
		return err
	}
	all := []shownLetter{}
	if p.data == "" {
		err := q.each(ctx, 30, func(m message) (bool, error) {
			all = append(all, m.summary())
			return false, nil
		})
		if err != nil {
			return err
		}
	} else {
		letters, err := poller.DeadLetters(p.data)
		if err != nil {
			return err
		}
		for _, l := range letters {
			if l.Function == function {
				at := l.Record.Change.SequenceNumber
				all = append(all, shownLetter{l.At.Format(time.RFC3339), l.Shard, at, at, 1, l.Error})
			}
		}
	}
	t := cols{head: "AT SHARD FIRST LAST RECORDS REASON"}
	for _, l := range all {
		t.add(l.At, l.Shard, l.First, l.Last, l.Records, l.Reason)
	}
	return c.show(all, t)
}

// letters returns the stream function, the service that the command works on, and the
// queue of the dead letters if that service is deployed. The dead letters of a local
// service are in its data folder. A queue beside a local service is an error or, if a
// variable names it, ignored: its letters belong to another table, and a replay
// would drop them without effect.
func (c *cli) letters(ctx context.Context, word, address string) (function string, p platform, q queue, err error) {
	if function = streamFunctions[word]; function == "" {
		return "", p, q, usagef("%q has no queue of dead letters; expected settlement, projection or due", word)
	}
	if address != "" && c.target().table == "" {
		return "", p, q, usagef("--queue is for a deployed service, and this command works on a local one; set TABLE_NAME")
	}
	if p, err = c.platform(ctx); err != nil || p.data != "" {
		return function, p, q, err
	}
	q, ok, err := openQueue(ctx, cmp.Or(address, c.env.DeadLetters[word]))
	if err == nil && !ok {
		err = errors.New("the dead-letter queue is not known; name it with --queue")
	}
	return function, p, q, err
}

// replayed is the result of a replay.
type replayed struct {
	Done   int `json:"done"`
	Failed int `json:"failed"`
}

// redo returns the function that processes records again, from the current
// items.
func (p platform) redo(ctx context.Context, function string) func(...events.DynamoDBEventRecord) error {
	once := settlement.Function{DB: p.db, Now: time.Now}.Redo
	if function == app.Projection {
		step := projection.Step{Now: time.Now, RankRows: feedback.RankRows}
		once = projection.Function{DB: p.db, Step: step}.Redo
	}
	feeds := feed.Function{DB: p.db, Now: time.Now}
	return func(records ...events.DynamoDBEventRecord) error {
		var errs []error
		for _, r := range records {
			if key, ok := stream.KeyOf(r); ok { // without a key there is no item to process
				errs = append(errs, once(ctx, key))
			}
		}
		if function == app.Projection {
			for _, f := range feeds.Process(ctx, events.DynamoDBEvent{Records: records}) {
				errs = append(errs, f.Err)
			}
		}
		return errors.Join(errs...)
	}
}

// fromTable does a function's work for all items of the table, without stream
// records.
func (p platform) fromTable(ctx context.Context, function string) error {
	tenants, err := tenant.Store{DB: p.db}.List(ctx)
	if err != nil {
		return err
	}
	step := projection.Step{Now: time.Now, RankRows: feedback.RankRows}
	for _, n := range tenants {
		t := p.db.Tenant(n.ID)
		if function == app.Settlement {
			_, err = settlement.Sweep(ctx, t, time.Time{}, time.Now)
		} else {
			_, err = step.Rebuild(ctx, t, nil)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", n.Slug, err)
		}
	}
	if function == app.Settlement {
		return nil
	}
	_, err = step.Posts(ctx, p.db.Platform(feedback.Kinds...), feedback.AllPartition)
	return err
}

func (c *cli) replayLetters(ctx context.Context, word, queue string) error {
	if word == dueWord {
		return c.replayDue(ctx, queue)
	}
	function, p, q, err := c.letters(ctx, word, queue)
	if err != nil {
		return err
	}
	var out replayed
	again := p.redo(ctx, function)
	if p.data == "" {
		out, err = q.replay(ctx, c, again, func() error { return p.fromTable(ctx, function) })
	} else {
		out.Done, out.Failed, err = poller.ReplayDeadLetters(p.data,
			func(l poller.DeadLetter) bool { return l.Function == function },
			func(l poller.DeadLetter) error {
				err := panics.Try(func() error { return again(l.Record) })
				if err != nil {
					fmt.Fprintf(c.err, "%s: %s\n", l.Record.Change.SequenceNumber, printable(err.Error()))
				}
				return err
			})
	}
	if err != nil {
		return err
	}
	return c.showReplayed(out)
}

// showReplayed prints what came of a replay.
func (c *cli) showReplayed(out replayed) error {
	if err := c.show(out, cols{head: "DONE FAILED", rows: [][]string{{fmt.Sprint(out.Done),
		fmt.Sprint(out.Failed)}}}); err != nil {
		return err
	}
	if out.Failed > 0 {
		return fmt.Errorf("%d dead letters failed again and were not dropped; correct the causes above, then replay again",
			out.Failed)
	}
	return nil
}

// dropLetters drops the letters of a function whose First (see shownLetter) is
// first, or all visible letters if first is "". Before it drops a letter, it
// records the drop in the audit log.
func (c *cli) dropLetters(ctx context.Context, word, queue, first string) error {
	if word == dueWord {
		return c.dropDue(ctx, queue, first)
	}
	function, p, q, err := c.letters(ctx, word, queue)
	if err != nil {
		return err
	}
	dropped := 0
	if p.data == "" {
		everywhere, err := p.everywhere(ctx)
		if err != nil {
			return err
		}
		err = q.each(ctx, 30, func(m message) (bool, error) {
			if first != "" && m.summary().First != first {
				return false, nil
			}
			dropped++
			return true, p.appendToAudit(ctx, everywhere, "dlq.drop", word, m.summary(), nil)
		})
		if err != nil {
			return err
		}
	} else {
		mine := func(l poller.DeadLetter) bool {
			return l.Function == function && (first == "" || l.Record.Change.SequenceNumber == first)
		}
		var failed int
		dropped, failed, err = poller.ReplayDeadLetters(p.data, mine, func(l poller.DeadLetter) error {
			return p.auditDroppedLetter(ctx, word, l)
		})
		if err == nil && failed > 0 {
			err = fmt.Errorf("%d dead letters were not dropped: the audit log cannot be written", failed)
		}
		if err != nil {
			return err
		}
	}
	if dropped == 0 && first != "" {
		return fmt.Errorf("%s has no visible dead letter %q; a message of a queue is invisible for 30 seconds after "+
			"svc dlq list, and for five minutes after a failed replay", word, first)
	}
	return c.done(map[string]int{"dropped": dropped}, "Dropped %d dead letters.", dropped)
}

// auditDroppedLetter records the drop of a local letter in the audit log of the letter's
// tenant. It records nothing if the letter belongs to no tenant, or if the tenant
// is deleted or being deleted.
func (p platform) auditDroppedLetter(ctx context.Context, word string, l poller.DeadLetter) error {
	key, ok := stream.KeyOf(l.Record)
	t, of := stream.TenantOf(p.db, key)
	if !ok || !of {
		return nil
	}
	known, err := p.everywhere(ctx)
	if err != nil || !slices.Contains(known, t.ID()) {
		return err
	}
	at := l.Record.Change.SequenceNumber
	return p.appendToAudit(ctx, []string{t.ID()}, "dlq.drop", word,
		struct {
			shownLetter
			Item table.Key `json:"item"`
		}{shownLetter{l.At.Format(time.RFC3339), l.Shard, at, at, 1, l.Error}, key}, nil)
}
