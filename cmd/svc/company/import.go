package company

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/access/authz"
	"svc/pkg/background/jobs"
	"svc/pkg/background/projection"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/phone/plans"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/tenant"
)

// shownFaults is how many faults svc import prints.
const shownFaults = 20

// importCommand returns the command svc import, which imports people, addresses or past
// trips from a file.
func importCommand(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "import FILE", Short: "Import people, addresses and past trips from a file",
		Long: "Import customers, drivers, addresses of customers, or past trips from a CSV or NDJSON file,\n" +
			"as POST /api/v1/imports does. The whole file is validated first. Rows with a fault are left out; at 1,000\n" +
			"faults the import stops. The same file again changes nothing, so an interrupted import goes on.\n" +
			"With --json, the last line of the output is {\"created\", \"updated\", \"unchanged\", \"failed\"}.",
		Example: "  svc import people.csv --tenant metro --kind customers --dry-run\n" +
			"  svc import fahrer.csv --tenant metro --kind drivers --encoding latin1 \\\n    --failed mend.csv\n" +
			"  svc import rides.csv --tenant metro --kind trips \\\n    --map 'originAddress={Street}, {City}' " +
			"--map 'email:=street@metro.example'"}
	var slug, failed string
	var o imports.Options
	var dry bool
	cmd.Flags().StringVar(&slug, "tenant", "", "the tenant's `SLUG`; required")
	cmd.Flags().StringVar(&o.Kind, "kind", "", "`KIND` of the rows: customers, drivers, addresses or trips; required")
	cmd.Flags().StringVar(&o.Format, "format", "csv", "`csv|ndjson`")
	cmd.Flags().StringVar(&o.Key, "key", "email", "how a person is found, `email|phone|externalId`")
	cmd.Flags().StringVar(&o.Encoding, "encoding", "utf-8", "`utf-8|latin1`")
	cmd.Flags().StringVar(&o.Decimal, "decimal", "point", "`point|comma`")
	cmd.Flags().StringVar(&o.Dates, "dates", "iso", "order of the numbers in dates, `iso|dmy|mdy`")
	cmd.Flags().StringArrayVar(&o.Map, "map", nil, "what a column is made from: `COLUMN=HEADING`, text with {HEADING}, "+
		"or COLUMN:=TEXT; may be repeated")
	cmd.Flags().StringVar(&failed, "failed", "", "a `file` to write, with the header and the failed rows")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "count what would be done, and change nothing")
	cmd.RunE = c.On(func(ctx context.Context, p cli.Platform, args []string) error {
		if slug == "" {
			return cli.Usagef("--tenant is missing")
		}
		if err := cmp.Or(knownOptions(o), mayReplace(failed)); err != nil {
			return err // fail before the import, not after it
		}
		job, err := imports.New(o, time.Now())
		if err != nil && fault.Of(err).Kind == fault.KindInvalid {
			err = cli.Usagef("%s", cli.Plain(cmd, err))
		}
		if err != nil {
			return err
		}
		_, t, err := p.Tenant(ctx, slug)
		if err != nil {
			return err
		}
		g, err := importTarget(ctx, t)
		if err != nil {
			return err
		}
		if dry {
			job.Mode = "validate"
		}
		if job.Kind == "trips" {
			if err := g.ForTrips(ctx, !dry); err != nil {
				return err
			}
		}
		job.ID = ids.New(ids.Import, time.Now())
		return (&importing{CLI: c, db: p.DB, target: g, job: imports.Record{Import: job, Version: 1},
			slug: slug, file: args[0], failed: failed}).run(ctx)
	})
	cmd.AddCommand(undoImport(c))
	return cmd
}

// knownOptions returns a usage error for the first flag whose value is not one of its
// known words.
func knownOptions(o imports.Options) error {
	for _, f := range []struct {
		name, value string
		known       []string
	}{{"kind", o.Kind, imports.Kinds()}, {"format", o.Format, []string{"csv", "ndjson"}},
		{"key", o.Key, []string{"email", "phone", "externalId"}}, {"encoding", o.Encoding, []string{"utf-8", "latin1"}},
		{"decimal", o.Decimal, []string{"point", "comma"}}, {"dates", o.Dates, []string{"iso", "dmy", "mdy"}}} {
		if err := cli.OneOf(f.name, f.value, f.known); err != nil {
			return err
		}
	}
	return nil
}

// undoImport returns the command svc import undo, which removes the rides that an import
// made.
func undoImport(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "undo JOB", Short: "Remove every ride that an import of trips made",
		Long: "Remove every ride that an import of trips made, as POST /api/v1/imports/{id}/undo does: within 7 days, and\n" +
			"only while nothing else has changed one of the rides. Otherwise all of them stay. Reports of past months\n" +
			"change. The command may be repeated. The audit log names you. An import of people or addresses cannot be\n" +
			"undone: import the right values, or erase a person by a privacy request.",
		Example: "  svc import undo imp_01JT7M4C6Q8V2N5X9B3D1F7H0K --tenant metro --yes"}
	return inTenant(c, cmd, func(ctx context.Context, p cli.Platform, t table.Tenant, args []string) error {
		if !c.Yes {
			return cli.Usagef("this removes every ride that the import made; confirm with --yes")
		}
		runner := jobs.Runner{DB: p.DB, Now: time.Now}
		var r imports.Record
		err := table.Retry(ctx, func(ctx context.Context) error {
			var err error
			if r, err = imports.Kind.Get(ctx, t.Get, imports.Key(t, args[0])); err != nil {
				return err
			}
			begun, err := r.BeginUndo(authz.Standing{}, time.Now())
			if err != nil || !begun {
				return err
			}
			tx := t.Write()
			r.Undoes(tx, t, p.Jobs(), cli.By())
			r.Version++
			return tx.Commit(ctx)
		})
		if err != nil {
			return cli.Missing(err, "import", args[0])
		}
		for r.Undo.Status == imports.Undoing {
			if _, err := runner.Undo(ctx, t, &r); err != nil {
				return err
			}
			// The service's own job runner may work on the same undo, so read the record
			// again.
			if r, err = imports.Kind.Get(ctx, t.Get, imports.Key(t, args[0])); err != nil {
				return err
			}
		}
		if r.Undo.Reason != nil {
			return errors.New(*r.Undo.Reason)
		}
		return c.Done(r.Import, "%s rides removed, %s kept.", cli.Thousands(r.Undo.Removed), cli.Thousands(r.Undo.Kept))
	})
}

// importTarget returns the target of an import into the tenant: its number of shards, the
// country of its phone numbers, and who imports.
func importTarget(ctx context.Context, t table.Tenant) (imports.Target, error) {
	shards, err := tenant.WriteShards(ctx, t)
	if err != nil {
		return imports.Target{}, err
	}
	country, err := projection.CountryOf(ctx, t)
	return imports.Target{Tenant: t, By: cli.By(), Shards: shards, Country: country, Phones: plans.Read,
		MovesLogins: true}, err
}

// importing is one run of svc import.
type importing struct {
	*cli.CLI
	db           *table.DB
	target       imports.Target
	job          imports.Record
	slug         string
	file, failed string
	bad          []badRow
}

// badRow is a row of the imported file with a fault, and the fault.
type badRow struct {
	imports.Row
	imports.Fault
}

// open opens the imported file at the offset from, in bytes.
func (i *importing) open(from int64) (io.ReadCloser, error) {
	f, err := os.Open(i.file)
	if err == nil {
		_, err = f.Seek(from, io.SeekStart)
	}
	return f, err
}

// run checks the whole file, imports the rows without a fault, and prints the result. A
// dry run does the same but writes nothing to the table.
func (i *importing) run(ctx context.Context) error {
	info, err := os.Stat(i.file)
	if err != nil {
		return err
	}
	if info.Size() > imports.MaxBytes {
		return errors.New("the file has more than 50 MB; divide it")
	}
	skip := map[int]bool{}
	note := func(row imports.Row, f imports.Fault) error {
		skip[row.N] = true
		i.bad = append(i.bad, badRow{row, f})
		return nil
	}
	i.job.Shape, i.job.Rows, i.job.Failed, err = i.job.Check(i.target, i.open, note)
	if text := imports.Broken(err); text != "" {
		return errors.New(text)
	}
	if err != nil {
		return err
	}
	if i.job.Mode == "run" && i.job.Failed < imports.MaxFaults {
		tx := i.target.Tenant.Write()
		audit.Append(tx, i.target.Tenant, i.target.By, "import.add", i.target.Tenant.ID(), nil, i.job.Shown())
		if i.job.Kind == "trips" { // imported trips may be past the retention: examine all trips again
			tenant.ApplyRetention(tx, i.db, i.target.Tenant, i.target.By.At.Add(time.Hour), tenant.Afresh)
		}
		if err := tx.Commit(ctx); err != nil {
			return err
		}
	}
	show := cli.NewProgress(i.Err)
	if i.job.Failed < imports.MaxFaults {
		err = i.job.Run(ctx, i.target, i.open, skip, func(ctx context.Context, tx *table.Tx, s imports.Step) (bool, error) {
			if i.job.Mode == "run" {
				if it, ok := i.job.MadeItem(i.target.Tenant, s); ok {
					tx.Put(it)
				}
				if err := tx.Commit(ctx); err != nil {
					return false, err
				}
			}
			i.job.Add(s)
			for _, it := range s.Bad {
				row, f, err := imports.BadRow(it)
				if err != nil {
					return false, err
				}
				i.bad = append(i.bad, badRow{row, f})
			}
			show.Show(i.job.Kind, i.job.Place.Row, i.job.Rows)
			return i.job.Failed < imports.MaxFaults, nil
		})
	}
	show.End()
	return errors.Join(err, i.keep(ctx), i.report())
}

// keep stores the record of an import that created trips, so that svc import undo can
// find it.
func (i *importing) keep(ctx context.Context) error {
	if i.job.Kind != "trips" || i.job.Mode != "run" || i.job.Created == 0 {
		return nil
	}
	i.job.Status, i.job.UpdatedAt = imports.Done, timestamp.Format(time.Now())
	tx := i.target.Tenant.Write()
	tx.Create(imports.Kind.Item(i.target.Tenant, "", i.job))
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	fmt.Fprintf(i.Err, "To undo it within 7 days: svc import undo %s --tenant %s --yes\n", i.job.ID, i.slug)
	return nil
}

// report prints the counts and the first faults, and writes the file of failed rows
// (--failed). It returns an error if rows failed.
func (i *importing) report() error {
	slices.SortStableFunc(i.bad, func(a, b badRow) int { return a.N - b.N })
	for _, b := range i.bad[:min(shownFaults, len(i.bad))] {
		fmt.Fprintf(i.Err, "line %d: %s: %s: %s\n", b.Row.Line, b.Column, b.Code, cli.Printable(b.Message))
	}
	if i.failed != "" && len(i.bad) > 0 {
		if err := wholeFile(i.failed, i.writeFailed); err != nil {
			return err
		}
	}
	if headings := i.job.Shape.Ignored; len(headings) > 0 {
		fmt.Fprintf(i.Err, "ignored headings: %s\n", cli.Printable(strings.Join(headings, ", ")))
	}
	n := i.job.Counts
	if i.JSON {
		line, err := json.Marshal(n)
		if err != nil {
			return err
		}
		fmt.Fprintf(i.Out, "%s\n", line)
	} else {
		if i.job.Mode != "run" {
			fmt.Fprint(i.Out, "Dry run, nothing is changed: ")
		}
		fmt.Fprintf(i.Out, "%s created, %s updated, %s unchanged, %s failed\n", cli.Thousands(n.Created),
			cli.Thousands(n.Updated), cli.Thousands(n.Unchanged), cli.Thousands(n.Failed))
	}
	switch {
	case n.Failed >= imports.MaxFaults:
		return errors.New("the import stopped at 1,000 faults; mend the rows and import the file again")
	case n.Failed > 0:
		return fmt.Errorf("rows with faults: %s; mend them and import them again", cli.Thousands(n.Failed))
	}
	return nil
}

// writeFailed writes the header and the failed rows of the imported file to w.
func (i *importing) writeFailed(w io.Writer) error {
	in, err := i.open(0)
	if err != nil {
		return err
	}
	defer in.Close()
	rows := make([]imports.Row, len(i.bad))
	for n, b := range i.bad {
		rows[n] = b.Row
	}
	return imports.CopyRows(w, in, i.job.Shape, rows)
}
