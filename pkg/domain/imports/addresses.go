package imports

import (
	"context"

	"svc/pkg/domain/address"
	"svc/pkg/edge/api"
)

// save returns the address of a row.
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

// rider returns the identifier of the customer whom a row names.
func (a *applying) rider(cells map[string]string) (string, *Fault) {
	if id := a.actor(cells); id != "" {
		return id, nil
	}
	return "", &Fault{Column: a.Key, Code: "unknown", Message: "No customer has this " + a.Key +
		". Import the customers first."}
}

func (a *applying) address(ctx context.Context, row Row) (*Fault, error) {
	id, f := a.rider(row.Cells)
	if f != nil {
		return f, nil
	}
	s, f := a.save(row.Cells)
	if f != nil {
		return f, nil
	}
	read := a.found[address.Key(a.g.Tenant, id, string(s.Lat), string(s.Lng))]
	created, changed, err := s.Join(ctx, a.tx, a.g.Tenant, id, read, a.g.By.At)
	switch {
	case err != nil:
		return nil, err
	case created:
		a.step.Created++
	case changed:
		a.step.Updated++
	default:
		a.step.Unchanged++
	}
	return nil, nil
}
