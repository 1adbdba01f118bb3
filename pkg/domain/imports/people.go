package imports

import (
	"context"

	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/domain/account"
)

func phoneOf(g Target, typed *string) string {
	if typed == nil {
		return ""
	}
	if n := g.number(*typed); n != nil {
		return n.E164
	}
	return ""
}

// person creates or changes the person of a row.
func person[R any](ctx context.Context, a *applying, ref *reference, store account.Kind[R], blank R,
	set func(Target, *R, map[string]string)) (*Fault, error) {
	t, id, index, cells := a.g.Tenant, ref.person, ref.index, ref.Cells
	if id == "" && cells[a.Key] == "" {
		return &Fault{Column: "id", Code: "unknown", Message: "Nobody here has this id, or the person was erased."}, nil
	}
	if id == "" {
		set(a.g, &blank, cells)
		if err := store.Prepare(&blank, a.g.By); err != nil {
			return personFault(err, cells, nil), nil
		}
		store.Add(a.tx, t, a.g.By, blank, "", a.g.Shards)
		a.lead(index, *store.Fields(&blank).ID)
		a.step.Created++
		return nil, nil
	}
	read := a.found[store.Key(t, id)]
	c := store.Changing(t, a.g.By, id, func(r *R) error { set(a.g, r, cells); return nil })
	was, err := c.Value(read)
	if err != nil {
		return nil, err
	}
	has := *store.Fields(&was).ExternalID
	if a.Key == "phone" {
		has = phoneOf(a.g, *store.Fields(&was).Phone)
	}
	if index != (table.Key{}) && !a.found[index].Found() && has != "" && has != a.keyOf(a.g, cells) {
		return &Fault{Column: "email", Code: "taken", Message: "The person with this mail address has another " + a.Key +
			"."}, nil
	}
	switch l := a.found[ref.login]; {
	case l.Found() && l.Text("actor") != id:
		return &Fault{Column: "email", Code: "taken", Message: "Somebody else has this mail address."}, nil
	case !l.Found() && cells["email"] != "" && !a.g.MovesLogins:
		return &Fault{Column: "email", Code: "signsIn", Message: "The person signs in with another mail address. Change it " +
			"with svc, or leave this cell empty."}, nil
	}
	changed, err := c.Join(ctx, a.tx, read)
	if f := fault.Of(err); err != nil && len(f.Details) > 0 {
		return personFault(err, cells, nil), nil
	}
	if err != nil {
		return nil, err
	}
	if a.lead(index, id); changed {
		a.step.Updated++
	} else {
		a.step.Unchanged++
	}
	return nil, nil
}

var _ = table.Kind[any]{Type: "imported", Personal: "hash of a phone number or external identifier", Erasure: "deletes",
	Once: "leads to one person for good"}

// lead writes the index row of a person, unless it is there.
func (a *applying) lead(index table.Key, id string) {
	was := a.found[index]
	if index == (table.Key{}) || was.Text("actor") == id {
		return
	}
	it := table.Item{Key: index, Type: "imported", Attrs: map[string]any{"actor": id}}
	if was.Found() { // of a person who is gone
		a.tx.Put(it).If("'actor' = ?", was.Text("actor")).Else(table.ErrConflict)
		return
	}
	a.tx.Create(it).Else(table.ErrConflict)
}
