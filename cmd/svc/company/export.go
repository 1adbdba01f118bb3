package company

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/export"
	"svc/pkg/domain/tenant"
)

// exportSlice is the size in bytes at which svc export writes a part of an export, so
// that it holds no more in memory.
const exportSlice = 1 << 20

// exportCommand returns the command svc export, which writes a tenant's data to a file.
func exportCommand(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "export KIND", Short: "Write a tenant's data to a file or to standard output",
		ValidArgs: export.Kinds(),
		Long: "Write a tenant's data to a file or to standard output: " + strings.Join(export.Kinds(), ", ") + ".\n" +
			"The file is the same as that of POST /api/v1/exports. The audit log names you.",
		Example: "  svc export trips --tenant metro --from 2026-01-01 --to 2026-01-31 \\\n    --out january.csv\n" +
			"  svc export customers --tenant metro --columns id,email --format ndjson"}
	var slug, from, to, format, out string
	var columns []string
	var bom bool
	cmd.Flags().StringVar(&slug, "tenant", "", "the tenant's `SLUG`; required")
	cmd.Flags().StringVar(&from, "from", "", "start of the window, `time` or date")
	cmd.Flags().StringVar(&to, "to", "", "end of the window, `time` or date; a date includes the day (default now)")
	cmd.Flags().StringVar(&format, "format", "csv", "`csv|ndjson`")
	cmd.Flags().StringSliceVar(&columns, "columns", nil, "`names` of the columns, separated by commas (default all)")
	cmd.Flags().BoolVar(&bom, "bom", false, "begin a CSV file with a byte order mark, by which Excel knows that "+
		"it is UTF-8")
	cmd.Flags().StringVar(&out, "out", "", "the `file` to write; without it, standard output")
	cmd.RunE = c.On(func(ctx context.Context, p cli.Platform, args []string) error {
		if slug == "" {
			return cli.Usagef("--tenant is missing")
		}
		if err := cli.OneOf("format", format, []string{"csv", "ndjson"}); err != nil {
			return err
		}
		_, t, err := p.Tenant(ctx, slug)
		if err != nil {
			return err
		}
		it, err := t.Get(ctx, tenant.Key(t))
		if err != nil {
			return err
		}
		zone, err := tenant.Zone(it)
		if err != nil {
			return err
		}
		job, err := export.New(args[0], format, columns, from, to, zone, time.Now())
		if err == nil {
			job, err = job.Marked(bom)
		}
		if f := fault.Of(err); err != nil && f.Kind == fault.KindInvalid {
			return cli.Usagef("%s", cli.Plain(cmd, err))
		}
		if err != nil {
			return err
		}
		job.ID = ids.New(ids.Export, time.Now())
		if out == "" {
			return runExport(ctx, c, t, job, c.Out)
		}
		return wholeFile(out, func(w io.Writer) error { return runExport(ctx, c, t, job, w) })
	})
	return cmd
}

// runExport records the export in the audit log, and writes its content to w, slice by
// slice.
func runExport(ctx context.Context, c *cli.CLI, t table.Tenant, job export.Job, w io.Writer) error {
	tx := t.Write()
	audit.Append(tx, t, cli.By(), "export.add", job.ID, nil, job.Shown())
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	scope, err := export.ScopeOf(ctx, t, job)
	if err != nil {
		return err
	}
	show, rows := cli.NewProgress(c.Err), 0
	defer show.End()
	for next := (export.Slice{}); !next.End; {
		next, err = job.Next(ctx, scope, next.Position, rows == 0 && next.Position == "", func(size int) bool {
			return size >= exportSlice
		})
		if err != nil {
			return err
		}
		if _, err := w.Write(next.Content); err != nil {
			return err
		}
		rows += int(next.Rows)
		show.Show(job.Kind, rows, 0)
	}
	return nil
}

// mayReplace returns an error if no file can be written at the path: the path is a
// folder, or it is in a folder that does not exist.
func mayReplace(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return &fs.PathError{Op: "write", Path: path, Err: syscall.EISDIR}
	}
	_, err := os.Stat(filepath.Dir(path))
	return err
}

// wholeFile writes a file as a whole or not at all. write writes the content. Only the
// owner of the file can read it.
func wholeFile(path string, write func(io.Writer) error) error {
	if err := mayReplace(path); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".svc-*")
	if err != nil {
		return &fs.PathError{Op: "create", Path: path, Err: errors.Unwrap(err)}
	}
	if err = errors.Join(write(tmp), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
