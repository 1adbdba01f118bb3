package customer

import (
	"context"
	"slices"
	"strings"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/panics"
	"svc/pkg/base/phone"
	"svc/pkg/data/table"
)

// An operator books a ride for somebody who calls. A caller row is an item of the table
// that says which customers have a phone number. Its attribute riders is the set of
// customers whom bookings and operators gave the number. The attribute searched means that
// a booking has also searched for other customers with the number, and the set has them. A
// customer of the set may have another number by now, or be erased. So whoever uses the
// row must also check the customer's record.

// MostSharing is the maximum number of customers in a caller row.
const MostSharing = 50

// callerRow is the range key of a caller row.
const callerRow = "CALLER"

// CallerKey returns the key of the caller row of a number, which is the digits of its
// E.164 form. The key has a hash of the number, because a key must not tell of a person.
func CallerKey(t table.Tenant, number string) table.Key {
	return t.Key(callerRow, ids.Hash(t.ID()+"\x00"+number), callerRow)
}

// Only returns the id of the only customer in a caller row. It returns "" if the row does
// not name exactly one, or if no booking has searched for other customers with the number.
func Only(row table.Item) string {
	if riders := row.Strings("riders"); row.Flag("searched") && len(riders) == 1 {
		return riders[0]
	}
	return ""
}

// The declaration of caller rows (table.Kind).
var _ = table.Kind[any]{Type: "caller", Personal: "hash of a phone number, whose it is", Erasure: "removes",
	Once: "leads to those with a number; only booking again after a change replaces it"}

// Claim writes the caller row in the transaction, with the customer with the id as the only
// one. row is the item as it was read. If it has changed since, the transaction fails with
// the error changed.
func Claim(tx *table.Tx, row table.Item, id string, changed error) {
	next := table.Item{Key: row.Key, Type: "caller", Version: 1, Preserve: row.Unknown(),
		Attrs: map[string]any{"riders": []string{id}, "searched": true}}
	if !row.Found() {
		tx.Create(next).Else(changed)
		return
	}
	next.Version = row.Version
	tx.Replace(next).Else(changed)
}

// ClaimUnread is like Claim, but needs no read of the caller row. If the row names any
// other customer, the transaction fails with the error changed.
func ClaimUnread(tx *table.Tx, t table.Tenant, number, id string, changed error) {
	tx.Update(CallerKey(t, number), table.Change{Default: map[string]any{"type": "caller", "v": 1},
		Set: map[string]any{"riders": []string{id}, "searched": true}, Add: map[string]any{"version": 1}}).
		If("attribute_not_exists(riders) OR (size(riders) = ? AND contains(riders, ?))", 1, id).Else(changed)
}

// errSharing is the 409 for a number that MostSharing customers have already.
var errSharing = fault.InvalidState("%d customers have this phone number already. Leave it out.", MostSharing)

// Share adds the customer r to the caller row of the customer's phone number, in the
// transaction. It does nothing if the record has no parsed number. If MostSharing customers
// have the number, the transaction fails with a 409.
func Share(tx *table.Tx, t table.Tenant, r Record) {
	if !r.Number.Of(r.Phone) {
		return
	}
	tx.Update(CallerKey(t, r.Number.E164), table.Change{Default: map[string]any{"type": "caller", "v": 1},
		Add: map[string]any{"riders": []string{r.ID}, "version": 1}}).
		If("attribute_not_exists(riders) OR size(riders) < ?", MostSharing).Else(errSharing)
}

// Forget removes the customer from the caller row of a number that the customer has or
// had. It deletes a row without customers.
func Forget(ctx context.Context, t table.Tenant, id, number string) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		row, err := t.Get(ctx, CallerKey(t, number))
		if err != nil || !slices.Contains(row.Strings("riders"), id) {
			return err
		}
		rest := slices.DeleteFunc(row.Strings("riders"), func(rider string) bool { return rider == id })
		tx := t.Write()
		if len(rest) == 0 {
			tx.Delete(row.Key).If("'version' = ?", row.Version).Else(table.ErrConflict)
		} else {
			tx.Update(row.Key, table.Change{Set: map[string]any{"riders": rest}, Add: map[string]any{"version": 1}}).
				If("'version' = ?", row.Version).Else(table.ErrConflict)
		}
		return tx.Commit(ctx)
	})
}

// HasNumber adds a condition on a customer: the transaction fails with the error changed if
// the customer is disabled, or if the record does not have the number (E.164, digits).
func HasNumber(tx *table.Tx, t table.Tenant, id, number string, changed error) {
	tx.Check(Key(t, id)).If("'disabled' = ? AND contains('doc', ?)", false, `"e164":"`+number+`"`).Else(changed)
}

// Enabled adds a condition on a customer: the transaction fails with the error changed if
// the customer is disabled.
func Enabled(tx *table.Tx, t table.Tenant, id string, changed error) {
	tx.Check(Key(t, id)).If("'disabled' = ?", false).Else(changed)
}

// Listed reads the caller row of a number, and the ids of the customers who may have the
// number: those in the caller row, and those whom the operators' search finds (search.go).
// For the international and the national form it reads at most MostSharing search rows
// each.
func Listed(ctx context.Context, t table.Tenant, n phone.Number) (row table.Item, found []string, err error) {
	pages := make([]table.Page, 2)
	group, ctx := panics.WithContext(ctx)
	for i, digits := range []string{n.E164, n.National} {
		group.Go(func() (err error) {
			pages[i], err = t.Query(ctx, suffixPartition(t, digits), table.Query{Prefix: digits, Limit: MostSharing})
			return err
		})
	}
	group.Go(func() (err error) {
		row, err = t.Get(ctx, CallerKey(t, n.E164))
		return err
	})
	if err := group.Wait(); err != nil {
		return row, nil, err
	}
	found = slices.Clone(row.Strings("riders"))
	for _, suffix := range slices.Concat(pages[0].Items, pages[1].Items) {
		if suffix.Text("until") == "" {
			found = append(found, rowOwner(suffix))
		}
	}
	slices.Sort(found)
	return row, slices.Compact(found), nil
}

// WithNumber reads the customers with the ids in found and returns those who have the
// number n. read parses a phone number as it was typed, and returns nil if it cannot.
func WithNumber(ctx context.Context, t table.Tenant, found []string, n phone.Number,
	read func(typed string) *phone.Number) (out []Record, err error) {
	keys := make([]table.Key, len(found))
	for i, id := range found {
		keys[i] = Key(t, id)
	}
	items, err := t.BatchAll(ctx, keys...)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		r, err := FromItem(it)
		if !it.Found() || err == nil && r.Phone == nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		if has := read(*r.Phone); has != nil && has.E164 == n.E164 {
			out = append(out, r)
		}
	}
	return out, nil
}

// Candidates are the customers who may have a typed phone number. They are found by its
// last digits, so they can be read before the number's country is known.
type Candidates struct {
	digits string // the last digits; "" if nothing was read
	riders []string
	more   bool // other customers may have the number too
}

// compared is how many last digits Candidates compares. Two customers seldom share so
// many, and few countries have shorter numbers.
const compared = 8

// CandidatesOf returns the candidates of a typed number. It reads at most MostSharing
// search rows.
//
// Access pattern: T#t#SUFFIX#<digit>, with the digits as prefix.
func CandidatesOf(ctx context.Context, t table.Tenant, typed string) (c Candidates, err error) {
	digits, ok := phone.Digits(typed)
	if digits = strings.TrimLeft(digits, "0"); !ok || digits == "" {
		return c, nil
	}
	c.digits = digits[max(0, len(digits)-compared):]
	page, err := t.Query(ctx, suffixPartition(t, c.digits), table.Query{Prefix: c.digits, Limit: MostSharing})
	if err != nil {
		return c, err
	}
	for _, row := range page.Items { // the rows whose text is exactly the digits come first
		owner := rowOwner(row)
		switch known := slices.Contains(c.riders, owner); {
		case known || row.Text("until") != "":
		case strings.HasPrefix(row.SK, c.digits+"#"):
			c.riders = append(c.riders, owner)
		default:
			c.more = true
		}
	}
	c.more = c.more || page.More
	return c, nil
}

// Of returns the id of the only candidate who may have the number n, or "" if nobody has
// it. certain is false if the candidates alone do not tell: then the caller must look the
// number up (Listed). row is the caller row of the number, the zero Item if it was not read.
func (c Candidates) Of(n phone.Number, row table.Item) (id string, certain bool) {
	if c.digits == "" || c.more || !strings.HasSuffix(n.E164, c.digits) || !strings.HasSuffix(n.National, c.digits) {
		return "", false
	}
	all := slices.Sorted(slices.Values(slices.Concat(c.riders, row.Strings("riders"))))
	switch all = slices.Compact(all); len(all) {
	case 0:
		return "", true
	case 1:
		return all[0], true
	}
	return "", false
}
