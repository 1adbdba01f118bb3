package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
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

// streamFunctions maps the name of a stream function on the command line to its name in
// template.yaml. These functions have dead letters.
var streamFunctions = map[string]string{"settlement": app.Settlement, "projection": app.Projection}

// dlqCommand returns the group of commands svc dlq, about dead letters: records that a
// function could not process.
func dlqCommand(c *cli.CLI) *cobra.Command {
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
		RunE: cli.Act(func(ctx context.Context, args []string) error { return listLetters(ctx, c, args[0], queue) })}
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
		RunE: cli.Act(func(ctx context.Context, args []string) error { return replayLetters(ctx, c, args[0], queue) })}
	drop := &cobra.Command{Use: "drop settlement|projection|due [FIRST]",
		Short:   "Drop a dead letter without processing it",
		Example: "  svc dlq drop settlement 4421584500000000017450439091\n  svc dlq drop settlement --all",
		Long: `Drop the dead letter that svc dlq list shows with this FIRST. With --all, drop all visible dead letters
of the function.

The command records the drop of a local letter in the audit log of the letter's tenant. A letter in a
queue may concern several tenants. For this reason, the command records its drop in the audit log of
every tenant.`,
		RunE: cli.Act(func(ctx context.Context, args []string) error {
			if (len(args) == 2) == everything {
				return cli.Usagef("expected one of FIRST and --all")
			}
			return dropLetters(ctx, c, args[0], queue, append(args, "")[1])
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

// listLetters prints the dead letters of a function. word is its name on the command
// line, and queue the URL of its queue, "" if not given.
func listLetters(ctx context.Context, c *cli.CLI, word, queue string) error {
	if word == dueWord {
		return listDue(ctx, c, queue)
	}
	function, p, q, err := letters(ctx, c, word, queue)
	if err != nil {
		return err
	}
	all := []shownLetter{}
	if p.Data == "" {
		err := q.each(ctx, 30, func(m message) (bool, error) {
			all = append(all, m.summary())
			return false, nil
		})
		if err != nil {
			return err
		}
	} else {
		letters, err := poller.DeadLetters(p.Data)
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
	t := cli.Table{Head: "AT SHARD FIRST LAST RECORDS REASON"}
	for _, l := range all {
		t.Add(l.At, l.Shard, l.First, l.Last, l.Records, l.Reason)
	}
	return c.Show(all, t)
}

// letters returns the stream function that word names, the service that the command works
// on, and, if that service is deployed, the queue of the function's dead letters. address
// is the URL from --queue. The dead letters of a local service are in its data folder.
// For a local service, --queue is an error, and a queue in a variable is ignored: its
// letters belong to another table, and a replay would drop them without effect.
func letters(ctx context.Context, c *cli.CLI, word, address string) (function string, p cli.Platform, q queue,
	err error) {
	if function = streamFunctions[word]; function == "" {
		return "", p, q, cli.Usagef("%q has no queue of dead letters; expected settlement, projection or due", word)
	}
	if address != "" && c.Target().Table == "" {
		return "", p, q, cli.Usagef("--queue is for a deployed service, and this command " +
			"works on a local one; set TABLE_NAME")
	}
	if p, err = c.Platform(ctx); err != nil || p.Data != "" {
		return function, p, q, err
	}
	q, ok, err := openQueue(ctx, cmp.Or(address, c.Env.DeadLetters[word]))
	if err == nil && !ok {
		err = errors.New("the dead-letter queue is not known; name it with --queue")
	}
	return function, p, q, err
}

// replayed is the result of a replay: numbers of dead letters.
type replayed struct {
	Done   int `json:"done"`
	Failed int `json:"failed"`
}

// redo returns the function that does the work of a stream function for stream records
// again. It reads the items as they are now.
func redo(ctx context.Context, p cli.Platform, function string) func(...events.DynamoDBEventRecord) error {
	once := settlement.Function{DB: p.DB, Now: time.Now}.Redo
	if function == app.Projection {
		step := projection.Step{Now: time.Now, RankRows: feedback.RankRows}
		once = projection.Function{DB: p.DB, Step: step}.Redo
	}
	feeds := feed.Function{DB: p.DB, Now: time.Now}
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

// fromTable does the work of a stream function for all items of the table. It needs no
// stream records.
func fromTable(ctx context.Context, p cli.Platform, function string) error {
	tenants, err := tenant.Store{DB: p.DB}.List(ctx)
	if err != nil {
		return err
	}
	step := projection.Step{Now: time.Now, RankRows: feedback.RankRows}
	for _, n := range tenants {
		t := p.DB.Tenant(n.ID)
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
	_, err = step.Posts(ctx, p.DB.Platform(feedback.Kinds...), feedback.AllPartition)
	return err
}

// replayLetters processes the dead letters of a function again, and drops those that
// succeed. The parameters are those of listLetters.
func replayLetters(ctx context.Context, c *cli.CLI, word, queue string) error {
	if word == dueWord {
		return replayDue(ctx, c, queue)
	}
	function, p, q, err := letters(ctx, c, word, queue)
	if err != nil {
		return err
	}
	var out replayed
	again := redo(ctx, p, function)
	if p.Data == "" {
		out, err = q.replay(ctx, c, again, func() error { return fromTable(ctx, p, function) })
	} else {
		out.Done, out.Failed, err = poller.ReplayDeadLetters(p.Data,
			func(l poller.DeadLetter) bool { return l.Function == function },
			func(l poller.DeadLetter) error {
				err := panics.Try(func() error { return again(l.Record) })
				if err != nil {
					fmt.Fprintf(c.Err, "%s: %s\n", l.Record.Change.SequenceNumber, cli.Printable(err.Error()))
				}
				return err
			})
	}
	if err != nil {
		return err
	}
	return showReplayed(c, out)
}

// showReplayed prints how many letters a replay processed. It returns an error if some
// failed again.
func showReplayed(c *cli.CLI, out replayed) error {
	if err := c.Show(out, cli.Table{Head: "DONE FAILED", Rows: [][]string{{fmt.Sprint(out.Done),
		fmt.Sprint(out.Failed)}}}); err != nil {
		return err
	}
	if out.Failed > 0 {
		return fmt.Errorf("%d dead letters failed again and were not dropped; correct the causes above, then replay again",
			out.Failed)
	}
	return nil
}

// dropLetters drops the dead letters of a function without processing them: the one whose
// First (see shownLetter) is first, or all visible ones if first is "". Before it drops a
// letter, it records that in the audit log.
func dropLetters(ctx context.Context, c *cli.CLI, word, queue, first string) error {
	if word == dueWord {
		return dropDue(ctx, c, queue, first)
	}
	function, p, q, err := letters(ctx, c, word, queue)
	if err != nil {
		return err
	}
	dropped := 0
	if p.Data == "" {
		everywhere, err := p.Everywhere(ctx)
		if err != nil {
			return err
		}
		err = q.each(ctx, 30, func(m message) (bool, error) {
			if first != "" && m.summary().First != first {
				return false, nil
			}
			dropped++
			return true, p.AppendToAudit(ctx, everywhere, "dlq.drop", word, m.summary(), nil)
		})
		if err != nil {
			return err
		}
	} else {
		mine := func(l poller.DeadLetter) bool {
			return l.Function == function && (first == "" || l.Record.Change.SequenceNumber == first)
		}
		var failed int
		dropped, failed, err = poller.ReplayDeadLetters(p.Data, mine, func(l poller.DeadLetter) error {
			return auditDroppedLetter(ctx, p, word, l)
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
	return c.Done(map[string]int{"dropped": dropped}, "Dropped %d dead letters.", dropped)
}

// auditDroppedLetter records the drop of a local letter in the audit log of the letter's
// tenant. It records nothing if the letter belongs to no tenant, or if the tenant
// is deleted or being deleted.
func auditDroppedLetter(ctx context.Context, p cli.Platform, word string, l poller.DeadLetter) error {
	key, ok := stream.KeyOf(l.Record)
	t, of := stream.TenantOf(p.DB, key)
	if !ok || !of {
		return nil
	}
	known, err := p.Everywhere(ctx)
	if err != nil || !slices.Contains(known, t.ID()) {
		return err
	}
	at := l.Record.Change.SequenceNumber
	return p.AppendToAudit(ctx, []string{t.ID()}, "dlq.drop", word,
		struct {
			shownLetter
			Item table.Key `json:"item"`
		}{shownLetter{l.At.Format(time.RFC3339), l.Shard, at, at, 1, l.Error}, key}, nil)
}
