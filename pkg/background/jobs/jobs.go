// Package jobs runs the jobs that requests begin and that last longer than a
// request, in slices. After each slice it saves how far the job is, on the
// condition that nobody else has. A process may end at any point: another one
// continues from the last save. The package must not know where files are kept.
package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/background/erasure"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/export"
	"svc/pkg/domain/imports"
)

// Files stores files. Every method may be repeated.
type Files interface {
	// Begin begins a file. It returns the upload's name, which Part and Finish need.
	Begin(ctx context.Context, file string) (upload string, err error)
	// Part writes part n, from 1 on, and returns a tag of its content. All parts but
	// the last have at least 5 MiB.
	Part(ctx context.Context, file, upload string, n int, content []byte) (tag string, err error)
	// Finish makes the file of its parts. It returns ErrParts if a part is not there
	// as it was written.
	Finish(ctx context.Context, file, upload string, tags []string) error
	// Put writes a whole file, and Get reads a whole file.
	Put(ctx context.Context, file string, content []byte) error
	Get(ctx context.Context, file string) ([]byte, error)
	// Stat returns the size of an uploaded file and a tag of its content, or
	// fs.ErrNotExist.
	Stat(ctx context.Context, file string) (size int64, tag string, err error)
	// Range reads at most n bytes of a file with the tag. It returns ErrReplaced if the
	// file has another tag.
	Range(ctx context.Context, file, tag string, from, n int64) ([]byte, error)
	// Remove deletes every file whose name begins with the folder's.
	Remove(ctx context.Context, folder string) error
}

// Folders returns the folders that hold all files of the tenant with the id.
func Folders(tenant string) []string {
	return []string{"exports/" + tenant + "/", "imports/" + tenant + "/"}
}

// ErrReplaced means that a file has another content than before.
var ErrReplaced = errors.New("the file was replaced")

// ErrParts means that a part of a file is not there as it was written.
var ErrParts = errors.New("a part of the file is missing or was replaced")

const (
	// lease is how long a runner may take for a slice. Then another runner may begin
	// the slice again.
	lease = 2 * time.Minute
	// longest is how long a job may take.
	longest = 24 * time.Hour
	// maxParts is the largest number of parts of a file. It also bounds the size of a
	// job's item.
	maxParts = 1000
)

// Runner runs the open jobs: exports, imports, privacy requests and retentions.
type Runner struct {
	DB      *table.DB
	Files   Files
	Now     func() time.Time
	Persons erasure.Runner // runs the privacy requests and the retention of tenants
	// Bytes and Time are the size and the time after which a slice ends. The zero Bytes
	// is 8 MiB, the zero Time 20 seconds.
	Bytes int
	Time  time.Duration
	// Budget is how long Run begins slices. The zero Budget is 4 minutes.
	Budget time.Duration
	// Phones reads phone numbers of imports; it may be nil.
	Phones imports.Phones
}

// platform returns the handle for the list of open jobs and the clients.
func (r Runner) platform() table.Platform { return r.DB.Platform("JOBS", "CLIENT") }

// runSlice does one slice of the job with the name tenant#id. more reports whether the
// next slice may begin at once.
func (r Runner) runSlice(ctx context.Context, name string) (more bool, err error) {
	tenantID, id, _ := strings.Cut(name, "#")
	t := r.DB.Tenant(tenantID)
	switch {
	case strings.HasPrefix(id, ids.Import):
		return r.importing(ctx, t, id)
	case erasure.Mine(id):
		return r.Persons.Slice(ctx, t, id)
	}
	return r.exporting(ctx, t, id)
}

// exporting does one slice of the export with the id. more reports whether another slice
// may follow at once.
func (r Runner) exporting(ctx context.Context, t table.Tenant, id string) (more bool, err error) {
	rec, err := r.read(ctx, t, id)
	now := r.Now()
	switch {
	case errors.Is(err, fault.NotFound()) || err == nil && rec.Done():
		return false, r.unlist(ctx, t, id)
	case err != nil || rec.Lease > timestamp.Format(now):
		return false, err
	}
	if reason, err := r.refused(ctx, t, rec, now); err != nil {
		return false, err
	} else if reason != "" {
		return false, r.fail(ctx, t, rec, reason)
	}
	if rec.Upload == "" {
		if rec.Upload, err = r.Files.Begin(ctx, rec.File(t)); err != nil {
			return false, err
		}
	}
	rec.Status, rec.Lease = export.Running, timestamp.Format(now.Add(lease))
	if rec, err = r.save(ctx, t, rec); err != nil {
		return false, taken(err)
	}
	if !rec.Complete {
		if rec, err = r.write(ctx, t, rec); err != nil {
			return false, err
		}
	} else if rec, err = r.finish(ctx, t, rec); err != nil {
		return false, err
	}
	rec.Lease = ""
	if rec, err = r.save(ctx, t, rec); err != nil {
		return false, taken(err)
	}
	return !rec.Done(), nil
}

// taken returns nil if the error means that another runner has the job.
func taken(err error) error {
	if errors.Is(err, table.ErrConflict) || errors.Is(err, errLost) {
		return nil
	}
	return err
}

// read reads the record of an export.
func (r Runner) read(ctx context.Context, t table.Tenant, id string) (export.Record, error) {
	return export.Kind.Get(ctx, t.Get, export.Key(t, id))
}

// refused returns why an export must end: the operator may not do it any more, or it is
// too long. It returns "" if the export may go on.
func (r Runner) refused(ctx context.Context, t table.Tenant, rec export.Record, now time.Time) (string, error) {
	created, err := timestamp.Parse(rec.CreatedAt)
	if err != nil {
		return "", err
	}
	if now.Sub(created) > longest {
		return "The export did not end within a day. Export a shorter window.", nil
	}
	if len(rec.Parts) >= maxParts && !rec.Complete {
		return "The file is larger than 8 GB. Export a shorter window.", nil
	}
	return r.revoked(ctx, t, rec.By, rec.Needs(), now)
}

// revoked returns why the operator by may not do a job any more, "" if the operator may.
// needs are the policies that the job requires.
func (r Runner) revoked(ctx context.Context, t table.Tenant, by authz.Standing, needs []authz.Policy, now time.Time) (
	string, error) {
	items, err := table.Join(t.Handle, r.platform().Handle).Batch(ctx,
		authz.LiveKeys(t, r.platform(), by.Access(t.ID()))...)
	if err != nil {
		return "", err
	}
	if err := by.Continue(needs, authz.LiveFrom(items), now); err != nil {
		return "The operator who requested this may not do it any more: " + fault.Of(err).Message, nil
	}
	return "", nil
}

// write exports the next slice of rows. It writes them as the next part of the file. If
// they are too short for a part, it writes them to a temporary file (the tail), with
// which the next slice begins.
func (r Runner) write(ctx context.Context, t table.Tenant, rec export.Record) (export.Record, error) {
	size, limit := r.Bytes, r.Time
	if size == 0 {
		size = 8 << 20
	}
	if limit == 0 {
		limit = 20 * time.Second
	}
	var content []byte
	if rec.Tail != "" {
		var err error
		if content, err = r.Files.Get(ctx, rec.Tail); err != nil {
			return rec, err
		}
	}
	s, err := export.ScopeOf(ctx, t, rec.Job)
	if err != nil {
		return rec, err
	}
	began, before := time.Now(), len(content)
	next, err := rec.Next(ctx, s, rec.Position, rec.Bytes == 0, func(n int) bool {
		return before+n >= size || time.Since(began) > limit
	})
	if err != nil {
		return rec, err
	}
	content = append(content, next.Content...)
	rec.Rows, rec.Bytes = rec.Rows+next.Rows, rec.Bytes+int64(len(next.Content))
	rec.Position, rec.Complete, rec.Tail = next.Position, next.End, ""
	if rec.Complete || len(content) >= size {
		tag, err := r.Files.Part(ctx, rec.File(t), rec.Upload, len(rec.Parts)+1, content)
		rec.Parts = append(rec.Parts, tag)
		return rec, err
	}
	rec.Tail = rec.File(t) + "." + rand.Text() + ".tail" // a new name, because the saved position needs the old one
	return rec, r.Files.Put(ctx, rec.Tail, content)
}

// finish makes an export's file of its parts. If another runner has replaced a part, the
// export begins again.
func (r Runner) finish(ctx context.Context, t table.Tenant, rec export.Record) (export.Record, error) {
	switch err := r.Files.Finish(ctx, rec.File(t), rec.Upload, rec.Parts); {
	case errors.Is(err, ErrParts):
		rec.Restart()
		return rec, nil
	case err != nil:
		return rec, err
	}
	rec.Status, rec.ExpiresAt = export.Ready, timestamp.Ptr(r.Now().Add(export.FileLife))
	return rec, nil
}

// fail ends an export with a reason that the company sees.
func (r Runner) fail(ctx context.Context, t table.Tenant, rec export.Record, reason string) error {
	rec.Status, rec.Error, rec.Lease = export.Failed, &reason, ""
	_, err := r.save(ctx, t, rec)
	return taken(err)
}

// save stores how far the export is. It returns errLost if another runner has the export.
func (r Runner) save(ctx context.Context, t table.Tenant, rec export.Record) (export.Record, error) {
	rec.UpdatedAt = timestamp.Format(r.Now())
	tx := t.Write().Covers(r.platform().Handle)
	tx.Replace(export.Kind.Item(t, "", rec)).Else(errLost)
	if rec.Done() {
		tx.Delete(due.JobKey(r.platform(), t, rec.ID))
	}
	err := table.Retry(ctx, tx.Commit)
	rec.Version++
	return rec, err
}
