package jobs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/tenant"
)

const (
	// uploadWait is how long an import waits for its file.
	uploadWait = time.Hour
	// importTime is how long a slice of an import lasts. The operator's rights are
	// checked before each slice.
	importTime = 5 * time.Second
	// block is how many bytes of a file are read at once.
	block = 4 << 20
)

// importing does one slice of the import with the id. more reports whether another slice
// may follow at once.
func (r Runner) importing(ctx context.Context, t table.Tenant, id string) (more bool, err error) {
	rec, err := r.readImport(ctx, t, id)
	now := r.Now()
	switch {
	case errors.Is(err, fault.NotFound()) || err == nil && !isOpen(rec):
		return false, r.unlist(ctx, t, id)
	case err == nil && rec.Done():
		return r.undoing(ctx, t, rec, now)
	case err != nil || rec.Lease > timestamp.Format(now):
		return false, err
	}
	reason, err := r.halted(ctx, t, &rec, now)
	if err != nil || rec.Status == imports.Waiting && reason == "" {
		return false, err
	}
	if reason != "" {
		return false, taken(r.end(ctx, t, rec, imports.Failed, reason))
	}
	rec.Lease = timestamp.Format(now.Add(lease))
	if err := r.saveProgress(ctx, t, &rec); err != nil {
		return false, taken(err)
	}
	if rec.Status == imports.Validating {
		err = r.validate(ctx, t, &rec)
	} else {
		err = r.apply(ctx, t, &rec)
	}
	text := imports.Broken(err)
	if errors.Is(err, ErrReplaced) || errors.Is(err, fs.ErrNotExist) {
		text = "The file was replaced or deleted after the import had begun."
	}
	switch {
	case text != "":
		err = r.end(ctx, t, rec, imports.Failed, text)
	case err != nil:
	case rec.Failed >= imports.MaxFaults:
		err = r.end(ctx, t, rec, imports.Failed, "The import stopped at 1,000 faults. Mend the rows and begin another one.")
	case rec.Status == imports.Running && rec.Place.Row >= rec.Rows:
		err = r.end(ctx, t, rec, imports.Done, "")
	default:
		rec.Lease = ""
		more, err = true, r.saveProgress(ctx, t, &rec)
	}
	return more && err == nil, taken(err)
}

// readImport reads the record of an import.
func (r Runner) readImport(ctx context.Context, t table.Tenant, id string) (imports.Record, error) {
	return imports.Kind.Get(ctx, t.Get, imports.Key(t, id))
}

// halted returns why an import must end, "" if it may go on. For an import that waits for
// its file, it also checks whether the file was uploaded.
func (r Runner) halted(ctx context.Context, t table.Tenant, rec *imports.Record, now time.Time) (string, error) {
	if reason, err := r.revoked(ctx, t, rec.By, rec.Needs(), now); err != nil || reason != "" {
		return reason, err
	}
	created, err := timestamp.Parse(rec.CreatedAt)
	if err != nil || rec.Status != imports.Waiting {
		if err == nil && now.Sub(created) > longest {
			return "The import did not end within a day.", nil
		}
		return "", err
	}
	size, tag, err := r.Files.Stat(ctx, rec.File(t))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if now.Sub(created) > uploadWait {
			return "No file was uploaded within an hour.", nil
		}
		return "", nil
	case err != nil:
		return "", err
	case size > imports.MaxBytes:
		return "The file has more than 50 MB. Divide it.", nil
	}
	rec.Status, rec.Bytes, rec.Tag = imports.Validating, size, tag
	return "", nil
}

// saveProgress saves how far the import is. It returns errLost if another runner has the
// import.
func (r Runner) saveProgress(ctx context.Context, t table.Tenant, rec *imports.Record) error {
	return table.Retry(ctx, func(ctx context.Context) error { return r.keep(ctx, t, rec, t.Write()) })
}

// keep adds to tx the write of how far the import is, and commits tx. It returns errLost
// if another runner has the import.
func (r Runner) keep(ctx context.Context, t table.Tenant, rec *imports.Record, tx *table.Tx) error {
	rec.UpdatedAt = timestamp.Format(r.Now())
	tx.Replace(imports.Kind.Item(t, "", *rec)).Else(errLost)
	if !isOpen(*rec) {
		tx.Covers(r.platform().Handle).Delete(due.JobKey(r.platform(), t, rec.ID))
		if rec.Kind == "trips" && rec.Mode == "run" && rec.Undo == nil {
			tenant.ApplyRetention(tx, r.DB, t, r.Now(), tenant.Afresh)
		}
	}
	err := tx.Commit(ctx)
	if err == nil {
		rec.Version++
	}
	return err
}

// errLost means that another runner has the job.
var errLost = errors.New("another runner has the job")

// open returns a function that reads the uploaded file from a byte on.
func (r Runner) open(ctx context.Context, t table.Tenant, rec imports.Record) imports.Open {
	return func(from int64) (io.ReadCloser, error) {
		return io.NopCloser(&blocks{at: from, end: rec.Bytes, read: func(at, n int64) ([]byte, error) {
			return r.Files.Range(ctx, rec.File(t), rec.Tag, at, n)
		}}), nil
	}
}

// blocks reads a file block by block, from the byte at to the byte end.
type blocks struct {
	at, end int64
	rest    []byte
	read    func(at, n int64) ([]byte, error)
}

// Read implements io.Reader.
func (b *blocks) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		if b.at >= b.end {
			return 0, io.EOF
		}
		var err error
		if b.rest, err = b.read(b.at, min(block, b.end-b.at)); err != nil || len(b.rest) == 0 {
			return 0, errors.Join(err, io.ErrUnexpectedEOF)
		}
		b.at += int64(len(b.rest))
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// target returns where and how the rows of an import are stored. It reads the tenant's
// settings that this needs.
func (r Runner) target(ctx context.Context, t table.Tenant, rec imports.Record) (imports.Target, error) {
	shards, err := tenant.WriteShards(ctx, t)
	if err != nil {
		return imports.Target{}, err
	}
	n, err := tenant.Kind.Get(ctx, t.Get, tenant.Key(t))
	g := rec.TargetOf(t, shards, n.Country, r.Phones, r.Now())
	if err == nil && rec.Kind == "trips" {
		err = g.ForTrips(ctx, rec.Mode == "run")
	}
	return g, err
}

// validate checks the whole file of an import, and stores the faults.
func (r Runner) validate(ctx context.Context, t table.Tenant, rec *imports.Record) error {
	g, err := r.target(ctx, t, *rec)
	if err != nil {
		return err
	}
	var bad []table.Item
	note := func(row imports.Row, f imports.Fault) error {
		bad = append(bad, rec.FaultItem(t, row, f))
		return nil
	}
	rec.Shape, rec.Rows, rec.Failed, err = rec.Check(g, r.open(ctx, t, *rec), note)
	if err = errors.Join(err, t.Load(ctx, bad...)); err != nil {
		return err
	}
	rec.Ignored, rec.Status = append([]string{}, rec.Shape.Ignored...), imports.Running
	return nil
}

// apply applies rows of an import until the slice's time is over. Each transaction of
// rows also saves how far the import is, so a row is never counted twice.
func (r Runner) apply(ctx context.Context, t table.Tenant, rec *imports.Record) error {
	g, err := r.target(ctx, t, *rec)
	if err != nil {
		return err
	}
	bad, err := imports.Faults(ctx, t, rec.ID)
	if err != nil {
		return err
	}
	skip := map[int]bool{}
	for _, row := range bad {
		skip[row.N] = true
	}
	limit, began := r.Time, time.Now()
	if limit == 0 {
		limit = importTime
	}
	return rec.Run(ctx, g, r.open(ctx, t, *rec), skip, func(ctx context.Context, tx *table.Tx, s imports.Step) (bool,
		error) {
		next := *rec
		next.Add(s)
		next.Lease = timestamp.Format(r.Now().Add(lease))
		if rec.Mode == "validate" {
			tx = t.Write()
		}
		for _, it := range s.Bad {
			tx.Put(it)
		}
		if it, ok := rec.MadeItem(t, s); ok && rec.Mode == "run" {
			tx.Put(it)
		}
		if err := r.keep(ctx, t, &next, tx); err != nil {
			return false, err
		}
		*rec = next
		return time.Since(began) < limit && rec.Failed < imports.MaxFaults, nil
	})
}

// end ends an import with the status; why, unless "", is the error that the company sees.
// It writes the file of the failed rows first.
func (r Runner) end(ctx context.Context, t table.Tenant, rec imports.Record, status imports.Status, why string) error {
	if rec.Failed > 0 && rec.Shape.Head+rec.Bytes > 0 {
		if err := r.writeFailed(ctx, t, rec); err != nil && !errors.Is(err, ErrReplaced) {
			return err
		}
	}
	rec.Status, rec.Lease = status, ""
	if why != "" {
		rec.Error = &why
	}
	return r.saveProgress(ctx, t, &rec)
}

// writeFailed writes the file of the failed rows: the header and these rows, unchanged.
func (r Runner) writeFailed(ctx context.Context, t table.Tenant, rec imports.Record) error {
	rows, err := imports.Faults(ctx, t, rec.ID)
	if err != nil {
		return err
	}
	in, err := r.open(ctx, t, rec)(0)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := imports.CopyRows(&out, in, rec.Shape, rows); err != nil {
		return err
	}
	return r.Files.Put(ctx, rec.FailedFile(t), out.Bytes())
}
