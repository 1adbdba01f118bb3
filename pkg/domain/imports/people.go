package imports

import (
	"cmp"
	"context"
	"errors"

	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/domain/account"
	"svc/pkg/domain/external"
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
	set func(Target, *R, map[string]string) error) (*Fault, error) {
	t, id, index, cells := a.g.Tenant, ref.person, ref.index, ref.Cells
	if id == "" && cells[a.Key] == "" {
		return &Fault{Column: "id", Code: "unknown", Message: "Nobody here has this id, or the person was erased."}, nil
	}
	if id == "" {
		if holder := a.holder(ref); holder != "" {
			return taken(holder), nil
		}
		if err := cmp.Or(set(a.g, &blank, cells), store.Prepare(&blank, a.g.By)); err != nil {
			return personFault(err, cells, nil), nil
		}
		store.Add(a.tx, t, a.g.By, blank, "", a.g.Shards)
		a.lead(ref, *store.Fields(&blank).ID, true)
		a.step.Created++
		return nil, nil
	}
	read := a.found[store.Key(t, id)]
	c := store.Changing(t, a.g.By, id, func(r *R) error { return set(a.g, r, cells) })
	was, err := c.Value(read)
	if err != nil {
		return nil, err
	}
	outside := store.Fields(&was).Members.ExternalID
	has, keeps := outside, cells["externalId"] == "" || cells["externalId"] == outside
	if a.Key == "phone" {
		has = phoneOf(a.g, *store.Fields(&was).Phone)
	}
	if index != (table.Key{}) && !a.found[index].Found() && has != "" && has != a.keyOf(a.g, cells) {
		return &Fault{Column: "email", Code: "taken", Message: "The person with this mail address has another " + a.Key +
			"."}, nil
	}
	switch l, holder := a.found[ref.login], a.holder(ref); {
	case !keeps && holder != "" && holder != id:
		return taken(holder), nil
	case l.Found() && l.Text("actor") != id:
		return &Fault{Column: "email", Code: "taken", Message: "Somebody else has this mail address."}, nil
	case !l.Found() && cells["email"] != "" && !a.g.MovesLogins:
		return &Fault{Column: "email", Code: "signsIn", Message: "The person signs in with another mail address. Change it " +
			"with svc, or leave this cell empty."}, nil
	}
	changed, err := c.Join(ctx, a.tx, read)
	switch f := fault.Of(err); {
	case errors.Is(err, fault.InvalidState("")) && len(f.Details) > 0: // somebody was faster
		return nil, table.ErrConflict
	case err != nil && len(f.Details) > 0:
		return personFault(err, cells, nil), nil
	}
	if err != nil {
		return nil, err
	}
	if a.lead(ref, id, keeps); changed {
		a.step.Updated++
	} else {
		a.step.Unchanged++
	}
	return nil, nil
}

// holder returns the person who has the row's identifier in another system, "" for nobody.
func (a *applying) holder(ref *reference) string {
	return a.known(kinds[a.Kind].audience, a.found[ref.claim].Text("actor"))
}

// taken returns the fault of a row whose identifier somebody else has.
func taken(holder string) *Fault {
	return &Fault{Column: "externalId", Code: "taken", Message: "Somebody else has this externalId: " + holder + "."}
}

// lead writes the rows that lead to a person, unless they are there or lead to another
// one. The change of a person who gets another identifier claims it.
func (a *applying) lead(ref *reference, id string, claims bool) {
	keys := []table.Key{ref.index}
	if ref.claim != ref.index {
		keys = append(keys, ref.claim)
	}
	for _, key := range keys {
		was := a.found[key]
		holder := a.known(kinds[a.Kind].audience, was.Text("actor"))
		switch {
		case key == (table.Key{}) || key == ref.claim && (!claims || holder != "") || was.Text("actor") == id:
		case was.Found(): // of a person who is gone, or has another number
			a.tx.Put(external.Row(key, id)).If("'actor' = ?", was.Text("actor")).Else(table.ErrConflict)
		default:
			a.tx.Create(external.Row(key, id)).Else(table.ErrConflict)
		}
	}
}
