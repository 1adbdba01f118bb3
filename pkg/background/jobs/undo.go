package jobs

import (
	"context"
	"fmt"
	"time"

	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/trip"
)

// madeAtOnce is how many parts of an import are read together.
const madeAtOnce = 50

// Undo does one slice of the undo of an import. First it looks at every ride that the
// import made: if something else has changed one, none is removed. Then it removes them,
// each on the condition that it has not changed since, with how far the undo is.
func (r Runner) Undo(ctx context.Context, t table.Tenant, rec *imports.Record) (more bool, err error) {
	began := time.Now()
	limit := r.Time
	if limit == 0 {
		limit = importTime
	}
	for {
		parts, trips, left, err := imports.Made(ctx, t, rec.ID, rec.Undoing.After, madeAtOnce)
		if err != nil {
			return false, err
		}
		for i, part := range parts {
			tx, next := t.Write(), *rec
			state, undo := *rec.Undoing, *rec.Undo
			next.Undoing, next.Undo, state.After = &state, &undo, part
			if err := r.undoPart(ctx, t, tx, &next, trips[i]); err != nil {
				return false, taken(err)
			}
			if *rec = next; rec.Undo.Status == imports.Refused {
				return false, nil
			}
		}
		switch {
		case left:
		case rec.Undoing.Checked:
			rec.Undo.Status = imports.Undone
			return false, taken(r.endUndo(ctx, t, rec))
		case rec.Created > 0 && rec.Undoing.After == "":
			return false, taken(r.refuse(ctx, t, rec, "The import was made by an older version, which did not note its rides."))
		default:
			rec.Undoing.Checked, rec.Undoing.After = true, ""
			if err := r.saveProgress(ctx, t, rec); err != nil {
				return false, taken(err)
			}
		}
		if time.Since(began) > limit {
			return true, taken(r.saveProgress(ctx, t, rec))
		}
	}
}

// undoPart checks or removes the rides that one part of the import made.
func (r Runner) undoPart(ctx context.Context, t table.Tenant, tx *table.Tx, rec *imports.Record,
	made []imports.MadeTrip) error {
	keys := make([]table.Key, len(made))
	for i, one := range made {
		keys[i] = trip.Key(t, one.ID)
	}
	items, err := t.Batch(ctx, keys...)
	if err != nil {
		return err
	}
	for i, it := range items {
		same, err := unchanged(it, made[i])
		if err != nil {
			return err
		}
		switch {
		case !same && !rec.Undoing.Checked:
			return r.refuse(ctx, t, rec, fmt.Sprintf("The ride %s was changed or deleted since. Nothing was removed.",
				made[i].ID))
		case !same:
			rec.Undo.Kept++
		case rec.Undoing.Checked:
			tx.Delete(keys[i]).If("'version' = ? AND 'doc' = ?", 1, it.Raw()).Else(table.ErrConflict)
			if err := trip.IDs.Release(tx, t, made[i].ID, it); err != nil {
				return err
			}
			rec.Undo.Removed++
		}
	}
	if !rec.Undoing.Checked {
		return nil // the end of the slice saves how far the check is
	}
	return r.keep(ctx, t, rec, tx)
}

// unchanged reports whether the item is the ride as the import made it, and not one that
// was made again after a deletion.
func unchanged(it table.Item, made imports.MadeTrip) (bool, error) {
	if !it.Found() || !it.Flag("imported") || it.Version != 1 {
		return false, nil
	}
	tr, err := trip.FromItem(it)
	return err == nil && tr.TripCode == made.Code, err
}

func (r Runner) refuse(ctx context.Context, t table.Tenant, rec *imports.Record, why string) error {
	rec.Undo.Status, rec.Undo.Reason = imports.Refused, &why
	return r.endUndo(ctx, t, rec)
}

// endUndo saves that the undo has ended, and says so in the audit log.
func (r Runner) endUndo(ctx context.Context, t table.Tenant, rec *imports.Record) error {
	by := rec.Undoing.By
	tx := t.Write()
	audit.Append(tx, t, audit.By{Who: orSvc(by.Actor), At: r.Now(), Client: by.Client}, "import.undone", rec.ID, nil,
		map[string]any{"status": rec.Undo.Status, "removed": rec.Undo.Removed, "kept": rec.Undo.Kept})
	return r.keep(ctx, t, rec, tx)
}

func orSvc(actor string) string {
	if actor == "" {
		return "svc"
	}
	return actor
}

// undoing does one slice of the undo of an import that has ended.
func (r Runner) undoing(ctx context.Context, t table.Tenant, rec imports.Record, now time.Time) (more bool, err error) {
	if rec.Lease > timestamp.Format(now) {
		return false, nil
	}
	if rec.Undoing.By.Actor != "" {
		reason, err := r.revoked(ctx, t, rec.Undoing.By, rec.UndoNeeds(), now)
		if err != nil {
			return false, err
		}
		if reason != "" {
			return false, taken(r.refuse(ctx, t, &rec, reason))
		}
	}
	return r.Undo(ctx, t, &rec)
}

// unlist deletes a job from the list of open jobs.
func (r Runner) unlist(ctx context.Context, t table.Tenant, id string) error {
	tx := r.platform().Write()
	tx.Delete(due.JobKey(r.platform(), t, id))
	return table.Retry(ctx, tx.Commit)
}

// isOpen reports whether an import has work left: it has not ended, or is being undone.
func isOpen(rec imports.Record) bool {
	return !rec.Done() || rec.Undo != nil && rec.Undo.Status == imports.Undoing
}
