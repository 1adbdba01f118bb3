package imports

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"slices"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/email"
	"svc/pkg/base/fault"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/address"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
)

// batch is how many rows one transaction writes: at most five items each, and the
// job.
const batch = 18

// Open returns the file from a place on.
type Open func(from int64) (io.ReadCloser, error)

// Check reads the whole file. It returns its shape, the number of rows, and the rows
// that have a fault, at most MaxFaults. An error with a text for the company is a
// Broken one.
func (o Options) Check(g Target, open Open, bad func(Row, Fault) error) (s Shape, rows, faults int, err error) {
	if s, err = o.look(open); err != nil {
		return s, 0, 0, err
	}
	in, err := open(s.Head)
	if err != nil {
		return s, 0, 0, err
	}
	defer in.Close()
	seed, seen := maphash.MakeSeed(), map[uint64]int{}
	err = o.rows(s, in, Place{}, func(row Row) (bool, error) {
		if rows = row.N; rows > MaxRows {
			return false, broken("The file has more than 100,000 rows. Divide it.")
		}
		f := o.read(g, row)
		if column, unique := o.unique(g, row.Cells); f == nil && unique != "" {
			hash := maphash.String(seed, unique)
			if seen[hash] != 0 {
				f = &Fault{Column: column, Code: "duplicate", Message: "An earlier row has the same key."}
			}
			seen[hash] = row.N
		}
		if f == nil {
			return true, nil
		}
		faults++
		return faults < MaxFaults, bad(row, *f)
	})
	if err == nil && rows == 0 {
		err = broken("The file has no rows.")
	}
	return s, rows, faults, err
}

// unique returns what only one row may have, and its column; "" for nothing.
func (o Options) unique(g Target, cells map[string]string) (column, text string) {
	switch o.Kind {
	case "addresses":
		return "", ""
	case "trips":
		return "tripId", cells["tripId"]
	}
	return o.Key, o.keyOf(g, cells)
}

func (o Options) look(open Open) (Shape, error) {
	in, err := open(0)
	if err != nil {
		return Shape{}, err
	}
	defer in.Close()
	return o.shapeOf(in)
}

// Broken returns the text of an error that is for the company, "" for others.
func Broken(err error) string {
	if b, ok := errors.AsType[broken](err); ok {
		return b.Error()
	}
	return ""
}

// Step is the result of applying some rows.
type Step struct {
	Counts
	Next Place
	Bad  []table.Item // the faults as they are stored
}

// Run applies the rows from a place on. skip has the rows that Check found faults
// in. save commits the transaction of each step and returns whether Run goes on.
func (r Record) Run(ctx context.Context, g Target, open Open, skip map[int]bool,
	save func(ctx context.Context, tx *table.Tx, s Step) (bool, error)) error {
	from := r.Place.At
	if from == 0 {
		from = r.Shape.Head
	}
	in, err := open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	g.drivers = &numbered{}
	var rows []Row
	ended := false
	flush := func() (bool, error) {
		for len(rows) > 0 {
			n, more, err := r.apply(ctx, g, rows, skip, save)
			if ended = !more; err != nil || ended {
				return false, err
			}
			rows = slices.Clone(rows[n:])
		}
		return true, nil
	}
	err = r.rows(r.Shape, in, r.Place, func(row Row) (bool, error) {
		if rows = append(rows, row); len(rows) < batch {
			return true, nil
		}
		return flush()
	})
	if err == nil && !ended {
		_, err = flush()
	}
	return err
}

// apply applies the first rows that have nothing in common, in one transaction, and
// returns how many they are.
func (r Record) apply(ctx context.Context, g Target, rows []Row, skip map[int]bool,
	save func(context.Context, *table.Tx, Step) (bool, error)) (n int, more bool, err error) {
	err = table.Retry(ctx, func(ctx context.Context) error {
		a, err := r.lookUp(ctx, g, rows, skip)
		if err != nil {
			return err
		}
		if n, err = a.rows(ctx, rows); err != nil {
			return err
		}
		last := rows[n-1]
		a.step.Next = Place{At: last.To, Line: last.Line, Row: last.N}
		if n < len(rows) {
			a.step.Next.Line = rows[n].Line - 1
		} else {
			a.step.Next.Line += lines(last)
		}
		more, err = save(ctx, a.tx, a.step)
		if errors.Is(err, login.ErrTaken) || errors.Is(err, table.ErrCondition) {
			return table.ErrConflict // somebody was faster: read again
		}
		return err
	})
	return n, more, err
}

// lines returns how many line breaks a row's cells have.
func lines(row Row) (n int) {
	for _, cell := range row.Cells {
		for _, c := range cell {
			if c == '\n' {
				n++
			}
		}
	}
	return n
}

// applying is the state of one step of an import while it runs.
type applying struct {
	Record
	g       Target
	tx      *table.Tx
	step    Step
	skip    map[int]bool
	found   map[table.Key]table.Item // what the rows' keys lead to, and the records
	touched map[table.Key]bool
	typed   typed
}

// lookUp reads what the rows need in two batches: the keys, then the records. Phones that
// lead to nobody are searched then.
func (r Record) lookUp(ctx context.Context, g Target, rows []Row, skip map[int]bool) (*applying, error) {
	a := &applying{Record: r, g: g, tx: g.Tenant.Write(), skip: skip, found: map[table.Key]table.Item{},
		touched: map[table.Key]bool{}}
	var keys []table.Key
	for i := range rows {
		if f := r.read(g, rows[i]); f == nil && !skip[rows[i].N] {
			keys = append(keys, a.keys(rows[i].Cells)...)
			if r.Kind == "trips" {
				keys = append(append(keys, a.driverKeys(rows[i].Cells)...), a.tripKey(rows[i].Cells))
			}
		}
	}
	if err := a.load(ctx, keys); err != nil {
		return nil, err
	}
	var records []table.Key
	for _, it := range a.found {
		if id := leadsTo(it); id != "" {
			records = append(records, authz.ActorKey(g.Tenant, audienceOf(id), id))
		}
	}
	if err := a.load(ctx, records); err != nil {
		return a, err
	}
	if err := a.searchTyped(ctx, rows); err != nil || r.Kind != "addresses" {
		return a, err
	}
	var places []table.Key
	for _, row := range rows {
		if id := a.actor(row.Cells); id != "" && !skip[row.N] {
			if s, f := r.save(row.Cells); f == nil {
				places = append(places, address.Key(g.Tenant, id, string(s.Lat), string(s.Lng)))
			}
		}
	}
	return a, a.load(ctx, places)
}

func (a *applying) load(ctx context.Context, keys []table.Key) error {
	slices.SortFunc(keys, func(x, y table.Key) int { return slices.Compare([]string{x.PK, x.SK}, []string{y.PK, y.SK}) })
	keys = slices.Compact(keys)
	for logins, some := range map[bool][]table.Key{true: chosen(keys, true), false: chosen(keys, false)} {
		read := a.g.Tenant.Batch
		if logins { // an import must not see the hash of a password
			read = func(ctx context.Context, keys ...table.Key) ([]table.Item, error) {
				return a.g.Tenant.BatchOf(ctx, []string{"actor"}, keys...)
			}
		}
		items, err := read(ctx, some...)
		if err != nil {
			return err
		}
		for i, it := range items {
			a.found[some[i]] = it
		}
	}
	return nil
}

// chosen returns the keys that are, or are not, those of sign-in items.
func chosen(keys []table.Key, logins bool) []table.Key {
	return slices.DeleteFunc(slices.Clone(keys), func(k table.Key) bool { return (k.SK == "LOGIN") != logins })
}

// keys returns the keys of the items that lead to a row's person, if they exist: the
// index item, the row of a caller and the sign-in item.
func (a *applying) keys(cells map[string]string) (out []table.Key) {
	t, audience := a.g.Tenant, kinds[a.Kind].audience
	if a.Key != "email" {
		out = append(out, indexKey(t, audience, a.Key, a.keyOf(a.g, cells)))
	}
	if a.Key == "phone" && audience == authz.Rider {
		out = append(out, customer.CallerKey(t, a.keyOf(a.g, cells)))
	}
	if address := cells["email"]; email.Valid(email.Fold(address)) {
		out = append(out, login.Key(t, audience, address))
	}
	return out
}

// rows adds rows to the transaction until one has something in common with those
// before, and returns how many it has added.
func (a *applying) rows(ctx context.Context, rows []Row) (int, error) {
	for i, row := range rows {
		if a.skip[row.N] {
			continue
		}
		f := a.read(a.g, row)
		if f == nil {
			keys := append(a.keys(row.Cells), authz.ActorKey(a.g.Tenant, kinds[a.Kind].audience, a.actor(row.Cells)))
			if a.Kind == "trips" {
				keys = []table.Key{a.tripKey(row.Cells)}
			}
			if i > 0 && slices.ContainsFunc(keys, func(k table.Key) bool { return a.touched[k] }) {
				return i, nil
			}
			if a.actor(row.Cells) == "" && a.Kind != "trips" {
				keys = keys[:len(keys)-1]
			}
			for _, k := range keys {
				a.touched[k] = true
			}
			var err error
			if f, err = a.row(ctx, row); err != nil {
				return 0, err
			}
		}
		if f != nil {
			a.step.Failed++
			a.step.Bad = append(a.step.Bad, a.FaultItem(a.g.Tenant, row, *f))
		}
	}
	return len(rows), nil
}

func (a *applying) row(ctx context.Context, row Row) (*Fault, error) {
	if f := a.shared(row.Cells); f != nil {
		return f, nil
	}
	switch a.Kind {
	case "trips":
		return a.trip(row)
	case "addresses":
		return a.address(ctx, row)
	case "drivers":
		r := driver.Record{Driver: driver.Driver{Status: driver.Offline}}
		return person(ctx, a, row, r, driver.Changing, driver.Prepare, driver.Add, a.setDriver,
			func(r *driver.Record) (string, string, *string) { return r.ID, r.ExternalID, r.Phone })
	}
	return person(ctx, a, row, customer.Record{}, customer.Changing, customer.Prepare, customer.Add,
		a.setCustomer, func(r *customer.Record) (string, string, *string) { return r.ID, r.ExternalID, r.Phone })
}

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
func person[R any](ctx context.Context, a *applying, row Row, blank R,
	changing func(table.Tenant, audit.By, string, func(*R) error) audit.Change[R], prepare func(*R, audit.By) error,
	add func(*table.Tx, table.Tenant, audit.By, R, int), set func(Target, *R, map[string]string),
	marks func(*R) (id, external string, phone *string)) (*Fault, error) {
	t, audience, id := a.g.Tenant, kinds[a.Kind].audience, a.actor(row.Cells)
	index := table.Key{}
	if a.Key != "email" {
		index = indexKey(t, audience, a.Key, a.keyOf(a.g, row.Cells))
	}
	if id == "" {
		set(a.g, &blank, row.Cells)
		if err := prepare(&blank, a.g.By); err != nil {
			return faultOf(err, nil), nil
		}
		id, _, _ = marks(&blank)
		add(a.tx, t, a.g.By, blank, a.g.Shards)
		a.lead(index, id)
		a.step.Created++
		return nil, nil
	}
	read := a.found[authz.ActorKey(t, audience, id)]
	c := changing(t, a.g.By, id, func(r *R) error { set(a.g, r, row.Cells); return nil })
	was, err := c.FromItem(read)
	if err != nil {
		return nil, err
	}
	_, has, typed := marks(&was)
	if a.Key == "phone" {
		has = phoneOf(a.g, typed)
	}
	if a.Key != "email" && !a.found[index].Found() && has != "" && has != a.keyOf(a.g, row.Cells) {
		return &Fault{Column: "email", Code: "taken", Message: "The person with this mail address has another " + a.Key +
			"."}, nil
	}
	switch l := a.found[login.Key(t, audience, row.Cells["email"])]; {
	case l.Found() && l.Text("actor") != id:
		return &Fault{Column: "email", Code: "taken", Message: "Somebody else has this mail address."}, nil
	case !l.Found() && row.Cells["email"] != "" && !a.g.MovesLogins:
		return &Fault{Column: "email", Code: "signsIn", Message: "The person signs in with another mail address. Change it " +
			"with svc, or leave this cell empty."}, nil
	}
	changed, err := c.Join(ctx, a.tx, read)
	if f := fault.Of(err); err != nil && len(f.Details) > 0 {
		return faultOf(err, nil), nil
	}
	if err != nil {
		return nil, err
	}
	if a.lead(index, id) || changed {
		a.step.Updated++
	} else {
		a.step.Unchanged++
	}
	return nil, nil
}

var _ = table.Kind{Type: "imported", Personal: "hash of a phone number or external identifier", Erasure: "deletes",
	Once: "leads to one person for good"}

// lead writes the index row of a person, unless it is there.
func (a *applying) lead(index table.Key, id string) bool {
	was := a.found[index]
	if index == (table.Key{}) || was.Text("actor") == id {
		return false
	}
	it := table.Item{Key: index, Type: "imported", Attrs: map[string]any{"actor": id}}
	if was.Found() { // of a person who is gone
		a.tx.Put(it).If("'actor' = ?", was.Text("actor")).Else(table.ErrConflict)
		return true
	}
	a.tx.Create(it).Else(table.ErrConflict)
	return true
}
