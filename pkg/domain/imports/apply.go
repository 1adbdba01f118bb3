package imports

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"slices"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/panics"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
)

// batch is how many rows one transaction writes. Most write at most five items each.
const batch = 18

// mostOps is how many operations a step has before its last row. A row has at most seven, and
// the job needs three of the 100 that a transaction may have.
const mostOps = 90

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
		if f == nil {
			column, unique := o.unique(g, row.Cells)
			hash := maphash.String(seed, unique)
			if unique == "" || seen[hash] == 0 {
				seen[hash] = row.N
				return true, nil
			}
			f = &Fault{Column: column, Code: "duplicate", Message: "An earlier row has the same key."}
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
	if key := o.keyOf(g, cells); key != "" {
		return o.Key, key
	}
	return "id", cells["id"]
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
	Made []MadeTrip   // the trips that were created
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
	panicked := map[int]*Fault{}
	err = table.Retry(ctx, func(ctx context.Context) error {
		var a *applying
		for again := true; again; { // at most once for each row
			a = &applying{Record: r, g: g, tx: g.Tenant.Write(), found: map[table.Key]table.Item{}, panicked: panicked}
			if err = a.resolve(ctx, rows, skip); err != nil {
				return err
			}
			n, err = a.rows(ctx, len(rows))
			again = errors.Is(err, errPart)
		}
		if err != nil {
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

// errPart means that a row has panicked, after a part of it was added to the
// transaction.
var errPart = errors.New("the transaction has a part of a row")

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
	g     Target
	tx    *table.Tx
	step  Step
	refs  []*reference             // the rows, but for those that Check found faults in
	found map[table.Key]table.Item // what the rows' keys lead to, and the records

	panicked map[int]*Fault // the rows whose work has panicked
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

// rows adds rows to the transaction until it is full or one has something in common with
// those before, and returns how many of the step's n rows are done.
func (a *applying) rows(ctx context.Context, n int) (int, error) {
	touched := map[table.Key]bool{}
	for _, ref := range a.refs {
		about := ref.keys
		if ref.claim != (table.Key{}) {
			about = append(about, ref.claim)
		}
		switch {
		case a.Kind == "trips":
			about = []table.Key{ref.stored}
		case ref.person != "":
			about = append(about, authz.ActorKey(a.g.Tenant, kinds[a.Kind].audience, ref.person))
		}
		if a.tx.Len()+len(a.step.Bad) > mostOps ||
			slices.ContainsFunc(about, func(k table.Key) bool { return touched[k] }) {
			return ref.at, nil
		}
		for _, k := range about {
			touched[k] = true
		}
		if ref.fault == nil {
			err := panics.Try(func() (err error) {
				ref.fault, err = a.row(ctx, ref)
				return err
			})
			if panics.Panicked(err) {
				a.panicked[ref.N] = panicked(a.g, ref.Row, err)
				return 0, errPart
			}
			if err != nil {
				return 0, err
			}
		}
		if ref.fault != nil {
			a.step.Failed++
			a.step.Bad = append(a.step.Bad, a.FaultItem(a.g.Tenant, ref.Row, *ref.fault))
		}
	}
	return n, nil
}

func (a *applying) row(ctx context.Context, ref *reference) (*Fault, error) {
	switch a.Kind {
	case "trips":
		return a.trip(ref)
	case "addresses":
		return nil, a.address(ctx, ref)
	case "drivers":
		r := driver.Record{Driver: driver.Driver{Status: driver.Offline}}
		return person(ctx, a, ref, driver.Store, r, a.setDriver)
	}
	return person(ctx, a, ref, customer.Store, customer.Record{}, a.setCustomer)
}
