package imports

import (
	"context"

	"svc/pkg/domain/address"
	"svc/pkg/edge/api"
)

// save reads a saved address from the cells of a row of the file, by column. It returns the
// first fault of the cells, nil if there is none.
func (o Options) save(cells map[string]string) (s address.Save, f *Fault) {
	if s.Lat, f = o.degrees(cells, "lat"); f != nil {
		return s, f
	}
	if s.Lng, f = o.degrees(cells, "lng"); f != nil {
		return s, f
	}
	s.Address = cells["address"]
	for _, field := range []struct {
		to     *api.Field
		column string
	}{{&s.Label, "label"}, {&s.Notes, "notes"}} {
		if text := cells[field.column]; text != "" {
			field.to.Set, field.to.Value = true, &text
		}
	}
	return s, faultOf(s.Check(), nil)
}

// address saves the address of the row ref, in the transaction of the current step of the
// import. It counts the row as created, updated or unchanged.
func (a *applying) address(ctx context.Context, ref *reference) error {
	created, changed, err := ref.save.Join(ctx, a.tx, a.g.Tenant, ref.person, a.found[ref.stored], a.g.By.At)
	switch {
	case err != nil:
	case created:
		a.step.Created++
	case changed:
		a.step.Updated++
	default:
		a.step.Unchanged++
	}
	return err
}
