package erasure

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/privacy"
	"svc/pkg/domain/tenant"
)

// Files stores the files of exports and imports.
type Files interface {
	Put(ctx context.Context, file string, content []byte) error
	Get(ctx context.Context, file string) ([]byte, error)
	// Remove deletes every file whose name begins with name.
	Remove(ctx context.Context, name string) error
}

// Runner carries out the requests of pkg/domain/privacy and the retention of tenants.
type Runner struct {
	DB    *table.DB
	Files Files
	Now   func() time.Time
	// AtOnce is how many items a slice reads; 0 means 200.
	AtOnce int
}

// The kinds of due tasks of a request to erase a person.
const (
	own   = "own"   // an erasure that the person asked for 7 days ago
	again = "again" // the second run of an erasure
)

// pause is how long after an erasure it runs a second time. Requests that were under way
// when the account was disabled have ended by then.
const pause = 2 * time.Minute

// platform returns the handle for the list of open jobs, clients and sessions.
func (r Runner) platform() table.Platform { return r.DB.Platform("JOBS", "CLIENT", "SESSION") }

// book returns the list of due tasks of erasures and retentions.
func (r Runner) book() due.Book { return due.Book{DB: r.DB, Name: tenant.RetentionBook, Now: r.Now} }

// Sweep carries out the due tasks: erasures that persons asked for 7 days ago, the
// second runs of erasures, and the retention of tenants.
func (r Runner) Sweep(ctx context.Context) error {
	return r.book().Sweep(ctx, func(ctx context.Context, k due.Task) error {
		t := r.DB.Tenant(k.Tenant)
		switch k.Kind {
		case tenant.RetentionTask:
			return r.beginRetention(ctx, t, k.ID)
		case late:
			return r.retainLate(ctx, t, k.ID)
		}
		rec, err := r.read(ctx, t, k.ID)
		if errors.Is(err, fault.NotFound()) {
			return nil
		}
		if err != nil || rec.Status != map[string]privacy.Status{own: privacy.Ready, again: privacy.Done}[k.Kind] {
			return err
		}
		p, err := r.person(ctx, t, rec)
		if err != nil {
			return err
		}
		rec.Step, rec.Position, rec.Status, rec.Again = 0, "", privacy.Running, k.Kind == again
		_, err = r.save(ctx, t, rec, func(tx *table.Tx) {
			due.BeginJob(tx, r.platform(), t, rec.ID)
			if k.Kind == own && p.erasedAt == "" {
				tx.Check(login.Key(t, rec.Audience(), p.email)).If("leaving = ?", true).Else(errStays)
			}
		})
		if errors.Is(err, errStays) {
			rec.Status = privacy.Withdrawn
			_, err = r.save(ctx, t, rec, nil)
		}
		return err
	})
}

// errStays means that a person who asked to be erased has signed in since.
var errStays = errors.New("the person has signed in again")

// read returns the privacy request with the id.
func (r Runner) read(ctx context.Context, t table.Tenant, id string) (privacy.Record, error) {
	return privacy.Kind.Get(ctx, t.Get, privacy.Key(t, id))
}

// save stores how far a request is. A request that is no longer open leaves the list of
// open jobs. also, unless nil, adds writes to the transaction. save returns
// table.ErrConflict if another process has changed the request.
func (r Runner) save(ctx context.Context, t table.Tenant, rec privacy.Record, also func(*table.Tx)) (privacy.Record,
	error) {
	rec.UpdatedAt = timestamp.Format(r.Now())
	tx := t.Write().Covers(r.platform().Handle)
	tx.Replace(privacy.Kind.Item(t, "", rec)).Else(errChanged)
	if !rec.Open() {
		tx.Delete(due.JobKey(r.platform(), t, rec.ID))
	}
	if also != nil {
		also(tx)
	}
	err := table.Retry(ctx, tx.Commit)
	if errors.Is(err, errChanged) {
		err = table.ErrConflict
	}
	rec.Version++
	return rec, err
}

// errChanged means that another process has changed the request.
var errChanged = errors.New("the request has changed")

// Mine reports whether the job with the id belongs to this package: a privacy request, or
// a tenant's retention.
func Mine(id string) bool { return strings.HasPrefix(id, ids.Privacy+"_") || id == retaining }

// Slice does the next part of the job with the id. more reports whether another part may
// follow at once.
func (r Runner) Slice(ctx context.Context, t table.Tenant, id string) (more bool, err error) {
	if id == retaining {
		return r.retain(ctx, t)
	}
	rec, err := r.read(ctx, t, id)
	if errors.Is(err, fault.NotFound()) || err == nil && !rec.Open() {
		tx := r.platform().Write()
		tx.Delete(due.JobKey(r.platform(), t, id))
		return false, table.Retry(ctx, tx.Commit)
	}
	if err != nil {
		return false, err
	}
	p, err := r.person(ctx, t, rec)
	if err != nil {
		return false, err
	}
	switch {
	case rec.Status == privacy.Validating:
		rec, err = r.validate(ctx, p, rec)
	case rec.Kind == privacy.Export:
		rec, err = r.export(ctx, p, rec)
	default:
		rec, err = r.erase(ctx, p, rec)
	}
	if errors.Is(err, table.ErrConflict) {
		return false, nil // another process was faster; it or the next run goes on
	}
	return err == nil && rec.Open(), err
}

// GiveUp ends a job whose slice has panicked, because it would panic again. A request is
// BLOCKED until an operator runs it again. A tenant's retention goes on with the task of
// the next day.
func (r Runner) GiveUp(ctx context.Context, t table.Tenant, id string) error {
	if id == retaining {
		tx := r.platform().Write()
		tx.Delete(due.JobKey(r.platform(), t, id))
		return table.Retry(ctx, tx.Commit)
	}
	rec, err := r.read(ctx, t, id)
	if err != nil || !rec.Open() {
		return err
	}
	rec.Status, rec.Reasons = privacy.Blocked, []privacy.PrivacyReason{privacy.ServiceFailed()}
	_, err = r.save(ctx, t, rec, nil)
	return err
}

// validate stores whether the person could be erased now, and the reasons if not. A
// person who was erased before may always be erased again.
func (r Runner) validate(ctx context.Context, p person, rec privacy.Record) (privacy.Record, error) {
	var err error
	if p.erasedAt == "" {
		rec.Reasons, err = p.reasons(ctx)
	}
	if err != nil {
		return rec, err
	}
	rec.Status = privacy.Ready
	if len(rec.Reasons) > 0 && !rec.Self {
		rec.Status = privacy.Blocked
	}
	return r.save(ctx, p.t, rec, func(tx *table.Tx) {
		if rec.Self {
			at, _ := timestamp.Parse(*rec.RunsAt) // always valid: this service wrote it
			r.book().Add(tx, due.Task{Tenant: p.t.ID(), Kind: own, ID: rec.ID, At: at})
		}
	})
}

// allowed reports whether the operator who made the request still has the permission for
// it. It returns true for a request that no operator made.
func (r Runner) allowed(ctx context.Context, t table.Tenant, rec privacy.Record) (bool, error) {
	if rec.By.Actor == "" { // the person, the command svc or a restore made the request
		return true, nil
	}
	items, err := table.Join(t.Handle, r.platform().Handle).Batch(ctx,
		authz.LiveKeys(t, r.platform(), rec.By.Access(t.ID()))...)
	if err != nil {
		return false, err
	}
	return rec.By.Continue([]authz.Policy{privacy.Policy}, authz.LiveFrom(items), r.Now()) == nil, nil
}

// erase does the next part of an erasure. The first part disables the account, so
// that nothing new is stored of the person; then each source is erased.
func (r Runner) erase(ctx context.Context, p person, rec privacy.Record) (privacy.Record, error) {
	if rec.Step == 0 {
		return r.beginErase(ctx, p, rec)
	}
	list := sources(p)
	if rec.Step <= len(list) {
		next, err := r.source(ctx, p, list[rec.Step-1], rec.Position)
		if err != nil {
			return rec, err
		}
		if rec.Position = next; next == "" {
			rec.Step++
		}
		return r.save(ctx, p.t, rec, nil)
	}
	rec.Step, rec.Status = 0, privacy.Done
	return r.save(ctx, p.t, rec, func(tx *table.Tx) {
		if !rec.Again {
			r.book().Add(tx, due.Task{Tenant: p.t.ID(), Kind: again, ID: rec.ID, At: r.Now().Add(pause)})
		}
	})
}

// source erases the next items of a source of personal data. It returns the position
// after these items, "" at the end.
func (r Runner) source(ctx context.Context, p person, s source, after string) (string, error) {
	page, err := s.read(ctx, p, after, r.atOnce())
	if err != nil {
		return "", err
	}
	for _, it := range page.Items {
		if err := p.eraseItem(ctx, s, it); err != nil {
			return "", err
		}
	}
	if page.More {
		return page.Last, nil
	}
	return "", nil
}

// atOnce returns how many items a slice reads at most.
func (r Runner) atOnce() int { return cmp.Or(r.AtOnce, 200) }

// beginErase is the first part of an erasure: it disables the account. If the operator
// has lost the permission, or there are reasons against the erasure, it blocks the
// request instead. If the person made the request, it is not blocked but tried again a
// day later.
func (r Runner) beginErase(ctx context.Context, p person, rec privacy.Record) (privacy.Record, error) {
	may, err := true, error(nil)
	if !rec.Again {
		may, err = r.allowed(ctx, p.t, rec)
	}
	if may && err == nil && p.erasedAt == "" && !rec.Again {
		rec.Reasons, err = p.reasons(ctx)
	}
	if err != nil {
		return rec, err
	}
	if !may || len(rec.Reasons) > 0 {
		if rec.Status = privacy.Blocked; rec.Self && rec.RunsAt != nil { // the erasure is tried again a day later
			rec.Status = privacy.Ready
			return r.save(ctx, p.t, rec, func(tx *table.Tx) {
				r.book().Add(tx, due.Task{Tenant: p.t.ID(), Kind: own, ID: rec.ID, At: r.Now().Add(24 * time.Hour)})
			})
		}
		return r.save(ctx, p.t, rec, nil)
	}
	if err := p.disable(ctx, audit.By{Who: "svc:privacy", At: r.Now()}); err != nil {
		return rec, err
	}
	rec.Step = 1
	slog.InfoContext(ctx, "a person is erased", "tenant", p.t.ID(), "request", rec.ID)
	return r.save(ctx, p.t, rec, nil)
}

// disable ends the person's access to the account.
func (p person) disable(ctx context.Context, by audit.By) error {
	if p.erasedAt != "" || !p.item.Found() {
		return nil
	}
	return table.Retry(ctx, func(ctx context.Context) error {
		tx := p.t.Write()
		tx.Update(p.item.Key, table.Change{Set: map[string]any{"disabled": true, "since": timestamp.Format(by.At)},
			Add: map[string]any{"version": 1}}).If("attribute_exists(pk)").Else(table.ErrConflict)
		if p.email != "" {
			login.Disable(tx, login.Key(p.t, p.audience, p.email), p.id, true)
		}
		return tx.Commit(ctx)
	})
}
