package erasure

import (
	"context"
	"errors"
	"strings"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/tenant"
)

// retaining is the identifier of the job that applies a tenant's retention.
const retaining = "retention"

// late is the kind of a due task for one trip or order that the retention could not
// process in its turn, because the trip or order had not ended or was changed recently.
// The task's ID is <name of the part>#<id of the trip or order>.
const late = "retainTrip"

// retained stores how far the retention has removed the tenant's old data. It has one
// position for each list in parts: everything before the position is done.
type retained struct {
	Positions map[string]string `json:"positions"`

	read table.Item
}

// retainedKey is the key of the tenant's retained item.
func retainedKey(t table.Tenant) table.Key { return t.Key("PRIVACY", "RETENTION", "RETENTION") }

// readRetained reads the tenant's retained item; without one, all positions are at the
// start.
func readRetained(ctx context.Context, t table.Tenant) (retained, error) {
	it, err := t.Get(ctx, retainedKey(t))
	if err != nil {
		return retained{}, err
	}
	s, err := table.DecodeOr(it, retained{Positions: map[string]string{}})
	s.read = it
	return s, err
}

var _ = table.Kind[any]{Type: "retention", Personal: "nothing"}

// put adds to the transaction the write of s, on the condition that nobody has changed
// it since it was read.
func (s retained) put(tx *table.Tx, t table.Tenant) {
	audit.Put(tx, s.read, table.Item{Key: retainedKey(t), Type: "retention", Version: 1, Doc: s})
}

// retention reads after how many days a tenant's data is removed. For a tenant that is
// gone it returns the zero Retention, which removes nothing.
func (r Runner) retention(ctx context.Context, t table.Tenant) (tenant.Retention, error) {
	n, err := tenant.Store{DB: r.DB}.ByID(ctx, t.ID())
	if errors.Is(err, fault.NotFound()) {
		err = nil
	}
	return n.Retain, err
}

// beginRetention begins the job that applies the tenant's retention, and adds the due
// task of the next day. A tenant that keeps all data gets neither. id is the id of
// the current due task. If id is tenant.Afresh, the job examines every trip and order again.
func (r Runner) beginRetention(ctx context.Context, t table.Tenant, id string) error {
	keep, err := r.retention(ctx, t)
	if err != nil || keep == (tenant.Retention{}) {
		return err
	}
	return table.Retry(ctx, func(ctx context.Context) error {
		job, err := r.platform().Get(ctx, due.JobKey(r.platform(), t, retaining))
		if err != nil {
			return err
		}
		tx := t.Write().Covers(r.platform().Handle)
		if !job.Found() {
			due.BeginJob(tx, r.platform(), t, retaining)
		}
		if id == tenant.Afresh {
			s, err := readRetained(ctx, t)
			if err != nil {
				return err
			}
			s.Positions = map[string]string{}
			s.put(tx, t)
		}
		r.book().Add(tx, due.Task{Tenant: t.ID(), Kind: tenant.RetentionTask, ID: "daily",
			At: tenant.NextRetention(t, r.Now())})
		return tx.Commit(ctx)
	})
}

// retain does the next slice of a tenant's retention: a page of trips or orders of one
// part. When no part is left, it removes old driver positions and audit entries, and
// ends the job. It reads the setting each time, so a change applies at once.
func (r Runner) retain(ctx context.Context, t table.Tenant) (more bool, err error) {
	keep, err := r.retention(ctx, t)
	if err != nil {
		return false, err
	}
	s, err := readRetained(ctx, t)
	if err != nil {
		return false, err
	}
	for _, p := range parts {
		days := p.days(keep)
		if days == 0 {
			continue
		}
		page, err := p.older(ctx, t, r.ago(days), s.Positions[p.name], r.atOnce())
		if err != nil {
			return false, err
		}
		if len(page.Items) == 0 && !page.More {
			continue
		}
		if err := r.retainPage(ctx, t, p, days, page, s); err != nil {
			if errors.Is(err, table.ErrConflict) {
				return false, nil // another process was faster; it or the next run goes on
			}
			return false, err
		}
		return true, nil
	}
	if keep.Positions > 0 {
		if err := r.forgetPlaces(ctx, t, r.ago(keep.Positions)); err != nil {
			return false, err
		}
	}
	if keep.Audit > 0 {
		if err := r.forgetAudit(ctx, t, r.ago(keep.Audit)); err != nil {
			return false, err
		}
	}
	tx := r.platform().Write()
	tx.Delete(due.JobKey(r.platform(), t, retaining))
	return false, table.Retry(ctx, tx.Commit)
}

// ago returns the time that many days before now.
func (r Runner) ago(days int) time.Time { return r.Now().AddDate(0, 0, -days) }

// retainPage applies the retention of a part to a page of trips or orders, and saves
// the position after it.
func (r Runner) retainPage(ctx context.Context, t table.Tenant, p part, days int, page table.Page, s retained) error {
	for _, it := range page.Items {
		_, id, _ := strings.Cut(it.R, "#")
		if err := r.retainOne(ctx, t, p, days, id); err != nil {
			return err
		}
		s.Positions[p.name] = it.R
	}
	if page.More {
		s.Positions[p.name] = page.Last
	}
	tx := t.Write()
	s.put(tx, t)
	return tx.Commit(ctx)
}

// retainOne removes a part's data from a trip or order. If the trip or order is not
// over, or was changed less than days ago, it adds a due task that tries again later.
func (r Runner) retainOne(ctx context.Context, t table.Tenant, p part, days int, id string) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		rows, err := t.Query(ctx, p.key(t, id).PK, table.Query{Limit: table.Examined, Consistent: true, Fill: true})
		if err != nil {
			return err
		}
		tx, over, updated := t.Write(), false, ""
		for _, row := range rows.Items {
			if row.SK == p.key(t, id).SK {
				if over, updated, err = p.state(row); err != nil {
					return err
				}
			}
			if err := p.remove(tx, row); err != nil {
				return err
			}
		}
		if updated == "" {
			return nil // the trip or order was deleted
		}
		changed, err := timestamp.Parse(updated)
		if err != nil {
			return err
		}
		at := changed.AddDate(0, 0, days)
		if !over || at.After(r.Now()) {
			if tx = t.Write(); !at.After(r.Now()) {
				at = r.Now().AddDate(0, 0, 1)
			}
			r.book().Add(tx, due.Task{Tenant: t.ID(), Kind: late, ID: p.name + "#" + id, At: at})
		}
		if tx.Len() == 0 {
			return nil
		}
		return tx.Commit(ctx)
	})
}

// retainLate carries out a due task about one trip or order. what is the ID of the task
// (see late).
func (r Runner) retainLate(ctx context.Context, t table.Tenant, what string) error {
	name, id, _ := strings.Cut(what, "#")
	keep, err := r.retention(ctx, t)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if days := p.days(keep); p.name == name && days > 0 {
			return r.retainOne(ctx, t, p, days, id)
		}
	}
	return nil
}

// forgetPlaces removes the last known positions of drivers that were measured earlier
// than the time before.
//
// Access pattern: by-g1 T#t#DRIVERS#shard, then one batch for each page.
func (r Runner) forgetPlaces(ctx context.Context, t table.Tenant, before time.Time) error {
	last := timestamp.Format(before)
	for after := ""; ; {
		records, next, err := driver.List(ctx, t, "", after, 100)
		if err != nil {
			return err
		}
		var keys []table.Key
		for _, d := range records {
			keys = append(keys, driver.LocationKey(t, d.ID))
			if d.LocationUpdatedAt != nil && *d.LocationUpdatedAt < last {
				keys = append(keys, driver.Key(t, d.ID))
			}
		}
		for ; len(keys) > 0; keys = keys[min(100, len(keys)):] {
			items, err := t.Batch(ctx, keys[:min(100, len(keys))]...)
			if err != nil {
				return err
			}
			for _, it := range items {
				if err := forgetPlace(ctx, t, it, last); err != nil {
					return err
				}
			}
		}
		if after = next; next == "" {
			return nil
		}
	}
}

// forgetPlace removes a driver's position from the item, if it was measured earlier than
// the timestamp before. If the driver reports a new position meanwhile, the new one
// stays.
func forgetPlace(ctx context.Context, t table.Tenant, it table.Item, before string) error {
	if !it.Found() {
		return nil
	}
	tx := t.Write()
	if it.Type == "driver" {
		doc, err := table.DecodeDoc[document](it)
		if err != nil || !cut(doc, "currentLat", "currentLng", "locationUpdatedAt") {
			return err
		}
		put(tx, it, doc)
	} else {
		l, _, err := driver.LocationFromItem(it)
		if err != nil || l.RecordedAt >= before {
			return err
		}
		tx.Delete(it.Key).If("recordedAt = ?", it.Text("recordedAt"))
	}
	err := tx.Commit(ctx)
	if table.Overtaken(err) {
		return nil // the position is new now, or the run of the next day removes it
	}
	return err
}

// forgetAudit deletes the audit entries that are older than the time before.
//
// Access pattern: T#t#AUDIT up to the time.
func (r Runner) forgetAudit(ctx context.Context, t table.Tenant, before time.Time) error {
	for items, err := range t.Pages(ctx, t.Partition("AUDIT"), table.Query{To: timestamp.Format(before), Limit: 100}) {
		if err != nil {
			return err
		}
		tx := t.Write()
		for _, it := range items {
			tx.Delete(it.Key)
		}
		if tx.Len() == 0 {
			return nil
		}
		if err := table.Retry(ctx, tx.Commit); err != nil {
			return err
		}
	}
	return nil
}
