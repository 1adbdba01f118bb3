package erasure

import (
	"context"

	"svc/pkg/data/table"
	"svc/pkg/domain/export"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/privacy"
)

// remove deletes the files whose names begin with one of names. After a restore of the
// table from a backup, p.files is nil: the first erasure has deleted the files.
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

// eraseExport deletes the file of an export, because the file may contain data of the
// erased person. An export that is under way begins again.
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

// eraseImport deletes the files of an import. It also clears the ignored headings,
// because in a file without a header they are values of the first row. An import that is
// under way still reads its rows, so the erasure waits for it with table.ErrConflict.
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
