package erasure

import (
	"context"

	"svc/pkg/data/table"
	"svc/pkg/domain/export"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/privacy"
)

// remove deletes files whose names begin so. After a restore there are no files to
// delete: the erasure before it has deleted them.
func (p person) remove(ctx context.Context, names ...string) error {
	if p.files == nil {
		return nil
	}
	for _, name := range names {
		if err := p.files.Remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// eraseExport deletes the file of an export, because nobody knows who is in it. An
// export that is under way begins again.
func eraseExport(ctx context.Context, p person, tx *table.Tx, it table.Item) error {
	rec, err := export.Kind.FromItem(it)
	if err != nil || rec.Kind == "report" || rec.Status == export.Failed ||
		rec.Status == export.Ready && rec.ExpiresAt != nil && *rec.ExpiresAt <= p.at {
		return err
	}
	if err := p.remove(ctx, rec.File(p.t)); err != nil {
		return err
	}
	if rec.Restart(); rec.Status == export.Ready {
		rec.ExpiresAt = &p.at
	}
	tx.Replace(export.Kind.Item(p.t, "", rec)).Else(table.ErrConflict)
	return nil
}

// eraseImport deletes the files of an import, and the headings that mean nothing: those
// of a file without a header are its first row. An import that is under way has the rest
// of its rows to read, so the erasure waits for it.
func eraseImport(ctx context.Context, p person, tx *table.Tx, it table.Item) error {
	rec, err := imports.Kind.FromItem(it)
	if err != nil || rec.Status == imports.Waiting || rec.Gone && len(rec.Ignored)+len(rec.Shape.Ignored) == 0 {
		return err
	}
	if !rec.Done() {
		return table.ErrConflict
	}
	if err := p.remove(ctx, rec.File(p.t), rec.FailedFile(p.t)); err != nil {
		return err
	}
	if rec.Gone, rec.Shape.Ignored = true, nil; rec.Ignored != nil {
		rec.Ignored = []string{}
	}
	tx.Replace(imports.Kind.Item(p.t, "", rec)).Else(table.ErrConflict)
	return nil
}

// eraseCopy deletes an earlier copy of the person's data.
func eraseCopy(ctx context.Context, p person, tx *table.Tx, it table.Item) error {
	rec, err := privacy.Kind.FromItem(it)
	if err != nil {
		return err
	}
	tx.Delete(it.Key)
	return p.remove(ctx, rec.File(p.t))
}
